# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a plan's copies lie: from the number of a copy to the offsets of both sides.

A thread takes several copies, a known distance apart. What is the same for all of them is computed
once; the rest is, where the extents allow, a constant.
"""

from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith

from ..dialects import tile
from .values import built_once, i32

Index: TypeAlias = int | ir.Value
"""A constant, or an `i32`."""
Place: TypeAlias = tuple[Index, int]
"""Bytes: what threads compute, and a constant to be added."""

UNKNOWN = 2**31


@built_once
def places_of(
    plan: tile.CopyPlanAttr, first: ir.Value, stride: int, counts: tuple[int, ...]
) -> list[tuple[Place, Place]]:
    """Return the offsets in source and destination of the copies `first + count`.

    `first` is a number below `plan.threads` plus any multiple of `stride`; 0 means no multiple.
    """
    loops = list(zip(plan.loops, plan.src.steps, plan.dst.steps, strict=True))
    fixed = [(0, 0)] * len(counts)
    return _places(loops, first, plan.threads, stride, list(counts), (0, 0), fixed)


def _places(
    loops: list[tuple[int, int, int]],
    first: Index,
    below: int,
    stride: int,
    counts: list[int],
    moving: tuple[Index, Index],
    fixed: list[tuple[int, int]],
) -> list[tuple[Place, Place]]:
    """Read `first + count` in mixed radix, the last loop the fastest, and go so many steps on."""
    if not loops:
        return [((moving[0], src), (moving[1], dst)) for src, dst in fixed]
    extent, *steps = loops[-1]
    is_last = len(loops) == 1
    digits = counts if is_last else [count % extent for count in counts]
    if (
        not is_last
        and any(digits)
        and _highest_digit(extent, below, stride) + max(digits) >= extent
    ):
        # A carry depends on the thread: each copy goes its own way from here on.
        return [
            _places(loops, add(first, count), UNKNOWN, 1, [0], moving, [place])[0]
            for place, count in zip(fixed, counts, strict=True)
        ]
    digit = first if is_last else modulo(first, extent)
    moving = (add(moving[0], times(digit, steps[0])), add(moving[1], times(digit, steps[1])))
    fixed = [
        (src + count * steps[0], dst + count * steps[1])
        for (src, dst), count in zip(fixed, digits, strict=True)
    ]
    if is_last:
        return _places([], 0, 1, 0, [], moving, fixed)
    rest = quotient(first, extent)
    if stride % extent == 0:
        below, stride = -(-below // extent), stride // extent
        if below == 1 and stride == 0:
            rest = 0
    else:
        below, stride = (1, 1) if extent % stride == 0 and below <= stride else (UNKNOWN, 1)
    carries = [count // extent for count in counts]
    return _places(loops[:-1], rest, below, stride, carries, moving, fixed)


def _highest_digit(extent: int, below: int, stride: int) -> int:
    """Return what `(number below `below` + multiple of `stride`) % extent` is at most."""
    if stride % extent == 0:
        return min(below, extent) - 1
    if extent % stride == 0 and below <= stride:
        return extent - stride + below - 1
    return extent - 1


def add(a: Index, b: Index) -> Index:
    """Return the sum; a constant where both are."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int):
        a, b = b, a
    if isinstance(b, int):
        return a if b == 0 else arith.addi(a, i32(b))
    return arith.addi(a, b)


def times(a: Index, factor: int) -> Index:
    """Return the product; a constant where `a` is."""
    if isinstance(a, int):
        return a * factor
    return 0 if factor == 0 else arith.muli(a, i32(factor))


def modulo(a: Index, divisor: int) -> Index:
    """Return the remainder; LLVM makes a mask of it where `divisor` is a power of two."""
    return a % divisor if isinstance(a, int) else arith.remui(a, i32(divisor))


def quotient(a: Index, divisor: int) -> Index:
    """Return the quotient, rounded down."""
    return a // divisor if isinstance(a, int) else arith.divui(a, i32(divisor))
