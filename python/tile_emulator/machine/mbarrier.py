# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mbarrier objects: phases, pending arrivals, the transaction count.

A wait is decided by what the waiting thread knows, not by the moment: it passes for a phase that
has completed, and a wait for the parity of a phase that the thread already knows to be complete
passes at once, even if the barrier has moved on since. So a wrong parity has the same outcome under
every schedule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator import _tile_emulator as core
from tile_emulator import advice
from tile_emulator.errors import Fault
from tile_emulator.machine.warp import Warp, first_lane, lanes_of, mask_of
from tile_emulator.order.clock import CAUSED, ONLY_CAUSED, SEEN_COMPLETE, Clock, joined

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation
    from tile_emulator.machine.cta import CTA

MAX_COUNT = (1 << 20) - 1
MAX_TX = (1 << 20) - 1
NOWHERE = np.zeros(0, dtype=np.intp)
_KEEP_UP = (
    "let those who complete a phase wait until all who wait for the one before have passed (an "
    "acknowledgement on a second barrier)"
)


class MBarrier(core.MBarrier):
    """One live mbarrier."""

    def __init__(
        self, cta: CTA, offset: int, count: int, column: int, base: int, thread: int, epoch: int
    ) -> None:
        super().__init__(cta.rank * cta.cluster.shared_bytes + offset, column, base, thread, epoch)
        self.cta = cta
        self.offset = offset
        self.count = count
        self.init_line = 0
        # The last phase in which each thread arrived, and for which it sent bytes.
        self.arrived: dict[int, int] = {}
        self.sent: dict[int, int] = {}
        self.sure_bytes = 0
        self.unsure: list[tuple[int, int, int]] = []
        self.waits: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.pending = count
        self.tx = 0
        self.expected = 0
        self.received = 0
        self.acquired: Clock | None = None
        self.acquired_cta: Clock | None = None
        self.split = cta.cluster.launch.checks.strict
        self.remote_bytes = False
        self.log: list[str] = []
        self.landed: list[Operation] = []
        self.on_the_way: list[Operation] = []

    @property
    def name(self) -> str:
        named = self.cta.cluster.launch.named(self.offset)
        return f"the mbarrier at shared offset {self.offset} of CTA rank {self.cta.rank}{named}"

    def epoch_after(self, phase: int) -> int:
        """Return the epoch of this barrier's column once `phase` is complete."""
        return self.base + phase + 1

    def knows_previous(self, clock: Clock, thread: int) -> bool:
        """Tell whether `thread` knows that the phase before the current one is complete."""
        return self.phase == 0 or self.known_phases(clock, thread) >= self.phase

    def waited(self, w: Warp, phase: int, bits: int) -> None:
        """Record that lanes have waited for `phase`, the one before this one if nobody ran ahead.

        Lanes that pass together count as one: each of them may tell the others' passing.
        """
        if phase < self.phase - 1:
            fault = Fault(
                "arrivals",
                f"a wait for phase {phase} of {self.name} comes when phase {phase + 1} may be "
                "complete too: on a GPU it then waits for the next phase of its parity",
                _KEEP_UP,
            )
            self.cta.cluster.defer(fault, w.at, w.thread0 + first_lane(bits), NOWHERE)
            return
        threads = w.thread0 + lanes_of(mask_of(bits))
        self.waits[w.thread0, bits] = (threads, self.cta.cluster.epoch[threads])

    def passed_at_once(self, thread: int) -> tuple[str, ...]:
        """Say that the last wait of `thread` returned at once, if it did."""
        last = self.last_at_once(thread)
        if last is None:
            return ()
        line, phase = last
        over = f"phase {phase}, which was over" if phase >= 0 else "the phase before the first"
        text = f"its wait at PTX line {line} returned at once: parity {phase & 1} is that of {over}"
        return (text,)

    def _check_waits(self, lane: int, operation: Operation | None) -> None:
        """Who waits for the phase before this one must have passed before this one completes."""
        cluster = self.cta.cluster
        for threads, epochs in self.waits.values():
            acquired = self.acquired
            if acquired is not None and (acquired.rows[CAUSED, threads] >= epochs).any():
                continue
            fault = Fault(
                "arrivals",
                f"phase {self.phase} of {self.name} completes although "
                f"{cluster.thread_name(int(threads[0]))} may still wait for phase "
                f"{self.phase - 1}: on a GPU it then waits for the next phase of its parity",
                _KEEP_UP,
            )
            current = cluster.scheduler.current
            if operation is not None:
                cluster.defer(fault, operation.at, operation.thread, NOWHERE)
            elif current is not None:
                cluster.defer(fault, current.warp.at, current.warp.thread0 + lane, NOWHERE)
        self.waits = {}

    def _check_expected(self, lane: int) -> None:
        """Bytes must be expected before the phase can complete without them."""
        for thread, epoch, _ in self.unsure:
            others = sum(o.nbytes for o in self.landed if not o.follows(thread, epoch))
            if others >= self.sure_bytes:
                name = self.cta.cluster.thread_name(thread)
                self.cta.cluster.report(
                    Fault(
                        "arrivals",
                        f"phase {self.phase} of {self.name} may complete before the "
                        "mbarrier.expect_tx "
                        f"of {name}: no arrival is ordered after it",
                        "expect the bytes before an arrival of the same phase, or with it "
                        "(mbarrier.arrive.expect_tx)",
                        lane,
                        self.history(),
                    )
                )
        self.sure_bytes, self.unsure = 0, []

    def expect(self, nbytes: int, lane: int, thread: int | None = None) -> None:
        """Raise the transaction count, by `thread` where it does not arrive with it."""
        if nbytes > MAX_TX or self.tx + nbytes > MAX_TX:
            raise Fault(
                "address",
                f"{self.name} would expect {self.tx + nbytes} bytes, the limit is {MAX_TX}",
                "split the transfer over several phases or barriers",
                lane,
                self.history(),
            )
        self.tx += nbytes
        self.expected += nbytes
        if thread is None:
            self.sure_bytes += nbytes
        else:
            self.unsure.append((thread, int(self.cta.cluster.epoch[thread]), nbytes))

    def arrive(
        self, count: int, given: Clock, given_cta: Clock, clock: Clock, thread: int, lane: int
    ) -> None:
        """Count an arrival of `thread`, which releases `given` (`given_cta` to CTA-scope waits)."""
        if not self.knows_previous(clock, thread):
            self.cta.cluster.report(
                Fault(
                    "arrivals",
                    f"an arrival falls into phase {self.phase} of {self.name}, but the thread has "
                    "not "
                    f"observed that phase {self.phase - 1} is complete",
                    "arrive once for each phase, after waiting for the one before",
                    lane,
                    self.history(),
                )
            )
        if count > self.pending:
            raise Fault(
                "arrivals",
                f"phase {self.phase} of {self.name} gets more than its {self.count} arrivals",
                "initialise the barrier with the number of arrivals, or let fewer arrive",
                lane,
                self.history(),
            )
        self.pending -= count
        self.arrived[thread] = self.phase
        if given_cta is not given and not self.split:
            self.acquired_cta, self.split = self.acquired, True
        self.acquired = joined(self.acquired, given)
        if self.split:
            self.acquired_cta = joined(self.acquired_cta, given_cta)
        for item in list(self.unsure):
            if given.get(CAUSED, item[0]) >= item[1]:
                self.unsure.remove(item)
                self.sure_bytes += item[2]
        if self.count <= 8:
            self.log.append(f"arrival of {self.cta.cluster.thread_name(thread)}")
        self.settle(lane)

    def _receive(self, nbytes: int) -> Fault | None:
        """Lower the transaction count; returns what is wrong where it falls too low."""
        self.tx -= nbytes
        self.received += nbytes
        self.add_bytes()
        if self.tx >= -MAX_TX:
            return None
        return Fault(
            "address",
            f"the transaction count of {self.name} falls below -{MAX_TX}",
            "split the transfer over several phases or barriers",
            notes=self.history(),
        )

    def complete(self, nbytes: int, given: Clock, lane: int) -> None:
        """Count bytes that a thread, which hands over `given`, says to have come."""
        fault = self._receive(nbytes)
        if fault is not None:
            fault.lane = lane
            raise fault
        self.acquired = joined(self.acquired, given)
        if self.split:
            self.acquired_cta = joined(self.acquired_cta, given)
        self.settle(lane)

    def complete_bytes(self, operation: Operation) -> None:
        """Count the bytes of a copy that has landed."""
        self.on_the_way.remove(operation)
        fault = self._receive(operation.nbytes)
        if fault is not None:
            fault.thread, fault.at = operation.thread, operation.at
            raise fault
        self.landed.append(operation)
        self.sent[operation.thread] = self.phase
        given = operation.handed_over()
        self.acquired = joined(self.acquired, given)
        if self.split:
            self.acquired_cta = joined(self.acquired_cta, given)
        if self.cta.cluster.locate(operation.thread)[0] is not self.cta:
            self.remote_bytes = True
        self.settle(operation.thread % 32, operation)

    def settle(self, lane: int, operation: Operation | None = None) -> None:
        """Complete the phase when nothing is missing."""
        if self.pending:
            return
        if self.tx < 0:
            fault = Fault(
                "arrivals",
                f"phase {self.phase} of {self.name} was armed with {self.expected} bytes and "
                f"received {self.received}",
                advice.BYTES,
                lane,
                self.history(),
            )
            if operation is not None:
                fault.thread, fault.at = operation.thread, operation.at
            raise fault
        if self.tx > 0:
            return
        self._check_waits(lane, operation)
        self._check_expected(lane)
        epoch = self.epoch_after(self.phase)
        cluster = self.cta.cluster
        nothing = cluster.first_clock
        clock = (self.acquired or nothing).with_epoch(self.column, SEEN_COMPLETE, epoch)
        clock_cta = clock
        if self.split:
            seen = not (self.remote_bytes and cluster.launch.checks.strict)
            rows = SEEN_COMPLETE if seen else ONLY_CAUSED
            clock_cta = (self.acquired_cta or nothing).with_epoch(self.column, rows, epoch)
        for landed in self.landed:
            landed.complete_at(self.column, epoch)
            landed.clock = cluster.first_clock
            cluster.landed(landed)
        self.complete_phase(clock, clock_cta)
        self.pending = self.count
        self.expected = self.received = 0
        self.acquired = self.acquired_cta = None
        self.split = self.cta.cluster.launch.checks.strict
        self.remote_bytes = False
        self.landed, self.log = [], []
        for late in self.on_the_way:
            if not self.knows_previous(late.clock, late.thread):
                self.cta.cluster.report(late.too_early())
        cluster.scheduler.wake(self)

    def history(self) -> tuple[str, ...]:
        """Say what this phase has got so far."""
        arrived = self.count - self.pending
        text = (
            f"{self.name}: phase {self.phase}, {arrived} of {self.count} arrivals, "
            f"{self.expected} bytes expected, {self.received} received"
        )
        notes = [text]
        if self.log:
            notes.append("so far: " + ", ".join(self.log[:4]))
        return tuple(notes)


def state_token(phase: int, pending: int) -> Any:
    """Encode what `mbarrier.arrive` returns: opaque to PTX, the phase to us."""
    return np.uint64((phase << 20) | (pending & MAX_COUNT))
