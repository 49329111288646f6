# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One CTA: its warps, and what must hold when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator import advice
from tile_emulator.errors import Fault
from tile_emulator.instructions.program import SHARED_BASE
from tile_emulator.machine.mbarrier import MBarrier
from tile_emulator.machine.warp import LANES, Warp
from tile_emulator.order.clock import CAUSED, Clock, joined

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation
    from tile_emulator.machine.cluster import Cluster

RANK_SHIFT = 24
# What an address says where `mapa` was given a rank beyond any cluster.
NO_RANK = 255


class CTA:
    """Warps with one shared memory."""

    def __init__(
        self,
        cluster: Cluster,
        rank: int,
        ctaid: tuple[int, int, int],
        cluster_ctaid: tuple[int, int, int],
    ) -> None:
        launch = cluster.launch
        self.cluster = cluster
        self.rank = rank
        self.ctaid = ctaid
        self.cluster_ctaid = cluster_ctaid
        x, y, z = launch.block
        threads = x * y * z
        self.warp_count = -(-threads // LANES)
        gx, gy, _ = launch.grid
        self.linear = ctaid[0] + gx * (ctaid[1] + gy * ctaid[2])
        self.mbarriers: dict[int, MBarrier] = {}
        self.exited = False
        # When threads of peers last used this CTA's memory, and where.
        self.remote = cluster.remote_epochs(rank)
        self.remote_line = cluster.remote_lines(rank)
        self.copies: dict[int, Operation] = {}
        self.landed: dict[int, Operation] = {}
        self.exit_clock: Clock | None = None
        # Products that some warps of a warpgroup have executed: what the first has, and how many.
        self.products: dict[tuple[int, int], list[Any]] = {}
        self.warps: list[Warp] = []
        for index in range(self.warp_count):
            lanes = min(LANES, threads - LANES * index)
            self.warps.append(Warp(self, index, launch.program, (1 << lanes) - 1))

    def shared_address(self, offset: int) -> int:
        """Return the shared::cta address of a byte; the rank stands in its top byte."""
        return (self.rank << RANK_SHIFT) + SHARED_BASE + offset

    @property
    def live_threads(self) -> int:
        return self.cluster.live_threads(self.rank)

    def first_thread(self) -> int:
        return self.rank * self.warp_count * LANES

    def thread_exit(self, w: Warp, bits: int) -> None:
        """Record the end of threads; checks the CTA when they were the last."""
        self.exit_clock = joined(self.exit_clock, self.cluster.release(w, bits))
        self.cluster.leave(self.rank, bits.bit_count())
        if self.live_threads == 0:
            self.exited = True
            self.cluster.exit(self.rank)
            if self.cluster.checks_exit:
                self._check_exit()
        self.cluster.open_without_exited(self.rank)
        self.cluster.cluster_barrier_settle()

    def _knows(self, column: int, epoch: int) -> bool:
        assert self.exit_clock is not None
        return self.exit_clock.get(CAUSED, column) >= epoch

    def _check_exit(self) -> None:
        """A CTA must outlive the copies from and into it, and its peers' accesses."""
        for _, count in self.products.values():
            raise Fault(
                "divergence",
                f"CTA rank {self.rank} exits after {count} of the 4 warps of a warpgroup have "
                "executed a wgmma.mma_async",
                "let all threads of the warpgroup execute the same products",
            )
        unknown = list(self.copies.values())
        unknown += [o for o in self.landed.values() if not self._knows(o.column or 0, o.epoch)]
        if unknown:
            operation = unknown[0]
            side = "into" if operation.target_cta is self else "from"
            self.cluster.report(
                Fault(
                    "early-exit",
                    f"CTA rank {self.rank} exits while a {operation.name} {side} it may be in "
                    "flight",
                    advice.LEAVE_LATER
                    if operation.groups is None
                    else f"{operation.groups.free} the end",
                    None,
                    operation.notes(),
                )
            )
        assert self.exit_clock is not None
        late = self.remote > self.exit_clock.rows[CAUSED, : self.remote.size]
        if late.any():
            thread = int(np.argmax(late))
            self.cluster.report(
                Fault(
                    "early-exit",
                    f"CTA rank {self.rank} exits although {self.cluster.thread_name(thread)} may "
                    "still "
                    f"use its shared memory at PTX line {int(self.remote_line[thread])}",
                    advice.LEAVE,
                )
            )

    def mbarrier(self, offset: int) -> MBarrier | None:
        return self.mbarriers.get(offset)
