# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Async groups of a thread: `commit_group` and `wait_group` of bulk and of ordinary `cp.async`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_emulator.engine.operations import Operation
from tile_emulator.order.clock import CAUSED, ROWS, SEEN, Clock

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster


class Groups:
    """The groups of one kind of one thread; group numbers are the epochs of its clock column."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.column = cluster.new_column()
        self.number = 0
        self.open: list[Operation] = []
        self.committed: list[tuple[int, list[Operation]]] = []

    def commit(self) -> None:
        """Close the open group."""
        self.number += 1
        for operation in self.open:
            operation.column, operation.epoch = self.column, self.number
        self.committed.append((self.number, self.open))
        self.open = []

    def ready(self, leave: int) -> bool:
        """Tell whether all but the latest `leave` groups have landed."""
        count = len(self.committed) - leave
        return all(
            operation.landed >= operation.nbytes
            for _, operations in self.committed[: max(0, count)]
            for operation in operations
        )

    def observe(self, leave: int) -> Clock | None:
        """Return what a wait that leaves `leave` groups tells the thread."""
        count = len(self.committed) - leave
        if count <= 0:
            return None
        done, self.committed = self.committed[:count], self.committed[count:]
        for _, operations in done:
            for operation in operations:
                self.cluster.landed(operation)
        rows = np.zeros((ROWS, max(self.column + 1, self.cluster.columns)), dtype=np.uint32)
        rows[SEEN, self.column] = rows[CAUSED, self.column] = done[-1][0]
        return Clock(rows)
