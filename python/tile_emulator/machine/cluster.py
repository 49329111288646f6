# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CTAs of one cluster: shared memories, clocks, cluster barrier, copies on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tile_emulator import advice
from tile_emulator.engine.operations import Operation
from tile_emulator.errors import Fault
from tile_emulator.instructions.program import SHARED_BASE
from tile_emulator.instructions.slots import UNSIGNED
from tile_emulator.machine.cta import CTA, NO_RANK, RANK_SHIFT
from tile_emulator.machine.fences import Published
from tile_emulator.machine.mbarrier import join_rows
from tile_emulator.machine.scheduler import Scheduler
from tile_emulator.machine.warp import FULL, LANES, Warp, first_lane, lanes_of, mask_of
from tile_emulator.order.clock import CAUSED, FENCED, READ, ROWS, SEEN, VISIBLE, Clock, Rows
from tile_emulator.order.shadow import Shadow, Unchecked

if TYPE_CHECKING:
    from tile_emulator.machine.launch import Launch
    from tile_emulator.ptx.module import Instruction

_RANK_SHIFT = np.uint64(RANK_SHIFT)
_OFFSET_MASK = np.uint64((1 << RANK_SHIFT) - 1)
_BASE = np.int64(SHARED_BASE)
_NEAR = 1 << 20


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
    rows: Rows | None


