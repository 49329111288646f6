# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CTAs of one cluster: shared memories, clocks, cluster barrier, copies on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_emulator import _tile_emulator as core
from tile_emulator.engine.operations import Operation
from tile_emulator.errors import Fault
from tile_emulator.machine.access import Addresses
from tile_emulator.machine.cta import CTA
from tile_emulator.machine.fences import Published
from tile_emulator.machine.scheduler import Scheduler
from tile_emulator.machine.warp import LANES, Warp, lanes_of, mask_of
from tile_emulator.order.clock import ONLY_CAUSED, Clock, joined
from tile_emulator.order.conflicts import Conflicts

if TYPE_CHECKING:
    from tile_emulator.machine.launch import Launch
    from tile_emulator.ptx.module import Instruction


class Deferred:
    """An error unless a better one is found.

    A read of bytes that nobody had written, or a phase that completes too early for a wait.
    """

    def __init__(self, fault: Fault, at: Instruction | None, thread: int, where: Any) -> None:
        self.fault = fault
        self.at = at
        self.thread = thread
        self.where = where
        self.written_later = False


class ClusterBarrier(NamedTuple):
    """What the last completed cluster barrier hands to its waiters."""

    generation: int
    clock: Clock | None


class Cluster(core.Cluster):
    """CTAs that run together.

    The core has what they share, and what is known of it.
    """

    def __init__(self, launch: Launch, clusterid: tuple[int, int, int]) -> None:
        self.launch = launch
        self.clusterid = clusterid
        cx, cy, cz = launch.cluster
        self.size = cx * cy * cz
        x, y, z = launch.block
        warps = -(-(x * y * z) // LANES)
        self.thread_count = self.size * warps * LANES
        super().__init__(
            launch.memory.core,
            launch.params,
            self.size,
            self.thread_count,
            x * y * z,
            launch.shared_bytes,
            launch.checks.orders,
            launch.checks.strict,
        )
        self.columns = self.thread_count + 1
        self.epoch: NDArray[np.uint32] = self.epochs()
        self.fenced: NDArray[np.uint32] = self.fenced_epochs()
        self.operations: list[Operation] = []
        self.deferred: list[Deferred] = []
        self.group_columns: dict[int, int] = {}
        self.barrier_columns: dict[int, int] = {}
        self.barrier_bases: dict[int, int] = {}
        self.shared: NDArray[np.uint8] = self.shared_memory()
        self.shared_bytes = self.shared.size // self.size
        self.conflicts = Conflicts(self)
        self.addresses = Addresses(self)
        self.checks_exit = True
        self.scheduler = Scheduler(self)
        self.sync_clocks: dict[int, Published] = {}
        self.barrier_generation = 0
        self.barrier_arrived = 0
        self.barrier_clock: Clock | None = None
        self.barrier_done: Clock | None = None
        self.barrier_of = np.full(self.thread_count, -1, dtype=np.int64)
        self.ctas: list[CTA] = []
        for rank in range(self.size):
            inside = (rank % cx, rank // cx % cy, rank // (cx * cy))
            ctaid = tuple(clusterid[i] * launch.cluster[i] + inside[i] for i in range(3))
            self.ctas.append(CTA(self, rank, (ctaid[0], ctaid[1], ctaid[2]), inside))
        for cta in self.ctas:
            for warp in cta.warps:
                self.scheduler.add(warp.fragments[0])

    # Names

    def locate(self, thread: int) -> tuple[CTA, tuple[int, int, int]]:
        """Return the CTA and the coordinates of a thread."""
        warps = self.ctas[0].warp_count
        cta = self.ctas[thread // (warps * LANES)]
        linear = thread % (warps * LANES)
        x, y, _ = self.launch.block
        return cta, (linear % x, linear // x % y, linear // (x * y))

    def thread_name(self, thread: int) -> str:
        cta, position = self.locate(thread)
        return f"thread {position} of CTA rank {cta.rank}"

    def warp_of(self, thread: int) -> Warp:
        """Return the warp of a thread."""
        rank, index = divmod(thread // LANES, self.ctas[0].warp_count)
        return self.ctas[rank].warps[index]

    def is_live(self, thread: int) -> bool:
        """Tell whether a thread has not ended."""
        return bool(self.warp_of(thread).live >> thread % LANES & 1)

    def explain(self, what: str, values: list[int]) -> None:
        """Make a report of what the core has found."""
        owner = self.conflicts if hasattr(self.conflicts, what) else self.addresses
        getattr(owner, what)(*values)

    def defer(self, fault: Fault, at: Instruction | None, thread: int, where: Any) -> None:
        """Keep a fault for the end: who writes the bytes, or what follows, explains it better."""
        if len(self.deferred) < 64 and fault.kind not in self.launch.checks.ignored:
            self.deferred.append(Deferred(fault, at, thread, where))
            self.has_deferred = True

    def report(self, fault: Fault) -> None:
        """Raise a fault after which the kernel can go on, unless it is left out or kept."""
        launch = self.launch
        if fault.kind in launch.checks.ignored:
            return
        if launch.kept is None:
            raise fault
        launch.keep(launch.located(self, fault))

    # Clocks

    def new_column(self) -> int:
        """Reserve a column of the clocks."""
        self.columns += 1
        return self.columns - 1

    def landed(self, operation: Operation) -> None:
        """A copy is complete: from now on it is known by its phase."""
        assert operation.column is not None
        for cta in (operation.source_cta, operation.target_cta):
            if cta is not None:
                cta.copies.pop(operation.number, None)
                cta.landed[operation.column] = operation

    # Shared memory

    def flat(
        self,
        w: Warp,
        lanes: NDArray[np.intp],
        addresses: NDArray[np.uint64],
        nbytes: int,
        local_form: bool,
        align: int = 0,
    ) -> NDArray[np.intp]:
        """Turn shared addresses into places of the cluster's bytes; checks them."""
        line = w.at.line if w.at is not None else 0
        found = self.places(
            w, lanes.tolist(), addresses.tolist(), nbytes, align or nbytes, local_form, line
        )
        return np.array(found, dtype=np.intp)

    # The cluster barrier

    def cluster_arrive(self, w: Warp, bits: int, relaxed: bool) -> None:
        """`barrier.cluster.arrive`."""
        threads = w.thread0 + lanes_of(mask_of(bits))
        again = self.barrier_of[threads] >= 0
        if again.any():
            raise Fault(
                "arrivals",
                "barrier.cluster.arrive is executed twice without a wait in between",
                "follow each arrive by one wait",
                int(threads[np.argmax(again)]) - w.thread0,
            )
        clock: Clock | None = self.release(w, bits)
        if relaxed:
            assert clock is not None
            clock = joined(clock.kept(ONLY_CAUSED), w.fences.wide)
        self.barrier_clock = joined(self.barrier_clock, clock)
        self.barrier_of[threads] = self.barrier_generation
        self.barrier_arrived += bits.bit_count()
        self.cluster_barrier_settle()

    def cluster_barrier_settle(self) -> None:
        """Open the cluster barrier when all threads that have not exited are there."""
        if not self.barrier_arrived:
            return
        live = sum(cta.live_threads for cta in self.ctas)
        if self.barrier_arrived >= live + self._exited_arrivals():
            self.barrier_done = self.barrier_clock
            self.barrier_clock = None
            self.barrier_arrived = 0
            self.barrier_generation += 1
            self.scheduler.wake(self)

    def _exited_arrivals(self) -> int:
        """Count the threads that have arrived at this generation and exited since."""
        waiting = np.flatnonzero(self.barrier_of == self.barrier_generation)
        count = 0
        for cta in self.ctas:
            for warp in cta.warps:
                inside = waiting[(waiting >= warp.thread0) & (waiting < warp.thread0 + LANES)]
                count += sum(1 for t in inside.tolist() if not warp.live >> (t - warp.thread0) & 1)
        return count
