# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Async groups of a thread: `commit_group` and `wait_group` of bulk and of ordinary `cp.async`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_emulator.engine.operations import Operation
from tile_emulator.order.clock import SEEN_COMPLETE, Clock

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster


_FREE = {
    "bulk": "execute cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 before",
    "ordinary": "execute cp.async.wait_all before",
    "wgmma": "execute wgmma.commit_group.sync.aligned and wgmma.wait_group.sync.aligned 0 before",
}


class Groups:
    """The groups of one kind of one thread.

    The epochs of its clock column count parts: a group, or what `cp.async.mbarrier.arrive` has
    tracked of one that is still open.
    """

    def __init__(self, cluster: Cluster, kind: str) -> None:
        self.cluster = cluster
        self.kind = kind
        self.column = cluster.new_column()
        self.number = 0
        self.open: list[Operation] = []
        self.tracked: list[Operation] = []
        self.committed: list[tuple[int, list[Operation]]] = []
        # What a wait for reads alone leaves of them.
        self.unwritten: list[list[Operation]] = []

    def commit(self) -> None:
        """Close the open group."""
        self._track()
        self.committed.append((self.number, self.tracked))
        self.unwritten.append(self.tracked)
        self.tracked = []

    def _track(self) -> None:
        self.number += 1
        for operation in self.open:
            operation.complete_at(self.column, self.number)
        self.tracked += self.open
        self.open = []

    @property
    def free(self) -> str:
        """Say how to wait until sources may be used again."""
        return _FREE[self.kind]

    def unfinished(self) -> list[Operation]:
        """Return what no wait has ended."""
        parts = [*(operations for _, operations in self.committed), self.tracked, self.open]
        return [operation for operations in parts for operation in operations]

    def all_landed(self) -> bool:
        """Tell whether every copy so far has landed, whatever its group."""
        parts = [operations for _, operations in self.committed] + [self.tracked, self.open]
        return all(o.landed >= o.nbytes for operations in parts for o in operations)

    def so_far(self) -> Clock:
        """Return what the completion of every copy so far tells; the groups stay as they are."""
        self._track()
        for operations in (*(group for _, group in self.committed), self.tracked):
            for operation in operations:
                self.cluster.landed(operation)
        return self._clock(self.number)

    def ready(self, leave: int) -> bool:
        """Tell whether all but the latest `leave` groups have landed."""
        count = len(self.committed) - leave
        return all(
            operation.landed >= operation.nbytes
            for _, operations in self.committed[: max(0, count)]
            for operation in operations
        )

    def observe(self, leave: int, reads: bool = False) -> Clock | None:
        """Return what a wait that leaves `leave` groups tells the thread.

        One for `reads` says that sources are free, and nothing of what was written.
        """
        if not reads:
            kept = max(0, len(self.unwritten) - leave)
            done_writes, self.unwritten = self.unwritten[:kept], self.unwritten[kept:]
            for operations in done_writes:
                for operation in operations:
                    self.cluster.end_writing(operation.number)
        count = len(self.committed) - leave
        if count <= 0:
            return None
        done, self.committed = self.committed[:count], self.committed[count:]
        for _, operations in done:
            for operation in operations:
                self.cluster.landed(operation)
        return self._clock(done[-1][0])

    def _clock(self, epoch: int) -> Clock:
        return self.cluster.first_clock.with_epoch(self.column, SEEN_COMPLETE, epoch)
