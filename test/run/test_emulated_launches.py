# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels launched without host code on NumPy arrays, on the emulator; the oracle is NumPy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import kernel_programs
import numpy as np
import pytest
from fake_tensors import Dlpack, Temporary

import mlir_tile as mt
from mlir_tile.runtime.library import library

CPU, COPIED = 1, 2  # of DLPack


def kernel(name: str, **options: Any) -> Any:
    return kernel_programs.executable().kernel("kernels", name, device="emulator", **options)


def base() -> np.ndarray[Any, Any]:
    return np.arange(96, dtype=np.float32).reshape(8, 12)


VIEWS = {
    "whole": lambda w: w,
    "rows": lambda w: w[2:5],
    "columns": lambda w: w[:, 3:7],
    "steps": lambda w: w[::3, 1::4],
    "transposed": lambda w: w.T,
    "backwards": lambda w: w[::-1, ::-2],
    "one row": lambda w: w[5:6],
    "one element": lambda w: w[7:, 11:],
    "no rows": lambda w: w[3:3],
    "no columns": lambda w: w[:, 12:],
    "nothing": lambda w: w[8:, 12:],
    "expanded rows": lambda w: np.broadcast_to(w[2], (5, 12)),
    "expanded": lambda w: np.broadcast_to(w[1, 1], (3, 4)),
}


@pytest.mark.parametrize("view", VIEWS)
def test_any_view_is_read_and_written_as_numpy_does(view: str) -> None:
    whole = base()
    source = VIEWS[view](whole)
    source.flags.writeable = True  # a broadcast view warns, the kernel only reads
    target = np.full((source.shape[0] + 2, 2 * source.shape[1] + 1), -1, np.float32)
    expected = target.copy()
    expected[1:-1, 1::2] = source + 0.5
    kernel("any")[1, 1](source, target[1:-1, 1::2], 0.5)
    assert np.array_equal(target, expected)
    assert np.array_equal(whole, base())


@pytest.mark.parametrize("view", ["columns", "steps", "transposed", "backwards"])
def test_strides_that_the_type_rules_out_are_refused(view: str) -> None:
    source = VIEWS[view](base())
    with pytest.raises(ValueError, match=r"argument 0 of kernel 'dense' must have stride"):
        kernel("dense")[1, 1](source, np.zeros(source.shape, np.float32), 0.0)


@pytest.mark.parametrize("view", ["whole", "rows", "one row", "one element", "no rows"])
def test_dense_views_are_taken_by_the_dense_type(view: str) -> None:
    source = VIEWS[view](base())
    target = np.zeros(source.shape, np.float32)
    kernel("dense")[1, 1](source, target, 0.0)
    assert np.array_equal(target, source)


def test_a_static_offset_is_applied_once() -> None:
    whole, target = np.arange(20, dtype=np.int32), np.zeros(4, np.int32)
    kernel("offset")[1](whole[3:11:2], target)
    assert target.tolist() == [3, 5, 7, 9]


def test_overlapping_and_equal_arguments_are_one_memory() -> None:
    whole = base()
    kernel("any")[1, 1](whole[:4], whole[2:6], 0.0)
    expected = base()
    for row in range(4):
        expected[row + 2] = expected[row]
    assert np.array_equal(whole, expected)
    kernel("any")[1, 1](whole, whole, 1.0)
    assert np.array_equal(whole, expected + 1)


def test_exported_memory_lives_until_the_kernel_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    given, made = (Temporary(np.ones((4, 4), np.float32), device_type=CPU) for _ in range(2))
    bound = kernel("dense")[1, 1]
    run, seen = library().tile_runtime_launch, []

    def launch(*arguments: Any) -> Any:
        failed = run(*arguments)
        seen.append((given.is_alive(), made.is_alive(), made._exported()[0, 0]))
        return failed

    monkeypatch.setattr(library(), "tile_runtime_launch", launch)
    bound(given, made, 0.5)
    assert seen == [(True, True, 1.5)]
    assert (given.is_alive(), made.is_alive()) == (False, False)


@pytest.mark.parametrize("flags", [0, COPIED])
def test_a_copy_that_a_library_exported_is_refused(flags: int) -> None:
    given, made = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    exported = Dlpack(made, device_type=CPU, flags=flags)
    if not flags:
        kernel("dense")[1, 1](given, exported, 0.5)
        assert (made == 1.5).all()
        return
    with pytest.raises(ValueError, match="argument 1 of kernel 'dense' must share its memory"):
        kernel("dense")[1, 1](given, exported, 0.5)
    main = "func.func @main(%a: memref<4x4xf32>) attributes {llvm.emit_c_interface} { return }"
    with mt.context():
        program = mt.compile(mt.parse(main))
    with pytest.raises(ValueError, match="argument 0 of 'main' must share its memory"):
        program.invoke("main", exported)


