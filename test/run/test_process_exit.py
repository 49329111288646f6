# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes that used the run-time library end quietly and with their own status."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent

PRELUDE = f"""
import sys
sys.path.insert(0, {str(FOLDER)!r})
import numpy as np
from host_programs import *
from mlir_tile import *
from mlir_tile.runtime.executable import Executable
from mlir_tile.runtime.signature import signatures_of
from fake_cuda import FakeDriver
from pathlib import Path
import os
fake = FakeDriver(Path(os.environ["MLIR_TILE_DRIVER"]))
array = np.zeros(64, np.float32)
"""


def run(body: str, driver: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body)],
        env={**os.environ, "MLIR_TILE_DRIVER": str(driver)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("ending", ["", "del program", "sys.exit(0)"])
def test_an_engine_may_outlive_the_interpreter(ending: str, fake_driver_library: Path) -> None:
    body = f"""
        program = compile_text(FILL)
        program.invoke("main", array, 1.0, device="cuda")
        kept = program.invoke
        print("end", flush=True)
        {ending}
    """
    done = run(body, fake_driver_library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_at_the_end_no_driver_is_called(fake_driver_library: Path) -> None:
    body = """
        import gc
        from mlir_tile.runtime.library import library
        program = compile_text(FILL)
        program.invoke("main", array, 1.0, device="cuda")
        library().tile_runtime_shut_down()  # as atexit does
        fake.clear_log()
        del program
        gc.collect()
        print(fake.log())
    """
    done = run(body, fake_driver_library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


HANG = """
program = compile_text(FILL)
fake.hang()
try:
    program.invoke("main", array, 1.0, device="cuda", timeout=0.05)
except KernelTimeout as error:
    sys.stdout.write("timed out")
"""


@pytest.mark.parametrize("status", [0, 3])
def test_a_hang_leaves_the_status_and_the_output_alone(
    status: int, fake_driver_library: Path
) -> None:
    done = run(HANG + f"sys.exit({status})", fake_driver_library)
    assert (done.returncode, done.stdout, done.stderr) == (status, "timed out", "")


def test_after_a_hang_the_drivers_own_clean_up_does_not_run(fake_driver_library: Path) -> None:
    done = run("fake.hang_at_exit()\n" + HANG, fake_driver_library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "timed out", "")


def test_without_a_driver_the_library_loads_and_says_so() -> None:
    environment = {k: v for k, v in os.environ.items() if k != "MLIR_TILE_DRIVER"}
    environment["MLIR_TILE_DRIVER"] = "/nonexistent/libcuda.so.1"
    done = subprocess.run(
        [sys.executable, "-c", "import mlir_tile as mt; print(mt.device_info().reason)"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.startswith("no CUDA driver: /nonexistent/libcuda.so.1: cannot open")


INTERRUPT = """
import os, signal, threading, time
program = compile_text(FILL)
program.invoke("main", array, 1.0, device="cuda")
fake.hang()
handled = []
{handler}
fake.clear_log()
def interrupt():
    while "cuLaunchKernelEx" not in fake.log():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    program.invoke("main", array, 1.0, device="cuda")
except KeyboardInterrupt as error:
    print(error, handled)
try:
    program.invoke("main", array, 1.0, device="cuda")
except LaunchError as error:
    print(error)
"""


@pytest.mark.parametrize("has_handler", [False, True])
def test_ctrl_c_ends_a_wait_without_a_limit(has_handler: bool, fake_driver_library: Path) -> None:
    handler = "signal.signal(signal.SIGINT, lambda *_: handled.append(1))" if has_handler else ""
    done = run(INTERRUPT.replace("{handler}", handler), fake_driver_library)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first.startswith("kernel 'fill' (grid 2x1x1, ")
    handled = "[1]" if has_handler else "[]"
    assert "had not ended when it was interrupted; the CUDA context of device 0 is lost" in first
    assert first.endswith(f" {handled}")
    assert "had not ended when it was interrupted" in second


def test_other_threads_wait_on(fake_driver_library: Path) -> None:
    body = """
        import threading
        program = compile_text(FILL)
        done = []
        def work():
            program.invoke("main", array, 1.0, device="cuda")
            done.append(1)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(done)
    """
    done = run(body, fake_driver_library)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1]\n", "")
