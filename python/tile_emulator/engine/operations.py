# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One asynchronous copy, from its issue until the phase that counts its bytes is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_emulator.errors import Fault
from tile_emulator.order.clock import CAUSED, FENCED, NARROW, ONLY_CAUSED, Clock

if TYPE_CHECKING:
    from tile_emulator.engine.groups import Groups
    from tile_emulator.instructions.reductions import Reduction
    from tile_emulator.machine.cluster import Cluster
    from tile_emulator.machine.cta import CTA
    from tile_emulator.machine.mbarrier import MBarrier
    from tile_emulator.ptx.module import Instruction

PIECE_BYTES = 16


class Operation:
    """A copy of `nbytes` bytes; where it completes is a barrier's phase or a group of a thread."""

    __slots__ = (
        "async_proxy",
        "at",
        "barrier",
        "clock",
        "cluster",
        "column",
        "epoch",
        "fenced",
        "groups",
        "issued",
        "landed",
        "line",
        "name",
        "nbytes",
        "number",
        "pieces",
        "reduction",
        "source",
        "source_cta",
        "target",
        "target_cta",
        "thread",
    )

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        thread: int,
        at: Instruction,
        source: Any,
        target: Any,
        *,
        async_proxy: bool,
        source_cta: CTA | None = None,
        target_cta: CTA | None = None,
        barrier: MBarrier | None = None,
        reduction: Reduction | None = None,
        clock: Clock,
    ) -> None:
        self.cluster = cluster
        self.number = len(cluster.operations)
        self.name = name
        self.async_proxy = async_proxy
        self.thread = thread
        self.at = at
        self.line = at.line
        self.nbytes = int(target.size)
        self.source = source
        self.target = target
        self.source_cta = source_cta
        self.target_cta = target_cta
        self.barrier = barrier
        self.reduction = reduction
        self.clock = clock
        self.issued = int(cluster.epoch[thread])
        self.fenced = int(cluster.fenced[thread])
        self.groups: Groups | None = None
        self.column: int | None = None
        self.epoch = 0
        self.pieces: list[tuple[int, int]] = []
        self.landed = 0
        cluster.operations.append(self)
        cluster.add_copy(async_proxy, 0 if reduction is None else reduction.width)

    def complete_at(self, column: int, epoch: int) -> None:
        """Say which epoch of which column is the completion."""
        self.column, self.epoch = column, epoch
        self.cluster.complete_copy(self.number, column, epoch)

    def known(self, clock: Clock, row: int) -> bool:
        """Tell whether a thread with this clock has observed the completion.

        That of a reduction is known with those of the others that it was combined with.
        """
        return self.cluster.is_known(self.number, clock, row)

    def follows(self, thread: int, epoch: int) -> bool:
        """Tell whether this copy always comes after what `thread` did at `epoch`."""
        known = self.issued if thread == self.thread else self.clock.get(CAUSED, thread)
        return known >= epoch

    def handed_over(self) -> Clock:
        """Return what the completion tells a waiter besides the bytes.

        That of `st.async` releases what its thread knew when it issued it; ordinary stores are not
        handed over by it. A bulk copy only comes after what its thread did before.
        """
        releases = not self.async_proxy and not self.cluster.launch.checks.strict
        rows = NARROW if releases else ONLY_CAUSED
        known = self.clock.kept(rows).with_epoch(self.thread, rows & ~(1 << FENCED), self.issued)
        return known.with_epoch(self.thread, rows & 1 << FENCED, self.fenced)

    def check_phase(self, clock: Clock) -> None:
        """The issuer must know that the phase before the one that counts the bytes is over."""
        barrier = self.barrier
        if barrier is not None and not barrier.knows_previous(clock, self.thread):
            self.cluster.report(self.too_early())

    def too_early(self) -> Fault:
        barrier = self.barrier
        assert barrier is not None
        return self.fault(
            "arrivals",
            f"{self.nbytes} bytes of a {self.name} fall into phase {barrier.phase} of "
            f"{barrier.name}, whose issuer has not observed that phase {barrier.phase - 1} is "
            "complete",
            "arm each phase with all the bytes that its copies bring, and issue copies of the next "
            "phase after an acknowledgement",
            barrier.history(),
        )

    def land(self, start: int, stop: int) -> bool:
        """Move the bytes [start, stop); returns whether the copy is now whole."""
        new = self.source[start:stop]
        if self.reduction is not None:
            new = self.reduction.combine(self.target[start:stop], new)
        self.target[start:stop] = new
        self.landed += stop - start
        if self.landed < self.nbytes:
            return False
        # Operations are kept; where the bytes of a box are takes more room than the bytes.
        self.source = self.target = None
        return True

    def finish(self) -> None:
        """Count the bytes, once all of them have landed."""
        barrier = self.barrier
        if barrier is not None:
            barrier.complete_bytes(self)
        elif self.groups is not None:
            self.cluster.scheduler.wake(self.groups)

    def fault(self, kind: str, message: str, advice: str, notes: tuple[str, ...] = ()) -> Fault:
        """Return a fault of the issuing thread."""
        return Fault(kind, message, advice, None, notes, self.thread, self.at)

    def notes(self) -> tuple[str, ...]:
        """Say where this copy comes from."""
        who = self.cluster.thread_name(self.thread)
        text = f"the {self.name} of {self.nbytes} bytes was issued by {who} at PTX line {self.line}"
        if self.barrier is not None:
            text += f" and signals {self.barrier.name}"
        return (text,)
