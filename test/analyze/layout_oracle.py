# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a copy has to do, element by element and in bits, from the definition of a layout.

Written from the reference of `#tile.layout` and from PTX's rules for bulk copies, not from the
analysis: it enumerates the tile and knows no mode algebra.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BULK_BITS = 128
"""PTX: addresses and sizes of bulk copies are multiples of 16 bytes."""

Modes = tuple[tuple[int, int], ...]
"""Extents and strides of one dimension, the fastest last."""


@dataclass(frozen=True)
class Side:
    """A region of a buffer: `size` coordinates from `start` on, of a tile with a layout."""

    dimensions: tuple[Modes, ...]
    offset: int
    swizzle: tuple[int, int, int] | None
    start: tuple[int, ...]
    size: tuple[int, ...]

    def place(self, coordinate: Sequence[int]) -> int:
        """Return the place of the tile's element at `coordinate`, as the reference defines it."""
        offset = self.offset
        for modes, index in zip(self.dimensions, coordinate, strict=True):
            for extent, stride in reversed(modes):
                offset += index % extent * stride
                index //= extent
        if self.swizzle:
            bits, base, shift = self.swizzle
            offset ^= (offset >> (base + shift) & (1 << bits) - 1) << base
        return offset

    def places(self) -> np.ndarray:
        """Return the places of all elements of the region, in row-major order."""
        ranges = [range(s, s + n) for s, n in zip(self.start, self.size, strict=True)]
        return np.array([self.place(point) for point in itertools.product(*ranges)], np.int64)

    def span(self) -> int:
        """Return how many elements the whole buffer spans."""
        ranges = [range(math.prod(e for e, _ in modes)) for modes in self.dimensions]
        return 1 + max(self.place(point) for point in itertools.product(*ranges))


@dataclass(frozen=True)
class Case:
    """One copy: two regions of one shape, and the bits of an element."""

    src: Side
    dst: Side
    element: str
    bits: int


def longest_run_bits(case: Case) -> int:
    """Return the longest run that cuts the tile into runs of one size, or 0 if none is legal.

    A run lies in one piece on both sides; the tile falls into maximal runs, and runs of one size
    have to cut all of them. Both addresses and the size must be multiples of 16 bytes.
    """
    src, dst = case.src.places() * case.bits, case.dst.places() * case.bits
    order = np.argsort(dst)
    src, dst = src[order], dst[order]
    breaks = np.flatnonzero((np.diff(src) != case.bits) | (np.diff(dst) != case.bits)) + 1
    starts = np.concatenate([[0], breaks])
    lengths = np.diff(np.concatenate([starts, [len(dst)]])) * case.bits
    length = int(np.gcd.reduce(lengths))
    if length % BULK_BITS or (src[starts] % BULK_BITS).any() or (dst[starts] % BULK_BITS).any():
        return 0
    return length


def runs_of(case: Case, length_bits: int) -> np.ndarray:
    """Return where runs of this length begin, in bytes: a row of (source, destination) for each."""
    src, dst = case.src.places() * case.bits, case.dst.places() * case.bits
    order = np.argsort(dst)
    step = length_bits // case.bits
    return np.stack([src[order][::step], dst[order][::step]], axis=1) // 8


def is_loop_nest(starts: np.ndarray) -> bool:
    """Return whether `starts`, in the order of the destination, are the points of nested loops."""
    count = len(starts)
    if count == 1:
        return True
    for extent in range(count, 1, -1):
        if count % extent == 0:
            groups = starts.reshape(count // extent, extent, 2)
            steps = np.diff(groups, axis=1)
            if (steps == steps[0, 0]).all() and is_loop_nest(groups[:, 0]):
                return True
    return False


def can_be_written(case: Case, length_bits: int) -> bool:
    """Return whether a plan can say these runs: loops, and some bits of each side's swizzle."""
    starts = runs_of(case, length_bits)
    for src_low, dst_low in itertools.product(range(4), repeat=2):
        moved = starts.copy()
        for column, side, low in ((0, case.src, src_low), (1, case.dst, dst_low)):
            if side.swizzle and low < side.swizzle[0]:
                bits, base, shift = side.swizzle
                unit = base + (case.bits.bit_length() - 1) - 3 + low
                if unit < 0:
                    continue
                moved[:, column] = [
                    swizzled(int(start), (bits - low, unit, shift)) for start in moved[:, column]
                ]
        if is_loop_nest(moved[np.argsort(moved[:, 1])]):
            return True
    return False


def has_plan(case: Case) -> bool:
    """Return whether runs of any one size, whatever it is, can be copied by a plan."""
    longest, least = longest_run_bits(case), math.lcm(BULK_BITS, case.bits)
    lengths = [length for length in range(least, longest + 1, least) if longest % length == 0]
    return any(can_be_written(case, length) for length in lengths)


def overlaps(side: Side) -> bool:
    """Return whether two elements of the region share a place."""
    places = side.places()
    return len(set(places.tolist())) != len(places)


def swizzled(address: int, swizzle: Sequence[int]) -> int:
    """Return a byte address XOR its own bits."""
    if not swizzle:
        return address
    bits, base, shift = swizzle
    return address ^ (address >> (base + shift) & (1 << bits) - 1) << base


def chunks(plan: Any) -> Iterator[tuple[int, int]]:
    """Yield the source and destination byte of each chunk of a plan."""
    for point in itertools.product(*map(range, plan.loops)):
        src = plan.src_start + sum(i * s for i, s in zip(point, plan.src_steps, strict=True))
        dst = plan.dst_start + sum(i * s for i, s in zip(point, plan.dst_steps, strict=True))
        yield swizzled(src, plan.src_swizzle), swizzled(dst, plan.dst_swizzle)


def check_plan(case: Case, plan: Any) -> None:
    """Assert that `plan` moves exactly the right bytes, aligned and inside both buffers."""
    src_bytes = -(-case.src.span() * case.bits // 8)
    dst_bytes = -(-case.dst.span() * case.bits // 8)
    source = np.full(dst_bytes, -1, np.int64)
    count = 0
    for src, dst in chunks(plan):
        count += 1
        assert src % 16 == 0 and dst % 16 == 0 and plan.chunk_bytes % 16 == 0, (src, dst)
        assert 0 <= src <= src_bytes - plan.chunk_bytes, (src, src_bytes)
        assert 0 <= dst <= dst_bytes - plan.chunk_bytes, (dst, dst_bytes)
        assert (source[dst : dst + plan.chunk_bytes] == -1).all(), "written twice"
        source[dst : dst + plan.chunk_bytes] = np.arange(src, src + plan.chunk_bytes)
    assert count == plan.count
    src, dst = case.src.places() * case.bits, case.dst.places() * case.bits
    written = np.zeros(dst_bytes, bool)
    for byte in range(max(1, case.bits // 8)):
        to = dst // 8 + byte
        assert (source[to] == src // 8 + byte).all(), "an element arrives elsewhere"
        written[to] = True
    assert (src % 8 == dst % 8).all(), "an element arrives elsewhere in its byte"
    assert (written == (source >= 0)).all(), "bytes of no element are written"
