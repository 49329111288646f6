# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PTX that LLVM made from the MLIR files in `compiled/`, with the pipeline

gpu-lower-to-nvvm-pipeline{cubin-chip=sm_90 cubin-features=+ptx81 cubin-format=isa}
"""

from __future__ import annotations

import math
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
