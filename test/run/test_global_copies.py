# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies between global and shared memory, byte for byte, on the emulator and on a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from global_copies import THREADS, Case, drawn, expected, module_of

import mlir_tile as mt
from mlir_tile.errors import LaunchError
from mlir_tile.runtime.devices import device_info

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES, BATCH = 36, 12
DEVICES = ["emulator", *(["cuda"] if device_info().usable else [])]


def check(cases: list[Case], device: str, seed: int) -> None:
    """Run a module of all `cases`, and compare all memory of each."""
    rng = np.random.default_rng(seed)
    with mt.context():
        program = mt.compile(mt.parse(module_of(cases)))
    for n, case in enumerate(cases):
        flat, array = case.array(rng)
        plain = rng.integers(0, 100, case.tile).astype(flat.dtype)
        want_flat, want_plain = flat.copy(), plain.copy()
        want_array = np.lib.stride_tricks.as_strided(want_flat, array.shape, array.strides)
        result = expected(case, array, plain)
        if case.stores:
            want_array[case.region] = result
        else:
            want_plain[...] = result
        launch(program, f"k{n}", flat, array, plain, case.start, device)
        np.testing.assert_array_equal(flat, want_flat, err_msg=str(case))
        np.testing.assert_array_equal(plain, want_plain, err_msg=str(case))


def launch(program: Any, name: str, flat: Any, array: Any, plain: Any, start: Any, device: str):
    kernel = program.kernel("kernels", name, device=device)
    if device == "emulator":
        kernel[1, THREADS](array, plain, *start)
        return
    torch = pytest.importorskip("torch")
    on_device = torch.from_numpy(flat).cuda()
    strides = [s // flat.itemsize for s in array.strides]
    other = torch.from_numpy(plain).cuda()
    kernel[1, THREADS](torch.as_strided(on_device, array.shape, strides), other, *start)
    flat[...], plain[...] = on_device.cpu().numpy(), other.cpu().numpy()


@pytest.mark.parametrize("device", DEVICES)
def test_drawn_copies_move_the_right_bytes(device: str, pytestconfig: pytest.Config) -> None:
    count = pytestconfig.getoption("--cases") or CASES
    first = pytestconfig.getoption("--first-case") if pytestconfig.getoption("--cases") else 0
    for seed in range(first, first + count, BATCH):
        check([drawn(seed + n) for n in range(min(BATCH, first + count - seed))], device, seed)


@pytest.mark.parametrize("shape", [(16, 64), (70, 200), (129, 68)])
def test_stream_copy(shape: tuple[int, int], device: str) -> None:
    with mt.context():
        program = mt.compile(mt.parse_file(EXAMPLES / "stream_copy.mlir"))
    x = np.random.default_rng(0).random(shape, np.float32)
    program.invoke("main", x, y := np.zeros_like(x), device=device)
    np.testing.assert_array_equal(x, y)


def test_the_example_in_python() -> None:
    subprocess.run([sys.executable, EXAMPLES / "stream_copy.py"], check=True)


def test_a_host_function_refuses_a_broken_promise(device: str) -> None:
    with mt.context():
        program = mt.compile(mt.parse_file(EXAMPLES / "stream_copy.mlir"))
    x = np.zeros((16, 66), np.float32)
    broken = r"argument 0 must have a stride in dimension 0 that is a multiple of 4 elements"
    with pytest.raises(LaunchError, match=broken + r" \(tile.multiple_of\), got 66"):
        program.invoke("main", x, np.zeros_like(x), device=device)


LOADING = Case("f32", (4, 8), (8,), (False,), (0, 0), (2, 4), "", False, "thread")


def test_a_direct_launch_refuses_a_stride() -> None:
    with mt.context():
        program = mt.compile(mt.parse(module_of([LOADING])))
    kernel = program.kernel("kernels", "k0", device="emulator")
    plain = np.zeros((2, 4), np.float32)
    kernel[1, THREADS](np.zeros((4, 8), np.float32), plain, 0, 0)
    broken = "argument 0 of kernel 'k0' must have a stride in dimension 0 that is a multiple of 4"
    with pytest.raises(ValueError, match=broken + r" elements \(tile.multiple_of\), got 9"):
        kernel[1, THREADS](np.zeros((4, 9), np.float32), plain, 0, 0)


def test_a_direct_launch_refuses_a_base() -> None:
    with mt.context():
        program = mt.compile(mt.parse(module_of([LOADING])))
    kernel = program.kernel("kernels", "k0", device="emulator")
    plain, flat = np.zeros((2, 4), np.float32), np.zeros(64, np.float32)
    aligned = -flat.ctypes.data // 4 % 4
    kernel[1, THREADS](flat[aligned : aligned + 32].reshape(4, 8), plain, 0, 0)
    broken = r"argument 0 of kernel 'k0' must begin at a multiple of 16 bytes \(llvm.align\)"
    with pytest.raises(ValueError, match=broken + ", got an address that is 8 past one"):
        kernel[1, THREADS](flat[aligned + 2 : aligned + 34].reshape(4, 8), plain, 0, 0)


def test_the_stride_of_a_single_row_means_nothing() -> None:
    one_row = Case("f32", (1, 8), (8,), (False,), (0, 0), (1, 4), "", False, "thread")
    with mt.context():
        program = mt.compile(mt.parse(module_of([one_row])))
    array = np.arange(9, dtype=np.float32)[None, :8]
    plain = np.zeros((1, 4), np.float32)
    program.kernel("kernels", "k0", device="emulator")[1, THREADS](array, plain, 0, 4)
    np.testing.assert_array_equal(plain, array[:, 4:8])