class Cluster:
    """CTAs that run together."""

    def __init__(self, launch: Launch, clusterid: tuple[int, int, int]) -> None:
        self.launch = launch
        self.clusterid = clusterid
        cx, cy, cz = launch.cluster
        self.size = cx * cy * cz
        x, y, z = launch.block
        warps = -(-(x * y * z) // LANES)
        self.thread_count = self.size * warps * LANES
        self.columns = self.thread_count + 1
        self.epoch = np.ones(self.thread_count + 1, dtype=np.uint32)
        self.fenced = np.zeros(self.thread_count + 1, dtype=np.uint32)
        self.first_clock = Clock(np.zeros((ROWS, self.columns), dtype=np.uint32))
        self.operations: list[Operation] = []
        # Bytes of global memory whose writes no wait of their thread has ended, by number.
        self.unwritten: dict[int, tuple[int, int, Operation]] = {}
        self.deferred: list[Deferred] = []
        self.group_columns: dict[int, int] = {}
        self.barrier_columns: dict[int, int] = {}
        self.barrier_bases: dict[int, int] = {}
        self.shared_bytes = -(-max(launch.shared_bytes, 16) // 16) * 16
        total = self.size * self.shared_bytes
        self.shared = np.zeros(total, dtype=np.uint8)
        self.views = {n: self.shared.view(UNSIGNED[8 * n]) for n in (1, 2, 4, 8)}
        self.shadow = (Shadow if launch.checks.orders else Unchecked)(self, total)
        self.checks_exit = True
        self.scheduler = Scheduler(self)
        self.sync_clocks: dict[int, Published] = {}
        self.barrier_generation = 0
        self.barrier_arrived = 0
        self.barrier_rows: Rows | None = None
        self.barrier_done: Rows | None = None
        self.barrier_clock: Clock | None = None
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

    def is_live(self, thread: int) -> bool:
        """Tell whether a thread has not ended."""
        cta, _ = self.locate(thread)
        index, lane = divmod(thread - cta.first_thread(), LANES)
        return bool(cta.warps[index].live >> lane & 1)

    def defer(self, fault: Fault, at: Instruction | None, thread: int, where: Any) -> None:
        """Keep a fault for the end: who writes the bytes, or what follows, explains it better."""
        if len(self.deferred) < 64 and fault.kind not in self.launch.checks.ignored:
            self.deferred.append(Deferred(fault, at, thread, where))

    def report(self, fault: Fault) -> None:
        """Raise a fault after which the kernel can go on, unless it is left out or kept."""
        launch = self.launch
        if fault.kind in launch.checks.ignored:
            return
        if launch.kept is None:
            raise fault
        launch.keep(launch.located(self, fault))

    # Clocks

    def release(self, w: Warp, bits: int) -> Rows:
        """Return what the threads `bits` of `w` know, themselves included; their epoch ends."""
        groups = w.lane_clocks(bits)
        rows: Rows | None = None
        for _, clock in groups:
            rows = join_rows(rows, clock.rows)
        assert rows is not None
        if bits == FULL:
            threads: Any = slice(w.thread0, w.thread0 + LANES)
        else:
            threads = w.thread0 + lanes_of(mask_of(bits))
        epochs = self.epoch[threads]
        for row in (SEEN, VISIBLE, CAUSED, READ):
            rows[row, threads] = epochs
        rows[FENCED, threads] = np.maximum(rows[FENCED, threads], self.fenced[threads])
        self.epoch[threads] = epochs + np.uint32(1)
        return rows

    def acquire(self, w: Warp, bits: int, clock: Clock) -> None:
        """Let the threads `bits` know what `clock` knows as well."""
        for lanes, known in w.lane_clocks(bits):
            joined = known.joined(clock)
            if joined is not known:
                w.set_clock(lanes, joined)

    def proxy_fence(self, w: Warp, bits: int) -> None:
        """`fence.proxy.async`: what the threads know becomes known to the async proxy."""
        for lanes, known in w.lane_clocks(bits):
            if (known.rows[SEEN] > known.rows[FENCED]).any():
                rows = known.rows.copy()
                np.maximum(rows[FENCED], rows[SEEN], out=rows[FENCED])
                w.set_clock(lanes, Clock(rows))
        threads = w.thread0 + lanes_of(mask_of(bits))
        self.fenced[threads] = self.epoch[threads]
        self.epoch[threads] += np.uint32(1)

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

    def check_unwritten(
        self, addresses: NDArray[np.uint64], nbytes: int, lanes: NDArray[np.intp], access: str
    ) -> None:
        """Report an access to global bytes that a bulk store may still write."""
        for start, stop, operation in self.unwritten.values():
            hit = (addresses < stop) & (addresses + np.uint64(nbytes) > start)
            if hit.any():
                i = int(np.argmax(hit))
                self.report(
                    Fault(
                        "in-flight",
                        f"global memory at 0x{int(addresses[i]):x} is {access} while a "
                        f"{operation.name} may still write it",
                        "let the thread that issued it wait by cp.async.bulk.wait_group, without "
                        ".read, and then tell the others",
                        int(lanes[i]),
                        operation.notes(),
                    )
                )
                return

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
        align = align or nbytes
        low, high = int(addresses.min()), int(addresses.max())
        one = low >> RANK_SHIFT
        start = (one << RANK_SHIFT) + SHARED_BASE
        if (
            start <= low
            and high + nbytes <= start + self.launch.shared_bytes
            and one < self.size
            and (one == w.cta.rank or not local_form)
            and not (align > 1 and int(np.bitwise_or.reduce(addresses)) & (align - 1))
        ):
            if one != w.cta.rank:
                self.check_peer(w, one, lanes.tolist())
                line = w.at.line if w.at is not None else 0
                self.ctas[one].touched_by(w.thread0 + lanes, line)
            moved: NDArray[np.intp] = (addresses - np.uint64(start - one * self.shared_bytes)).view(
                np.int64
            )
            return moved
        rank = addresses >> _RANK_SHIFT
        offset = (addresses & _OFFSET_MASK).astype(np.int64) - _BASE
        own = np.uint64(w.cta.rank)
        remote = rank != own
        bad = (offset < 0) | (offset > self.launch.shared_bytes - nbytes)
        if bad.any() or remote.any() or (align > 1 and (offset & (align - 1)).any()):
            self._check_addresses(w, lanes, addresses, rank, offset, nbytes, align, local_form)
        result: NDArray[np.intp] = rank.astype(np.int64) * self.shared_bytes + offset
        return result

    def _check_addresses(
        self,
        w: Warp,
        lanes: NDArray[np.intp],
        addresses: NDArray[np.uint64],
        ranks: Any,
        offsets: Any,
        nbytes: int,
        align: int,
        local_form: bool,
    ) -> None:
        line = w.at.line if w.at is not None else 0
        peers: dict[int, list[int]] = {}
        for i, lane in enumerate(lanes.tolist()):
            rank, offset = int(ranks[i]), int(offsets[i])
            before = (w.cta.shared_address(0) - int(addresses[i])) & 0xFFFFFFFF
            if rank != w.cta.rank and before <= _NEAR:
                raise Fault(
                    "address",
                    f"{nbytes} bytes lie {before} bytes before the CTA's shared memory",
                    "check the index, which may be negative",
                    lane,
                )
            if rank >= self.size:
                raise Fault(
                    "address",
                    f"there is no CTA rank {'above 254' if rank >= NO_RANK else rank} in a cluster "
                    f"of {self.size} (shared address 0x{int(addresses[i]):x})",
                    "check the rank given to mapa, and that the address is a shared one",
                    lane,
                )
            if rank != w.cta.rank and local_form:
                raise Fault(
                    "address",
                    f"a shared::cta instruction gets an address of CTA rank {rank}",
                    "use the shared::cluster form for a mapped address, or the local address",
                    lane,
                )
            if offset < 0 or offset + nbytes > self.launch.shared_bytes:
                raise Fault(
                    "address",
                    f"{nbytes} bytes at shared offset {offset} are outside of the CTA's "
                    f"{self.launch.shared_bytes} bytes",
                    "check the index and the shared memory given at launch",
                    lane,
                )
            if offset % align:
                raise Fault(
                    "address",
                    f"shared offset {offset} is not a multiple of {align}",
                    "align the buffer and the steps to the access",
                    lane,
                )
            if rank != w.cta.rank:
                peers.setdefault(rank, []).append(lane)
        for rank, some in peers.items():
            self.check_peer(w, rank, some)
            self.ctas[rank].touched_by(w.thread0 + np.array(some), line)

    def check_peer(self, w: Warp, rank: int, lanes: list[int]) -> None:
        """The peer must be known to have started, and not have ended."""
        cta = self.ctas[rank]
        bits = sum(1 << lane for lane in lanes)
        first = cta.first_thread()
        for some, clock in w.lane_clocks(bits):
            if not clock.rows[CAUSED, first : first + cta.warp_count * LANES].any():
                self.report(
                    Fault(
                        "not-started",
                        f"memory of CTA rank {rank} is used before that CTA is known to run",
                        advice.ENTER,
                        first_lane(some),
                    )
                )
        if cta.exited:
            self.report(
                Fault(
                    "early-exit",
                    f"memory of CTA rank {rank} is used after that CTA has exited",
                    advice.LEAVE,
                    lanes[0],
                )
            )

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
        rows = self.release(w, bits)
        if relaxed:
            rows[[SEEN, FENCED, VISIBLE, READ]] = 0
            if w.fences.wide is not None:
                rows = join_rows(rows, w.fences.wide.rows)
        self.barrier_rows = join_rows(self.barrier_rows, rows)
        self.barrier_of[threads] = self.barrier_generation
        self.barrier_arrived += bits.bit_count()
        self.cluster_barrier_settle()

    def cluster_barrier_settle(self) -> None:
        """Open the cluster barrier when all threads that have not exited are there."""
        if not self.barrier_arrived:
            return
        live = sum(cta.live_threads for cta in self.ctas)
        if self.barrier_arrived >= live + self._exited_arrivals():
            self.barrier_done = self.barrier_rows
            self.barrier_rows = None
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
