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

from tile_emulator._tile_emulator import Clock

__all__ = [
    "CAUSED", "EVERYTHING", "FENCED", "NARROW", "ONLY_CAUSED", "READ", "READ_OVER", "SEEN",
    "SEEN_COMPLETE", "VISIBLE", "Clock", "joined",
]  # fmt: skip

SEEN, FENCED, CAUSED, VISIBLE, READ = 0, 1, 2, 3, 4

# Rows together: all of them,
EVERYTHING = (1 << 5) - 1
# what relaxed synchronisation carries,
ONLY_CAUSED = 1 << CAUSED
# a shuffle of loaded values,
READ_OVER = 1 << CAUSED | 1 << READ
# synchronisation of too narrow a scope,
NARROW = 1 << SEEN | 1 << FENCED | 1 << CAUSED | 1 << READ
# and the completion of a phase or a group for its own column.
SEEN_COMPLETE = 1 << SEEN | 1 << CAUSED


def joined(a: Clock | None, b: Clock | None) -> Clock | None:
    """Return the clock that knows what both know, either of which may be None."""
    if a is None or b is None:
        return a or b
    return a.joined(b)
