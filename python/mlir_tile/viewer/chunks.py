# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chunks of a plan: which one moves a byte, who issues it, and what its load costs.

Reads `#tile.copy_plan` as its reference says; the clocks are the analysis's own.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .._tile import load_cycles, swizzled, variant_traits

LANES = 32


@dataclass(frozen=True)
class Moved:
    """The copy that moves some bytes: its number in issue order, and the thread that issues it.

    `cycles` is how many cycles banks take to give what is loaded together with them: 1 without
    conflicts, 0 where no thread loads them. None without a copy, or without a choice of threads.
    """

    chunk: int | None = None
    thread: int | None = None
    cycles: int = 0


class Chunks:
    """The copies of a plan, numbered in issue order: the last loop is the fastest.

    `part_bytes` is how many bytes are contiguous on both sides. `src_strides` and `dst_strides`, in
    elements, stand for those that only the run time knows.
    """

    def __init__(
        self, plan: Any, src_strides: Sequence[Any] = (), dst_strides: Sequence[Any] = ()
    ) -> None:
        src_steps, dst_steps = known(plan.src, src_strides), known(plan.dst, dst_strides)
        self.count: int = plan.count
        self._bytes: int = plan.chunk_bytes
        self._threads: int = plan.threads
        self._parts = len(plan.part_offsets)
        self.part_bytes: int = plan.chunk_bytes // self._parts
        starts = list(_starts(plan.loops, plan.src.start, src_steps))
        self._dst = sorted(
            (swizzled(start, plan.dst.swizzle), number)
            for number, start in enumerate(_starts(plan.loops, plan.dst.start, dst_steps))
        )
        # Part p of chunk n has the number n * parts + p.
        self._places = [
            swizzled(start + offset, plan.src.swizzle)
            for start in starts
            for offset in plan.part_offsets
        ]
        traits = variant_traits(plan.variant)
        self._loaded: bool = traits is not None and traits.threads_load
        self._cycles: dict[tuple[int, int], list[int]] = {}

    def at_destination(self, byte: int) -> Moved:
        """Return the copy that writes a byte of the destination."""
        index = bisect_right(self._dst, (byte, self.count)) - 1
        start, number = self._dst[index]
        assert 0 <= byte - start < self._bytes, f"no copy of the plan writes byte {byte}"
        return Moved(number, self._thread(number))

    def at_source(self, byte: int, dst_byte: int) -> Moved:
        """Return the copy that reads a byte of the source to write one of the destination."""
        number = self.at_destination(dst_byte).chunk
        assert number is not None
        for part in range(self._parts):
            if 0 <= byte - self._places[number * self._parts + part] < self.part_bytes:
                return Moved(number, self._thread(number), self._load_cycles(number, part))
        raise AssertionError(f"copy {number} of the plan does not read byte {byte}")

    def destination_pieces(self, piece: int) -> dict[int, Moved]:
        """Return what writes each piece of so many bytes, by its first byte."""
        return {
            start + byte: Moved(number, self._thread(number))
            for start, number in self._dst
            for byte in range(0, self._bytes, piece)
        }

    def source_pieces(self, piece: int) -> dict[int, Moved]:
        """Return what reads each piece of so many bytes, by its first byte; the first of several.

        Pieces are `part_bytes` long or divide them.
        """
        found: dict[int, Moved] = {}
        for index, place in enumerate(self._places):
            number, part = divmod(index, self._parts)
            for byte in range(place, place + self.part_bytes, piece):
                if byte not in found:
                    found[byte] = Moved(
                        number, self._thread(number), self._load_cycles(number, part)
                    )
        return found

    def _thread(self, number: int) -> int | None:
        return number % self._threads if self._threads else None

    def _load_cycles(self, number: int, part: int) -> int:
        """Return in how many cycles the lanes that are served together have loaded."""
        if not self._loaded:
            return 0
        warp = number // LANES
        if (warp, part) not in self._cycles:
            lanes = self._places[warp * LANES * self._parts + part :: self._parts][:LANES]
            self._cycles[warp, part] = load_cycles(lanes, self.part_bytes)
        together = LANES // len(load_cycles([0] * LANES, self.part_bytes))
        return self._cycles[warp, part][number % LANES // together]


def known(side: Any, strides: Sequence[Any]) -> list[int]:
    """Return the steps of a side; `strides`, in elements, stand for those of the memref."""
    made_of = iter(side.strides)
    steps = []
    for step in side.steps:
        if step is None:
            dimension, factor_bytes = next(made_of), next(made_of)
            step = strides[dimension] * factor_bytes
        steps.append(step)
    return steps


def _starts(loops: Sequence[int], start: int, steps: Sequence[int]) -> Iterator[int]:
    """Yield where each copy starts, the swizzle not counted."""
    offsets = [
        range(0, step * n, step) if step else [0] * n for n, step in zip(loops, steps, strict=True)
    ]
    for point in itertools.product(*offsets):
        yield start + sum(point)
