# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements of matrices are in the registers of a warp, by the formulas of PTX's manual."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

Shape = tuple[int, int, int]
Matrix = list[list[Any]]


@dataclass(frozen=True)
class Format:
    """How a number becomes bits, and what `values` draws."""

    bits: int
    encode: Callable[[Any], int]
    low: int
    high: int


def _float(dtype: Any) -> Callable[[Any], int]:
    width = np.dtype(dtype).itemsize

    def encode(value: Any) -> int:
        number = np.array(float(value)).astype(dtype)
        assert Fraction(float(number)) == Fraction(value), value
        return int(number.view(f"u{width}"))

    return encode


def _integer(bits: int) -> Callable[[Any], int]:
    return lambda value: int(value) & (1 << bits) - 1


FORMATS = {
    "f64": Format(64, _float(np.float64), -9, 9),
    "f32": Format(32, _float(np.float32), -64, 64),
    "tf32": Format(32, _float(np.float32), -9, 9),
    "f16": Format(16, _float(np.float16), -5, 5),
    "bf16": Format(16, _float(ml_dtypes.bfloat16), -9, 9),
    "e4m3": Format(8, _float(ml_dtypes.float8_e4m3fn), -5, 5),
    "e5m2": Format(8, _float(ml_dtypes.float8_e5m2), -4, 4),
    "s32": Format(32, _integer(32), -1000, 1000),
    "s8": Format(8, _integer(8), -128, 127),
    "u8": Format(8, _integer(8), 0, 255),
    "s4": Format(4, _integer(4), -8, 7),
    "u4": Format(4, _integer(4), 0, 15),
    "b1": Format(1, _integer(1), 0, 1),
}


def values(kind: str, shape: tuple[int, int], seed: int) -> Matrix:
    """Draw a matrix of numbers that the format has, small enough for exact sums."""
    form = FORMATS[kind]
    drawn = np.random.default_rng(seed).integers(form.low, form.high + 1, shape)
    halves = Fraction(1, 2) if kind in ("f16", "bf16", "tf32", "f64") else 1
    if kind in ("e4m3", "e5m2"):
        halves = Fraction(1, 4)
    return [[halves * int(value) for value in row] for row in drawn]


def product(a: Matrix, b: Matrix, c: Matrix) -> Matrix:
    """Return A * B + C."""
    columns = list(zip(*b, strict=True))
    return [
        [
            sum((x * y for x, y in zip(row, column, strict=True)), start)
            for column, start in zip(columns, starts, strict=True)
        ]
        for row, starts in zip(a, c, strict=True)
    ]


def place_a(shape: Shape, bits: int, group: int, thread: int, i: int) -> tuple[int, int]:
    """Return row and column of the i-th element of A that a lane has."""
    m, _, _ = shape
    unit = max(1, 32 // bits)
    low = i % unit
    if m == 8:
        return group, thread * unit + low
    # Two blocks of rows take turns, then the next columns follow.
    row = group if i // unit % 2 == 0 else group + 8
    column = thread * unit + low
    column += 4 * unit * (i // (2 * unit))
    return row, column


def place_b(bits: int, group: int, thread: int, i: int) -> tuple[int, int]:
    """Return row and column of the i-th element of B that a lane has."""
    unit = max(1, 32 // bits)
    return thread * unit + i % unit + 4 * unit * (i // unit), group


def place_c(group: int, thread: int, i: int) -> tuple[int, int]:
    """Return row and column of the i-th element of C or D that a lane has.

    Four elements are those of a 16x8 matrix; of a wider one eight columns follow each other.
    """
    row = group if i % 4 < 2 else group + 8
    return row, 8 * (i // 4) + 2 * thread + i % 2


def _words(kind: str, count: int, element: Callable[[int, int, int], Any]) -> Any:
    """Pack the elements of all lanes, the first ones lowest."""
    form = FORMATS[kind]
    content = bytearray()
    for lane in range(32):
        packed = 0
        for i in range(count):
            packed |= form.encode(element(lane // 4, lane % 4, i)) << form.bits * i
        content += packed.to_bytes(count * form.bits // 8, "little")
    return np.frombuffer(bytes(content), np.uint64 if kind == "f64" else np.uint32).copy()


def fragment_a(shape: Shape, kind: str, a: Matrix) -> Any:
    bits = FORMATS[kind].bits

    def element(group: int, thread: int, i: int) -> Any:
        row, column = place_a(shape, bits, group, thread, i)
        return a[row][column]

    return _words(kind, shape[0] * shape[2] // 32, element)


def fragment_b(shape: Shape, kind: str, b: Matrix) -> Any:
    bits = FORMATS[kind].bits

    def element(group: int, thread: int, i: int) -> Any:
        row, column = place_b(bits, group, thread, i)
        return b[row][column]

    return _words(kind, shape[1] * shape[2] // 32, element)


def fragment_c(shape: Shape, kind: str, c: Matrix) -> Any:
    def element(group: int, thread: int, i: int) -> Any:
        row, column = place_c(group, thread, i) if shape[0] > 8 else (group, 2 * thread + i)
        return c[row][column]

    return _words(kind, shape[0] * shape[1] // 32, element)
