# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics on 16-bit floats: every value in memory with some operands, against exact sums."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import tile_emulator as te

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
OPERANDS = [0x0000, 0x8000, 0x83FF, 0x3C01, 0x9001, 0x7BFF, 0xFC00, 0x7E01]


def combined(operation: str, old: np.ndarray, operand: int) -> np.ndarray:
    """Return what `red.global.OPERATION` makes of an array of 16-bit values, two at a time."""
    ptx = (
        HEADER
        + f""".entry k(.param .u64 data, .param .u32 operand) {{
  .reg .b32 %t, %n, %x; .reg .b64 %d;
  mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %t, %n, 1024, %t;
  ld.param.u64 %d, [data]; ld.param.u32 %x, [operand]; mad.wide.u32 %d, %t, 4, %d;
  red.global.{operation} [%d], %x;
  ret;
}}
"""
    )
    data = old.copy()
    both = np.uint32(operand << 16 | operand)
    te.emulate(te.parse(ptx), "k", [data, both], grid=len(old) // 2048, block=1024)
    return data


def alike(got: np.ndarray, expected: np.ndarray, nan: np.ndarray) -> bool:
    return bool(np.where(nan, got == 0x7FFF, got == expected).all())


@pytest.mark.parametrize("operand", OPERANDS)
def test_f16_as_in_numpy(operand: int) -> None:
    old = np.arange(1 << 16, dtype=np.uint16)
    a, b = old.view(np.float16), np.full(1, operand, np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        total, low, high = a + b, np.fmin(a, b), np.fmax(a, b)
    for name, expected in (("add.noftz", total), ("min", low), ("max", high)):
        got = combined(f"{name}.f16x2", old, operand)
        zero = expected == 0
        bits = expected.view(np.uint16)
        # Which zero is the least is not said.
        if name != "add.noftz":
            got, bits = np.where(zero, got & 0x7FFF, got), np.where(zero, bits & 0x7FFF, bits)
        assert alike(got, bits, np.isnan(expected))


def nearest_bf16(exact: Fraction) -> int:
    """Return the bits of the bf16 nearest to a positive number, even where two are."""
    return min(range(0x7F81), key=lambda bits: (abs(value(bits) - exact), bits & 1))


@cache
def value(bits: int) -> Fraction:
    """Return what a positive bf16 is worth; infinity as the number after the greatest."""
    exponent, fraction = bits >> 7, bits & 0x7F
    if exponent == 0:
        return Fraction(fraction, 1 << 133)
    return Fraction(128 + fraction) * Fraction(2) ** (exponent - 134)


@pytest.mark.parametrize("operand", [0x3F80, 0x0001, 0x7F7F])
def test_bf16_sums_are_the_nearest(operand: int) -> None:
    old = np.zeros(2048, np.uint16)
    random = np.random.default_rng(operand)
    near = np.clip(operand + random.integers(-1200, 1200, 12), 0, 0x7F7F)
    old[:12] = near
    got = combined("add.noftz.bf16x2", old, operand)
    expected = [nearest_bf16(value(int(bits)) + value(operand)) for bits in near]
    assert got[:12].tolist() == expected
