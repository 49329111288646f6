# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The run-time library on a real GPU: limits, errors, hangs, and how processes end.

What loses the CUDA context runs in a process of its own, and its exit status is part of the test.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import host_programs
import numpy as np
import pytest

from mlir_tile.errors import LaunchError
from mlir_tile.runtime.devices import device_info

_info = device_info()
pytestmark = pytest.mark.skipif(
    not _info.usable, reason=f"no usable GPU: {_info.reason or 'none found'}"
)

LIMIT = 227 * 1024
FOLDER = Path(__file__).parent


def array(extent: int = 64) -> np.ndarray:
    return np.full(extent, -1, np.float32)


def run_process(body: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Run a script that has what it needs imported; return it when it has ended."""
    prelude = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import numpy as np
import host_programs
from host_programs import *
from mlir_tile import *
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import signatures_of
def array(extent=64):
    return np.full(extent, -1, np.float32)
"""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", prelude + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def passes(body: str) -> str:
    """Run a script that must end with status 0 and nothing on stderr; return its stdout."""
    done = run_process(body)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


@pytest.mark.parametrize("ctas", [2, 4, 8, 16])
def test_clusters_up_to_16_run(ctas: int) -> None:
    text = host_programs.launch(
        f"%c{ctas}, %c1, %c1", ctas * 2, kernel=host_programs.RANK_KERNEL, name="rank"
    )
    given = array(ctas * 64)
    host_programs.compile_text(text).invoke("main", given, 3.0, device="cuda")
    expected = 3.0 + np.repeat(np.tile(np.arange(ctas, dtype=np.float32), 2), 32)
    np.testing.assert_array_equal(given, expected)


def test_a_cluster_of_17_is_refused_with_the_limit() -> None:
    given = array(17 * 32)
    program = host_programs.compile_text(host_programs.launch("%c17, %c1, %c1", 17))
    with pytest.raises(LaunchError, match=r"17 CTAs does not fit.*is 16$"):
        program.invoke("main", given, 1.0, device="cuda")
    assert (given == -1).all()


def test_a_grid_that_the_cluster_does_not_divide_is_refused() -> None:
    given = array(96)
    program = host_programs.compile_text(host_programs.launch("%c2, %c1, %c1", 3))
    with pytest.raises(LaunchError, match="grid 3x1x1 is not divisible by cluster 2x1x1"):
        program.invoke("main", given, 1.0, device="cuda")
    assert (given == -1).all()


@pytest.mark.parametrize("shared_bytes", [48 * 1024, 48 * 1024 + 4, LIMIT])
def test_dynamic_shared_memory_up_to_the_limit_runs(shared_bytes: int) -> None:
    text = host_programs.launch(
        grid=1,
        block=1,
        shared_bytes=shared_bytes,
        kernel=host_programs.shared_kernel(shared_bytes),
        name="last",
    )
    given = array()
    host_programs.compile_text(text).invoke("main", given, 5.0, device="cuda")
    assert given[0] == 5.0


def test_one_byte_more_is_refused_with_both_numbers() -> None:
    program = host_programs.compile_text(host_programs.launch(grid=1, shared_bytes=LIMIT + 1))
    with pytest.raises(LaunchError, match=f"{LIMIT + 1} bytes.*allows {LIMIT}"):
        program.invoke("main", array(), 1.0, device="cuda")


def test_a_whole_program_moves_its_bytes() -> None:
    given = array()
    program = host_programs.compile_text(host_programs.FILL)
    program.invoke("main", given, 7.0, device="cuda", timeout=600)
    assert (given == 7.0).all()


def test_ptx_that_does_not_compile_is_an_error_with_the_log() -> None:
    broken = """
        text = compile_text(FILL)
        import mlir.ir as ir
        source = str(text._module).replace("st.global", "st.nonsense")
        with text._module.context:
            text._module = ir.Module.parse(source)
        try:
            text.invoke("main", array(), 1.0, device="cuda")
        except LaunchError as error:
            print(error)
    """
    printed = passes(broken)
    assert "cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX" in printed
    assert re.search(r"line \d+; error +: .*nonsense", printed), printed


def test_an_illegal_address_names_the_kernel_and_then_the_lost_context() -> None:
    printed = passes("""
        stray = compile_text(launch(grid=1, block=1, kernel=STRAY_KERNEL, name="stray"))
        fill = compile_text(FILL)
        for program in (stray, fill, fill):
            try:
                program.invoke("main", array(), 1.0, device="cuda")
            except LaunchError as error:
                print(error)
    """).splitlines()
    assert printed[0].startswith("kernel 'stray' (grid 1x1x1")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in printed[0]
    assert len(printed) == 3
    for line in printed[1:]:
        assert "the CUDA context of device 0 is lost since kernel 'stray'" in line


@pytest.mark.parametrize("is_global", [False, True], ids=["local", "global"])
def test_a_kernel_that_hangs_times_out_and_the_process_exits(is_global: bool) -> None:
    keep = "globals()['kept'] = program" if is_global else "del program"
    printed = passes(f"""
        program = compile_text(launch(grid=1, block=1, kernel=HANGING_KERNEL, name="hang"))
        try:
            program.invoke("main", array(), 1.0, device="cuda", timeout=1)
        except KernelTimeout as error:
            print(error)
        try:
            program.invoke("main", array(), 1.0, device="cuda", timeout=1)
        except LaunchError as error:
            print(error)
        {keep}
    """).splitlines()
    assert "kernel 'hang'" in printed[0]
    assert "did not end within 1 s" in printed[0]
    assert 'device="emulator"' in printed[0]
    assert "is lost since kernel 'hang'" in printed[1]


def test_a_hang_behind_copies_and_frees_times_out_too() -> None:
    printed = passes("""
        text = FILL.replace(KERNEL, HANGING_KERNEL).replace("@kernels::@fill", "@kernels::@hang")
        try:
            compile_text(text).invoke("main", array(), 1.0, device="cuda", timeout=1)
        except KernelTimeout as error:
            print("timed out")
    """)
    assert printed == "timed out\n"


def test_ctrl_c_ends_a_hang() -> None:
    printed = passes("""
        import linecache, os, signal, sys, threading, time
        text = FILL.replace(KERNEL, HANGING_KERNEL).replace("@kernels::@fill", "@kernels::@hang")
        program = compile_text(text)
        def interrupt():
            line = ""
            while line.strip() != "function(packed)":  # in which the kernel is waited for
                time.sleep(0.01)
                frame = sys._current_frames()[threading.main_thread().ident]
                line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            program.invoke("main", array(), 1.0, device="cuda")
        except KeyboardInterrupt as error:
            print(error)
    """)
    assert printed.startswith("kernel 'hang'")
    assert "had not ended when it was interrupted" in printed


def test_a_failing_status_survives_a_hang() -> None:
    done = run_process("""
        program = compile_text(launch(grid=1, block=1, kernel=HANGING_KERNEL, name="hang"))
        program.invoke("main", array(), 1.0, device="cuda", timeout=1)
    """)
    assert done.returncode == 1
    assert "KernelTimeout: kernel 'hang'" in done.stderr


def test_ten_thousand_launches_do_not_grow() -> None:
    """In what this process holds: other tests use the device meanwhile."""
    printed = passes("""
        import ctypes, resource
        cuda, pool = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        program = compile_text(FILL)
        given = array()
        USED, RESERVED = 7, 5  # CU_MEMPOOL_ATTR_USED_MEM_CURRENT, _RESERVED_MEM_CURRENT
        def held():
            assert cuda.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0
            found = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
            for attribute in (USED, RESERVED):
                size = ctypes.c_uint64()
                assert cuda.cuMemPoolGetAttribute(pool, attribute, ctypes.byref(size)) == 0
                found.append(size.value // 1024)
            return np.array(found)
        for turn in range(10_000):
            program.invoke("main", given, float(turn % 128), device="cuda")
            if turn == 999:
                before = held()
        assert (given == float(9_999 % 128)).all()
        print(*(held() - before), before[2])
    """)
    *grown, reserved = [int(number) for number in printed.split()]
    assert reserved > 0, "the program's memory is not from the pool that is measured"
    assert max(grown) < 4096, f"host and device memory grew by {grown} KiB"


def test_two_threads_run_at_once() -> None:
    program = host_programs.compile_text(host_programs.FILL)
    wrong = []

    def work(value: float) -> None:
        given = array()
        for _ in range(200):
            given[:] = -1
            program.invoke("main", given, value, device="cuda", timeout=600)
            if not (given == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


USE = """
program = compile_text(FILL)
given = array()
program.invoke("main", given, 2.0, device="cuda")
assert (given == 2.0).all()
"""
LIBRARIES = {
    "torch": "import torch\nassert float(torch.ones(4, device='cuda').sum()) == 4.0\n",
    "cupy": "import cupy\nassert float(cupy.ones(4).sum()) == 4.0\n",
}


@pytest.mark.parametrize("order", ["before", "after", "between"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_other_libraries_may_be_imported_in_any_order(name: str, order: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    use = LIBRARIES[name]
    passes({"before": use + USE, "after": USE + use, "between": use + USE + use + USE}[order])


def test_an_engine_in_a_global_lets_the_process_end() -> None:
    assert passes(USE + "print('end')") == "end\n"


def test_torch_streams_are_used() -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    passes("""
        import torch
        stream = torch.cuda.Stream()
        program = compile_text(FILL)
        given = array()
        program.invoke("main", given, 2.0, device="cuda", stream=stream)
        stream.synchronize()
        assert (given == 2.0).all()
    """)
