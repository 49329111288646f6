# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What strong accesses and fences hand over, at a scope that may or may not include the other side.

A scope is *wide* when it includes the other CTAs of the cluster (`.cluster`, `.gpu`, `.sys`). Two
threads of one CTA synchronise at any scope, threads of two CTAs only where both sides are wide:
else what one released reaches the other as relaxed synchronisation would.
"""

from __future__ import annotations

from tile_emulator.order.clock import ONLY_CAUSED, Clock, joined

WIDE = frozenset({"cluster", "gpu", "sys", "gl"})

# How strong an access is, for the shadow.
WEAK, STRONG, STRONG_WIDE = 0, 1, 2


class Published:
    """What was released through one address."""

    __slots__ = ("far", "near", "relaxed")

    def __init__(self) -> None:
        self.near: dict[int, Clock] = {}
        self.far: Clock | None = None
        self.relaxed: Clock | None = None

    def add(self, rank: int, near: Clock, far: Clock | None, alone: bool) -> None:
        """Join what a thread of CTA `rank` releases to its own CTA, and to others (`far`)."""
        self.near[rank] = near.joined(self.near.get(rank, near))
        if not alone:
            self.far = joined(self.far, far)
            self.relaxed = joined(self.relaxed, near.kept(ONLY_CAUSED))

    def seen_from(self, rank: int, wide: bool) -> Clock | None:
        """Return what a thread of CTA `rank` finds there with a scope that is wide or not."""
        near = joined(self.near.get(rank), self.relaxed)
        return joined(near, self.far) if wide else near


class Fences:
    """The last fences of a warp, and what relaxed loads have seen that the next may acquire."""

    __slots__ = ("any", "seen_any", "seen_wide", "wide")

    def __init__(self) -> None:
        self.any: Clock | None = None
        self.wide: Clock | None = None
        self.seen_any: Clock | None = None
        self.seen_wide: Clock | None = None

    def see(self, at_any: Clock | None, at_wide: Clock | None) -> None:
        """Keep what a relaxed load found for a following fence of any, or of wide, scope."""
        self.seen_any = joined(self.seen_any, at_any)
        self.seen_wide = joined(self.seen_wide, at_wide)

    def take_seen(self, wide: bool) -> Clock | None:
        """Return what a fence acquires."""
        seen = joined(self.seen_any, self.seen_wide) if wide else self.seen_any
        self.seen_any = None
        if wide:
            self.seen_wide = None
        return seen

    def execute(self, clock: Clock, wide: bool) -> None:
        """Keep what a fence releases to strong stores that follow."""
        self.any = clock
        if wide:
            self.wide = clock
