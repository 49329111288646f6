# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host programs on the emulator, through the same entry points as on a GPU."""

from __future__ import annotations

import functools
import gc
import threading
import traceback
from typing import Any

import host_programs
import numpy as np
import pytest

import mlir_tile as mt
from mlir_tile.errors import EmulatorError, Error, KernelTimeout, LaunchError
from mlir_tile.runtime.driver_emulator import _WORDS
from mlir_tile.runtime.executable import Executable

te = pytest.importorskip("tile_emulator")
advice = pytest.importorskip("tile_emulator.advice")

LIMIT = 227 * 1024


def array(extent: int = 64) -> np.ndarray:
    return np.full(extent, -1, np.float32)


def run(text: str, given: np.ndarray, **options: Any) -> np.ndarray:
    host_programs.compile_text(text).invoke("main", given, 3.0, device="emulator", **options)
    return given


def launch_rank(ctas: int, grid: int) -> str:
    return host_programs.launch(
        f"%c{ctas}, %c1, %c1", grid, kernel=host_programs.RANK_KERNEL, name="rank"
    )


def test_a_whole_program_moves_its_bytes() -> None:
    assert (run(host_programs.FILL, array()) == 3.0).all()


def test_everything_that_host_code_can_ask_for_works() -> None:
    given, half = array(), np.ones(64, np.float16)
    program = host_programs.compile_text(host_programs.EVERYTHING)
    program.invoke("main", given, half, 3.0, device="emulator")
    assert (given == 3.0).all()
    assert (half == 0).all()


@pytest.mark.parametrize("ctas", [2, 4, 8, 16])
def test_clusters_up_to_16_run(ctas: int) -> None:
    expected = 3.0 + np.repeat(np.tile(np.arange(ctas, dtype=np.float32), 2), 32)
    np.testing.assert_array_equal(run(launch_rank(ctas, 2 * ctas), array(64 * ctas)), expected)


def test_a_cluster_of_17_is_refused_as_on_the_gpu() -> None:
    given = array(17 * 32)
    with pytest.raises(LaunchError, match=r"17 CTAs does not fit.*is 16$"):
        run(launch_rank(17, 17), given)
    assert (given == -1).all()


def test_a_grid_that_the_cluster_does_not_divide_is_refused_as_on_the_gpu() -> None:
    with pytest.raises(LaunchError, match="grid 3x1x1 is not divisible by cluster 2x1x1"):
        run(launch_rank(2, 3), array(96))


@pytest.mark.parametrize("shared_bytes", [48 * 1024, LIMIT])
def test_dynamic_shared_memory_up_to_the_limit_runs(shared_bytes: int) -> None:
    kernel = host_programs.shared_kernel(shared_bytes)
    text = host_programs.launch(
        grid=1, block=1, shared_bytes=shared_bytes, kernel=kernel, name="last"
    )
    assert run(text, array())[0] == 3.0


def test_one_byte_more_is_refused_with_both_numbers() -> None:
    with pytest.raises(LaunchError, match=f"{LIMIT + 1} bytes.*allows {LIMIT}"):
        run(host_programs.launch(grid=1, shared_bytes=LIMIT + 1), array())


def test_a_barrier_that_never_completes_is_explained() -> None:
    text = host_programs.launch(grid=1, block=1, kernel=host_programs.HANGING_KERNEL, name="hang")
    with pytest.raises(EmulatorError) as caught:
        run(text, array())
    assert caught.value.kind == "deadlock"
    assert isinstance(caught.value.report, te.EmulationError)
    assert str(caught.value) == str(caught.value.report)
    assert caught.value.report.thread == (0, 0, 0)
    assert caught.value.launch is not None
    assert caught.value.launch.kernel == "hang"


def test_a_report_is_one_traceback_that_ends_in_the_call() -> None:
    text = host_programs.launch(grid=1, block=1, kernel=host_programs.STRAY_KERNEL, name="stray")
    with pytest.raises(EmulatorError) as caught:
        run(text, array())
    shown = "".join(traceback.format_exception(caught.value))
    assert shown.count("Traceback (most recent call last)") == 1
    assert "tile_emulator" not in shown
    device = te.Device()
    stray = ".version 8.1\n.target sm_90\n.address_size 64\n.entry k() { st.global.u32 [0], 5; }"
    with pytest.raises(te.EmulationError) as directly:
        device.launch(te.parse(stray), "k", grid=1, block=1, args=[])
    shown = "".join(traceback.format_exception(directly.value))
    assert shown.count("Traceback (most recent call last)") == 1


def test_a_loop_that_never_ends_ends_with_the_time() -> None:
    text = host_programs.launch(grid=1, block=1, kernel=host_programs.SPINNING_KERNEL, name="spin")
    with pytest.raises(KernelTimeout) as caught:
        run(text, array(), timeout=0.2)
    assert caught.value.launch is not None
    # The emulator's own options are not those of the call.
    assert str(caught.value).endswith("or a longer timeout (timeout, or --timeout)")


def test_a_loop_that_never_ends_ends_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    made = functools.partial(te.Device, max_steps=1000)
    monkeypatch.setattr("tile_emulator.Device", made)
    text = host_programs.launch(grid=1, block=1, kernel=host_programs.SPINNING_KERNEL, name="spin")
    with pytest.raises(EmulatorError, match=r"the limit is 1000\n") as caught:
        run(text, array(), timeout=600)
    assert not isinstance(caught.value, KernelTimeout)
    assert str(caught.value).endswith("look for an endless loop, or use a smaller problem")


