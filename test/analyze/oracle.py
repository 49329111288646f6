# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the layout analysis must find, by brute force: byte by byte, from the definition.

Nothing here knows how the analysis works. A bulk copy is lawful if its size is a positive multiple
of 16 bytes and both of its addresses are multiples of 16 bytes (PTX ISA, `cp.async.bulk`); the
buffers themselves begin at such an address.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

ALIGNMENT_BYTES = 16
MAX_PHASE_BYTES = 2**20 - 1


@dataclass(frozen=True)
class Side:
    """A tile in a buffer of `buffer_elements`: strides and offset in elements, as in memref."""

    strides: tuple[int, ...]
    offset: int
    buffer_elements: int


@dataclass(frozen=True)
class Copy:
    """What one `tile.copy_async` is asked for."""

    element_bytes: int
    shape: tuple[int, ...]
    src: Side
    dst: Side


@dataclass(frozen=True)
class Plan:
    """The numbers of a `#tile.copy_plan`."""

    chunk_bytes: int
    count: int
    loops: tuple[int, ...]
    src_start: int
    src_steps: tuple[int, ...]
    dst_start: int
    dst_steps: tuple[int, ...]


def byte_pairs(copy: Copy) -> Iterator[tuple[int, int]]:
    """Yield (destination byte, source byte) for each byte of the tile."""
    for coordinate in itertools.product(*map(range, copy.shape)):
        places = []
        for side in (copy.dst, copy.src):
            element = side.offset
            for index, stride in zip(coordinate, side.strides, strict=True):
                element += index * stride
            places.append(element * copy.element_bytes)
        for byte in range(copy.element_bytes):
            yield places[0] + byte, places[1] + byte


def in_bounds(copy: Copy) -> bool:
    """Whether no byte of the tile is outside its buffer, on both sides."""
    dst_bytes = copy.dst.buffer_elements * copy.element_bytes
    src_bytes = copy.src.buffer_elements * copy.element_bytes
    return all(0 <= d < dst_bytes and 0 <= s < src_bytes for d, s in byte_pairs(copy))


def lawful_chunks(copy: Copy) -> list[int]:
    """Return each size in bytes for which copies of that one size can do the whole of `copy`.

    Copies write disjoint intervals of the destination, so the one with the lowest address begins at
    the lowest byte, and with it all others are given: each size has one candidate.
    """
    pairs = sorted(byte_pairs(copy))
    if len({dst for dst, _ in pairs}) != len(pairs) or not in_bounds(copy):
        return []
    if not 0 < len(pairs) <= MAX_PHASE_BYTES:
        return []
    return [
        chunk_bytes
        for chunk_bytes in range(ALIGNMENT_BYTES, len(pairs) + 1, ALIGNMENT_BYTES)
        if len(pairs) % chunk_bytes == 0 and can_chop(pairs, chunk_bytes)
    ]


def can_chop(pairs: list[tuple[int, int]], chunk_bytes: int) -> bool:
    """Whether each `chunk_bytes` of the sorted pairs are one lawful copy."""
    for first in range(0, len(pairs), chunk_bytes):
        dst, src = pairs[first]
        if dst % ALIGNMENT_BYTES or src % ALIGNMENT_BYTES:
            return False
        for byte in range(chunk_bytes):
            if pairs[first + byte] != (dst + byte, src + byte):
                return False
    return True


def planned_pairs(plan: Plan) -> Iterator[tuple[int, int]]:
    """Yield (destination byte, source byte) for each byte that the copies of `plan` move."""
    for point in itertools.product(*map(range, plan.loops)):
        src, dst = plan.src_start, plan.dst_start
        for index, src_step, dst_step in zip(point, plan.src_steps, plan.dst_steps, strict=True):
            src += index * src_step
            dst += index * dst_step
        assert src % ALIGNMENT_BYTES == 0, f"copy at {point} reads from byte {src}"
        assert dst % ALIGNMENT_BYTES == 0, f"copy at {point} writes to byte {dst}"
        for byte in range(plan.chunk_bytes):
            yield dst + byte, src + byte


def check(copy: Copy, plan: Plan | None) -> None:
    """Assert that `plan` is the best there is for `copy`; None says that there is none."""
    lawful = lawful_chunks(copy)
    if 0 in copy.shape:
        assert plan is not None and plan.count == 0, "a tile of no elements needs no copy"
        return
    if plan is None:
        assert not lawful, f"refused, but copies of {lawful} bytes would do"
        return
    assert plan.chunk_bytes % ALIGNMENT_BYTES == 0 and plan.chunk_bytes > 0
    moved = list(planned_pairs(plan))
    assert len(moved) == plan.count * plan.chunk_bytes
    assert len({dst for dst, _ in moved}) == len(moved), "a byte is written twice"
    assert sorted(moved) == sorted(byte_pairs(copy)), "bytes are missing or in the wrong place"
    assert in_bounds(copy)
    assert lawful, "planned, but no size of copy is lawful"
    assert plan.chunk_bytes == max(lawful), f"copies of {max(lawful)} bytes would be fewer"