def test_scalars_of_every_width() -> None:
    out = np.zeros(9)
    given = (True, -3, -300, -70000, -(1 << 40), 1 << 40, 0.5, 0.25, 0.1)
    kernel("scalars")[1, 1](out, *given)
    assert out.tolist() == [float(value) for value in given]
    given = tuple(map(np.float64, (0, 2, 3, 4, 5, 6)))
    with pytest.raises(TypeError, match="argument 1 of kernel 'scalars' must be an integer"):
        kernel("scalars")[1, 1](out, *given, 0.0, 0.0, 0.0)
    kernel("scalars")[1, 1](out, np.bool_(0), *(np.int8(7),) * 5, np.float32(1), 1, np.float64(2))
    assert out.tolist() == [0, 7, 7, 7, 7, 7, 1, 1, 2]
    with pytest.raises(ValueError, match="argument 4 of kernel 'scalars' must be from"):
        kernel("scalars")[1, 1](out, 0, 0, 0, 1 << 32, 0, 0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="argument 8 of kernel 'scalars' must be in the range of"):
        kernel("scalars")[1, 1](out, 0, 0, 0, 0, 0, 0, 0.0, 1e300, 0.0)
    kernel("scalars")[1, 1](out, 0, 0, 0, 0, 0, 0, 0.0, np.inf, 0.0)
    assert out[7] == np.inf


def test_no_dimensions_and_no_arguments() -> None:
    out = np.array(0.0)
    kernel("zero_d")[1, 1](out, 2.5)
    assert out == 2.5
    kernel("nothing")[(1, 2, 3), (4, 1)]()


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ((4,), [0, 0, 0, 0]),
        ((4, None, 2), [0, 1, 0, 1]),
        ((4, 1, (4,)), [0, 1, 2, 3]),
        (((4, 1, 1), (1, 1), (2, 1), 64), [0, 1, 0, 1]),
        ((4, 1, None, 64, None), [0, 0, 0, 0]),
    ],
)
def test_grid_block_and_cluster_are_those_asked_for(
    launch: tuple[Any, ...], expected: list[int]
) -> None:
    out = np.full(4, -1, np.int32)
    kernel("ranks")[launch](out)
    assert out.tolist() == expected


def test_a_kernels_own_dynamic_memory_is_added() -> None:
    out = np.zeros(2, np.int32)
    kernel("front")[1, 1, None, 16](out)
    assert out.tolist() == [7, 8]
    with pytest.raises(mt.EmulatorError):  # the control: the view is behind what was asked for
        kernel("front")[1, 1, None, 0](out)


def test_mistakes_of_a_kernel_are_the_emulators_errors() -> None:
    with pytest.raises(mt.EmulatorError) as caught:
        kernel("ranks")[4](np.zeros(3, np.int32))
    assert caught.value.launch is not None
    assert caught.value.launch.kernel == "ranks"
    assert caught.value.launch.grid == (4, 1, 1)


def test_the_demonstration_runs_from_its_kernel(demonstration: str) -> None:
    with mt.context():
        executable = mt.compile(mt.parse(demonstration))
    a = np.random.default_rng(0).random((128, 64)).astype(np.float16)
    b = np.zeros_like(a)
    for schedule in ("eager", "late", "random:3"):
        b[:] = 0
        executable.kernel("kernels", "dsmem_copy", schedule=schedule)[2](a, b)
        assert np.array_equal(a, b)


def test_auto_takes_numpy_arrays_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlir_tile.runtime import kernel as kernels
    from mlir_tile.runtime.devices import DeviceInfo

    monkeypatch.setattr(kernels, "device_info", lambda: DeviceInfo("", (), "none"))
    out = np.zeros(4, np.int32)
    kernel_programs.executable().kernel("kernels", "ranks")[4, 1, 2](out)
    assert out.tolist() == [0, 1, 0, 1]


def test_the_example_with_pytorch_says_what_is_missing() -> None:
    if importlib.util.find_spec("torch"):
        pytest.skip("PyTorch is installed")
    example = Path(__file__).parents[2] / "examples" / "pytorch_copy.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert done.stderr.startswith("error: this needs PyTorch: ")


def test_the_emulator_has_no_streams() -> None:
    with pytest.raises(ValueError, match="stream must be None on the emulator"):
        kernel("nothing")[1, 1, None, None, 3]
