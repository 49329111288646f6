# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements lie and which copy moves them, written from the references alone.

`#tile.layout`, `#tile.copy_plan` and the banks of shared memory, element by element and byte by
byte; nothing of the project is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

Modes = tuple[tuple[int, int], ...]
"""Extents and strides of one dimension, the fastest last."""


def place(
    dimensions: Sequence[Modes],
    coordinate: Sequence[int],
    offset: int = 0,
    swizzle: tuple[int, int, int] | None = None,
) -> int:
    """Return the place of the element at `coordinate`, in elements."""
    x = offset
    for modes, index in zip(dimensions, coordinate, strict=True):
        for extent, stride in reversed(modes):
            x += index % extent * stride
            index //= extent
    return x if swizzle is None else xor(x, swizzle)


def xor(x: int, swizzle: Sequence[int]) -> int:
    """Return `x` swizzled."""
    bits, base, shift = swizzle
    mask = 2**bits - 1
    return x ^ (((x >> (base + shift)) & mask) << base)


def phase(x: int, swizzle: Sequence[int]) -> int:
    """Return what the number of the unit at `x` is XORed with."""
    bits, base, shift = swizzle
    return (x >> (base + shift)) & (2**bits - 1)


def bank(byte: int) -> int:
    """Return the bank of a byte of shared memory: 32 of 4 bytes."""
    return byte // 4 % 32


def moved_bytes(plan: Any) -> Iterator[tuple[int, int, int]]:
    """Execute a plan: yield (copy, source byte, destination byte) in issue order."""
    part_bytes, *levels = plan.src.gather or [plan.chunk_bytes, 0]
    for number, point in enumerate(itertools.product(*map(range, plan.loops))):
        src = plan.src.start + sum(i * s for i, s in zip(point, plan.src.steps, strict=True))
        dst = plan.dst.start + sum(i * s for i, s in zip(point, plan.dst.steps, strict=True))
        for byte in range(plan.chunk_bytes):
            part, rest = divmod(byte, part_bytes)
            begin = src
            for step, group in zip(levels[::2], [*levels[1::2], part + 1], strict=True):
                begin += part % group * step
                part //= group
            begin = xor(begin, plan.src.swizzle) if plan.src.swizzle else begin
            target = xor(dst, plan.dst.swizzle) if plan.dst.swizzle else dst
            yield number, begin + rest, target + byte


def load_cycles(places: Sequence[int], part_bytes: int) -> list[int]:
    """Return for each lane in how many clocks its group has loaded: 128 bytes are a group's.

    A bank gives one word of 4 bytes in a clock, to however many lanes want that word.
    """
    group = min(32, 128 // max(4, part_bytes))
    clocks = []
    for first in range(0, len(places), group):
        lanes = places[first : first + group]
        words = {(at + byte) // 4 for at in lanes for byte in range(part_bytes)}
        most = max(sum(word % 32 == b for word in words) for b in range(32))
        clocks += [most] * len(lanes)
    return clocks
