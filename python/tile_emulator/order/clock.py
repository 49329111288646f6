# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vector clocks.

A clock has one column for each thread of the cluster, one that stays zero, and one for each
mbarrier or async group, whose epochs are completed phases. It has five rows, each a weaker or
stronger notion of "knows":

- `SEEN`: happens-before through releases and acquires. Outside of strict checks synchronisation
  of CTA scope counts between CTAs, too: it guards overwrites, and the bytes of copies.
- `VISIBLE`: seen at a scope that includes both sides, so that ordinary stores can be read.
- `FENCED`: seen, and a `fence.proxy.async` stands on the path, so the async proxy sees it too.
- `CAUSED`: has happened earlier in every execution, through relaxed synchronisation as well.
- `READ`: seen, or has given its loads to others by a shuffle, so that they are over.

Clocks are immutable and shared between lanes. A thread always knows itself; that is not stored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEEN, FENCED, CAUSED, VISIBLE, READ = 0, 1, 2, 3, 4
ROWS = 5

Rows = NDArray[np.uint32]


class Clock:
    """What a thread knows of all others."""

    __slots__ = ("memo", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.memo: dict[int, tuple[Clock, Clock]] = {}

    def joined(self, other: Clock) -> Clock:
        """Return the clock that knows what both know; one of the two where it already does."""
        if other is self:
            return self
        known = self.memo.get(id(other))
        if known is not None:
            return known[1]
        mine, theirs = match(self.rows, other.rows)
        rows = np.maximum(mine, theirs)
        if np.array_equal(rows, mine):
            result = self
        elif np.array_equal(rows, theirs):
            result = other
        else:
            result = Clock(rows)
        if len(self.memo) > 64:
            self.memo.clear()
        self.memo[id(other)] = (other, result)
        return result

    def get(self, row: int, column: int) -> int:
        """Return one entry; columns that are not stored are zero."""
        return int(self.rows[row, column]) if column < self.rows.shape[1] else 0


def match(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """Pad the shorter of two clocks with zeros."""
    short = a.shape[1] - b.shape[1]
    if short > 0:
        return a, np.pad(b, ((0, 0), (0, short)))
    if short < 0:
        return np.pad(a, ((0, 0), (0, -short))), b
    return a, b
