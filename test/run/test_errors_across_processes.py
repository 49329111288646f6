# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions go from one process to another as pools send them, with all that they hold."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import host_programs
import kernel_programs
import numpy as np
import pytest

import mlir_tile as mt
import tile_emulator as te
from mlir_tile.errors import Launch

LAUNCH = Launch("k", (2, 1, 1), (32, 1, 1), (2, 1, 1), 0)

ERRORS: list[Exception] = [
    mt.Error("a"),
    mt.CompileError("a", ["b", "c"]),
    mt.CompilerCrash("a", text="b", pass_name="c", place="d", timed_out=True, input=b"e"),
    mt.LoadError("a"),
    mt.LaunchError("a", call="cuLaunchKernelEx", name="CUDA_ERROR", text="b", launch=LAUNCH),
    mt.KernelTimeout("a", call="emulator", launch=LAUNCH),
    mt.EmulatorError("a", kind="deadlock", launch=LAUNCH),
    mt.EmulatorError("a", kind="race", report=te.LaunchError("b")),
    mt.DeviceUnavailable("a"),
    mt.CompileWarning("a"),
    mt.EmulatorWarning("a", kind="race"),
    te.Error("a"),
    te.PTXError("a", 3, 4),
    te.LaunchError("a"),
    te.EmulationError("race", "a", advice="b", ptx_line=3, ptx_text="c", cta=(1, 0, 0), kernel="k"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: f"{type(e).__module__}.{type(e).__name__}")
def test_an_error_is_the_same_when_it_is_unpickled(error: Exception) -> None:
    vars(error)["told"] = "later"  # as notes are
    again = [
        *(pickle.loads(pickle.dumps(error, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
        copy.copy(error),
        copy.deepcopy(error),
    ]
    for made in again:
        assert type(made) is type(error)
        assert held(made) == held(error)


def held(error: BaseException) -> object:
    """Return what an exception holds, as something that can be compared."""
    values = {k: held(v) if isinstance(v, Exception) else v for k, v in vars(error).items()}
    return type(error), str(error), error.args, values


def test_every_public_error_is_tried() -> None:
    public = {
        value
        for module in (mt, te)
        for name in module.__all__
        if isinstance(value := getattr(module, name), type) and issubclass(value, Exception)
    }
    assert {type(error) for error in ERRORS} == public


def run_in_worker(text: str) -> float:
    given = np.zeros(64, np.float32)
    host_programs.compile_text(text).invoke("main", given, 3.0, device="emulator")
    return float(given[0])


def test_a_pool_outlives_what_the_emulator_stops() -> None:
    stray = host_programs.launch(grid=1, block=1, kernel=host_programs.STRAY_KERNEL, name="stray")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(mt.EmulatorError) as caught:
            pool.submit(run_in_worker, stray).result(timeout=600)
        assert caught.value.kind == "address"
        assert caught.value.launch is not None
        assert caught.value.launch.kernel == "stray"
        assert pool.submit(run_in_worker, host_programs.FILL).result(timeout=600) == 3.0


def test_a_kernel_stays_in_its_process_and_says_what_does_not() -> None:
    program = kernel_programs.executable()
    kernel = program.kernel("kernels", "ranks", device="emulator")
    assert "ranks" in pickle.loads(pickle.dumps(program)).kernels["kernels"]
    for value in (kernel, kernel[4]):
        with pytest.raises(TypeError, match=r"kernel 'ranks' cannot be pickled.*Executable"):
            pickle.dumps(value)
