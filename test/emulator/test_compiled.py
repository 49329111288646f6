# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX that compilers made from the files in `compiled/`: nvcc as the `.cu` says, LLVM with

gpu-lower-to-nvvm-pipeline{cubin-chip=sm_90 cubin-features=+ptx81 cubin-format=isa}
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest

import tile_emulator as te

COMPILED = Path(__file__).parent / "compiled"
FUNCTIONS = [
    np.exp,
    np.log,
    np.sin,
    np.cos,
    np.tanh,
    np.sqrt,
    lambda x: 1 / np.sqrt(x),
    np.vectorize(math.erf),
    np.floor,
    np.rint,
    lambda x: np.trunc(x + np.copysign(0.5, x)),
]


@pytest.mark.parametrize(("kernel", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_math_functions_are_within_a_few_ulp(kernel: str, dtype: type) -> None:
    module = te.parse((COMPILED / "math.ptx").read_text())
    x = np.linspace(0.001, 4.5, 256).astype(dtype)
    count = len(FUNCTIONS) + 1
    y = np.zeros((count, 256), dtype=dtype)
    descriptor = [x, x, 0, 256, 1, y, y, 0, count, 256, 256, 1]
    te.emulate(module, kernel, descriptor, block=256)
    wide = x.astype(np.float64)
    wanted = [function(wide) for function in FUNCTIONS]
    # The last row raises x to what the first row gave.
    wanted.append(wide ** y[0].astype(np.float64))
    for number, want in enumerate(wanted):
        fits = np.abs(want) < np.finfo(dtype).max / 2
        ulp = np.spacing(np.maximum(np.abs(want[fits]), 0.05).astype(dtype)).astype(np.float64)
        error = np.abs(y[number][fits] - want[fits]) / ulp
        assert error.max() <= 4, (number, error.max(), x[error.argmax()])


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
def test_loops_local_arrays_printf_and_assertions(
    schedule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module = te.parse((COMPILED / "lowered_ops.ptx").read_text())
    a, i = np.arange(128, dtype=np.float32), np.zeros(128, dtype=np.int32)
    before = a.copy()
    te.emulate(module, "sync", [a, a, 0, 128, 1, i, i, 0, 128, 1], block=128, schedule=schedule)
    thread = np.arange(128)
    np.testing.assert_array_equal(a, before[(thread - thread % 4) % 128])
    lines = sorted(capsys.readouterr().out.splitlines())
    assert lines == sorted(f"hello 1 {v:f}" for v in a)


def mixture(halves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute what `compiled/mixture.cu` computes for h = `halves`: floats, 64-bit integers."""
    a, b, d = [1.5, -2.5, 0.25], 7, 3.125
    coefficients = [1.0, 2.0, 3.0, 4.0]
    shared = []
    for t in range(128):
        c = [0.0] * 4
        for i in range(4):
            c[(i + t) & 3] = coefficients[i]
        r = 0.0
        for value in c:
            r = r * a[t % 3] + value
        shared.append(r)
    start = [shared[(t + 1) % 128] for t in range(128)]
    floats, integers = [], []
    for t in range(128):
        warp = start[t & ~31 : (t & ~31) + 32]
        for offset in (16, 8, 4, 2, 1):
            warp = [v + warp[i + offset if i + offset < 32 else i] for i, v in enumerate(warp)]
        v = warp[t & 31]
        v = [
            v + 1, v * 2, v - 3, v / 4, math.sqrt(abs(v)), math.exp(v * 1e-4), math.sin(v), 0.0
        ][t & 7]  # fmt: skip
        if t < 32:
            v += 0xAAAAAAAA & 255
        x = np.float16(halves[t])
        pair = [float(np.float16(p * p + p)) for p in (float(x), float(np.float16(x + x)))]
        v += d + b + sum(pair) + math.tanh(v) + 2.0 ** (t % 5) + 1 / math.sqrt(t + 1)
        floats.append(v)
        product = 0x123456789ABCDEF * (t + 1) % 2**64 * (2**64 - 1 - t) >> 64
        bits = t.bit_count() + (32 - t.bit_length()) + ((t & -t).bit_length())
        integers.append(product // (t + 3) + bits + int(f"{t:032b}"[::-1], 2) % 7)
    return np.array(floats), np.array(integers, dtype=np.uint64)


@pytest.mark.parametrize("schedule", ["eager", "random:1"])
@pytest.mark.parametrize("file", ["mixture.ptx", "mixture_o0.ptx"])
def test_nvcc_with_and_without_optimisation(file: str, schedule: str) -> None:
    module = te.parse((COMPILED / file).read_text())
    argument = struct.pack("<3fid", 1.5, -2.5, 0.25, 7, 3.125)
    out, h = np.zeros(128, dtype=np.float32), np.linspace(-2, 2, 128).astype(np.float16)
    bf16, u = np.zeros(128, dtype=np.uint16), np.zeros(256, dtype=np.uint64)
    te.emulate(
        module, "mixture", [argument, out, h, bf16, u, 4], block=128, smem=512, schedule=schedule
    )
    floats, integers = mixture(h)
    np.testing.assert_allclose(out, floats, rtol=1e-4)
    np.testing.assert_array_equal(u[:128], integers)
    assert u[200] == 127
