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

from tile_emulator._tile_emulator import Clock

__all__ = ["CAUSED", "FENCED", "READ", "ROWS", "SEEN", "VISIBLE", "Clock", "Rows", "match"]

SEEN, FENCED, CAUSED, VISIBLE, READ = 0, 1, 2, 3, 4
ROWS = 5

Rows = NDArray[np.uint32]


def match(a: Rows, b: Rows) -> tuple[Rows, Rows]:
    """Pad the shorter of two clocks with zeros."""
    short = a.shape[1] - b.shape[1]
    if short > 0:
        return a, np.pad(b, ((0, 0), (0, short)))
    if short < 0:
        return np.pad(a, ((0, 0), (0, -short))), b
    return a, b
