# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pairs of layouts that other compilers get wrong, both ways round, bit for bit."""

from __future__ import annotations

import pytest
from test_layout_copies import DEVICES, check_on, oracle

Modes = tuple[tuple[int, int], ...]
SWIZZLE = (3, 3, 3)


def side(
    *dimensions: Modes | tuple[int, int],
    swizzle: tuple[int, int, int] | None = None,
    start: tuple[int, ...] | None = None,
    size: tuple[int, ...] | None = None,
) -> oracle.Side:
    """Return a region of a buffer; a dimension of one mode may stand for itself."""
    nested = tuple(d if isinstance(d[0], tuple) else (d,) for d in dimensions)
    extents = []
    for modes in nested:
        extents.append(1)
        for extent, _ in modes:
            extents[-1] *= extent
    return oracle.Side(nested, 0, swizzle, start or (0,) * len(extents), size or tuple(extents))


PAIRS = {
    "columns to blocks of columns": (
        side((8, 1), (8, 8)), side((8, 1), ((2, 64), (4, 8))), "f16",
    ),
    "rows to column panels": (
        side((8, 64), (64, 1)), side((8, 32), ((2, 256), (32, 1))), "f16",
    ),
    "one swizzle, whole": (
        side((8, 64), (64, 1), swizzle=SWIZZLE), side((8, 64), (64, 1), swizzle=SWIZZLE), "f16",
    ),
    "one swizzle, half of the columns": (
        side((8, 64), (64, 1), swizzle=SWIZZLE, size=(8, 32)),
        side((8, 64), (64, 1), swizzle=SWIZZLE, size=(8, 32)),
        "f16",
    ),
    "swizzled and plain": (
        side((64, 64), (64, 1), swizzle=SWIZZLE), side((64, 64), (64, 1)), "f16",
    ),
    "two swizzles": (
        side((16, 64), (64, 1), swizzle=(2, 3, 3)), side((16, 64), (64, 1), swizzle=SWIZZLE), "f16",
    ),
    "packed elements": (side((64, 1)), side((64, 1)), "i4"),
    "every other row": (
        side((6, 128), (2, 64), (64, 1), start=(1, 0, 0), size=(4, 1, 64)),
        side((4, 64), (1, 64), (64, 1)),
        "f16",
    ),
    "one row in the middle": (
        side((6, 128), (2, 64), (64, 1), start=(3, 1, 0), size=(1, 1, 64)),
        side((1, 64), (1, 64), (64, 1)),
        "f16",
    ),
    "short rows, packed": (side((3, 20), (20, 1)), side((3, 20), (20, 1)), "f32"),
    "short rows to a pitch": (side((4, 20), (20, 1)), side((4, 24), (20, 1)), "f32"),
}  # fmt: skip
BITS = {"f16": 16, "f32": 32, "i4": 4}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_both_ways(pair: tuple[oracle.Side, oracle.Side, str], device: str) -> None:
    one, other, element = pair
    bits = BITS[element]
    cases = [oracle.Case(one, other, element, bits), oracle.Case(other, one, element, bits)]
    check_on(device, cases)