def test_an_illegal_address_is_explained_and_loses_nothing() -> None:
    stray = host_programs.launch(grid=1, block=1, kernel=host_programs.STRAY_KERNEL, name="stray")
    with pytest.raises(EmulatorError) as caught:
        run(stray, array())
    assert caught.value.kind == "address"
    assert (run(host_programs.FILL, array()) == 3.0).all()


def test_a_copy_outside_of_a_buffer_is_an_error() -> None:
    text = host_programs.FILL.replace("gpu.alloc async [%t0] (%n)", "gpu.alloc async [%t0] (%c2)")
    with pytest.raises(EmulatorError) as caught:
        run(text, array())
    assert caught.value.kind == "memory"


def test_schedules_and_checks_reach_the_emulator() -> None:
    assert (run(host_programs.FILL, array(), schedule="random:7", checks="strict") == 3.0).all()
    program = host_programs.compile_text(host_programs.FILL)
    program.invoke("main", array(), 3.0, schedule="late")  # which means the emulator
    with pytest.raises(ValueError, match="schedule"):
        run(host_programs.FILL, array(), schedule="sideways")


RACING_KERNEL = """
  gpu.module @kernels {
    gpu.func @race(%a: memref<?xf32>, %x: f32) workgroup(%w: memref<32xf32, 3>) kernel {
      %t = gpu.thread_id x
      %last = arith.constant 31 : index
      %other = arith.subi %last, %t : index
      memref.store %x, %w[%t] : memref<32xf32, 3>
      %got = memref.load %w[%other] : memref<32xf32, 3>
      memref.store %got, %a[%t] : memref<?xf32>
      gpu.return
    }
  }
"""


def test_a_kernel_may_go_on_after_a_report() -> None:
    text = host_programs.launch(grid=1, block=32, kernel=RACING_KERNEL, name="race")
    with pytest.raises(EmulatorError) as caught:
        run(text, array())
    assert caught.value.kind == "race"
    assert (run(text, array(), checks="default,-race")[:32] == 3.0).all()
    with pytest.warns(mt.EmulatorWarning) as warned:
        assert (run(text, array(), keep_going=True)[:32] == 3.0).all()
    assert [str(w.message) for w in warned] == [str(caught.value)]
    assert warned[0].message.kind == "race"  # type: ignore[union-attr]


def test_advice_is_given_in_words_of_ops() -> None:
    assert _WORDS.keys() == advice.KEYS
    text = host_programs.launch(grid=1, block=32, kernel=RACING_KERNEL, name="race")
    with pytest.raises(EmulatorError) as caught:
        run(text, array())
    assert str(caught.value).endswith(f"advice: {_WORDS['sync']}")


def test_schedules_are_for_the_emulator_only(fake) -> None:
    program = host_programs.compile_text(host_programs.FILL)
    with pytest.raises(ValueError, match="schedule, checks and keep_going need"):
        program.invoke("main", array(), 3.0, device="cuda", schedule="late")
    with pytest.raises(ValueError, match="stream must be None on the emulator"):
        program.invoke("main", array(), 3.0, device="emulator", stream=7)


def test_one_program_runs_on_both_devices(fake) -> None:
    program = host_programs.compile_text(host_programs.FILL)
    for _ in range(2):
        program.invoke("main", array(), 3.0, device="cuda")
        given = array()
        program.invoke("main", given, 3.0, device="emulator")
        assert (given == 3.0).all()
    del program


def test_an_exception_of_another_kind_arrives_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(te.Device, "launch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(host_programs.FILL, array())
    monkeypatch.undo()
    assert (run(host_programs.FILL, array()) == 3.0).all()


def test_ptx_that_the_emulator_cannot_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise te.PTXError("no such instruction", 7)

    monkeypatch.setattr(te, "parse", refuse)
    with pytest.raises(EmulatorError, match="no such instruction at line 7") as caught:
        run(host_programs.FILL, array())
    assert caught.value.kind == "ptx"


def test_modules_are_parsed_once_and_forgotten_with_their_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mlir_tile.runtime import driver_emulator

    parsed: list[str] = []
    parse = te.parse
    monkeypatch.setattr(te, "parse", lambda ptx: parsed.append(ptx) or parse(ptx))
    program = host_programs.compile_text(host_programs.FILL)
    gc.collect()
    before = len(driver_emulator._modules._modules)
    for _ in range(3):
        program.invoke("main", array(), 3.0, device="emulator")
    assert len(parsed) == 1
    assert len(driver_emulator._modules._modules) == before + 1
    del program
    gc.collect()
    assert len(driver_emulator._modules._modules) == before


def test_threads_have_devices_of_their_own() -> None:
    program = host_programs.compile_text(host_programs.FILL)
    results: dict[int, np.ndarray] = {}

    def work(number: int) -> None:
        given = array()
        for _ in range(3):
            program.invoke("main", given, float(number), device="emulator")
        results[number] = given

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [set(results[number]) for number in range(3)] == [{0.0}, {1.0}, {2.0}]


def test_the_emulator_is_an_ordinary_dependency(monkeypatch: pytest.MonkeyPatch) -> None:
    program: Executable = host_programs.compile_text(host_programs.FILL)
    monkeypatch.setitem(__import__("sys").modules, "tile_emulator", None)
    with pytest.raises(Error, match="needs the package tile_emulator"):
        program.invoke("main", array(), 3.0, device="emulator")
