# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Say what is wrong when the core finds accesses that are not ordered.

The kind depends on who the two sides are, never on which of them came first in this run: two
ordinary accesses make a `race`, an ordinary access and a copy are `in-flight`, a missing proxy
fence between ordered ones is `proxy-fence`.

The core calls these functions by their names. A `place` is one of the cluster's shared bytes, a
`thread` one of the cluster, and a copy is known by its number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tile_emulator import advice
from tile_emulator.errors import Fault
from tile_emulator.machine.warp import LANES
from tile_emulator.order.clock import CAUSED, Clock

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation
    from tile_emulator.machine.cluster import Cluster

_WAIT_GROUP = (
    "execute cp.async.wait_group or wait_all before touching these bytes, and then a barrier where "
    "other threads touch them"
)
_NARROW = ", except by relaxed synchronisation or at too narrow a scope"
_OPAQUE = "belongs to a live mbarrier, whose bytes mean nothing, and is read by"
_APART = "keep data and barriers apart, and check the address and size"


def _wait_for(operation: Operation) -> str:
    return advice.WAIT if operation.barrier is not None else _WAIT_GROUP


def _free(operation: Operation) -> str:
    return operation.groups.free if operation.groups is not None else advice.FREE


def _at_once(operation: Operation, thread: int) -> tuple[str, ...]:
    """Say that the wait of a thread that should have been for a copy returned at once."""
    barrier = operation.barrier
    return () if barrier is None else barrier.passed_at_once(thread)


def _count(threads: int) -> int | str:
    """Say how many threads a barrier counts; all of them without a count, which is -1."""
    return threads if threads > 0 else "all"


class Conflicts:
    """Reports the faults of one cluster's shared memory."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def _place(self, place: int) -> str:
        cluster = self.cluster
        rank, offset = divmod(place, cluster.shared_bytes)
        return f"shared byte {offset} of CTA rank {rank}{cluster.launch.named(offset)}"

    def _thread(self, thread: int, line: int) -> str:
        text = self.cluster.thread_name(thread)
        return f"{text} at PTX line {line}" if line else text

    def _clock(self, thread: int) -> Clock:
        return self.cluster.warp_of(thread).clock_of(thread % LANES)

    def _copy(self, number: int) -> Operation:
        """Return the copy that a cell names as the writer."""
        return self.cluster.operations[-1 - number]

    def _report(
        self, kind: str, text: str, advised: str, thread: int, notes: tuple[str, ...] = ()
    ) -> None:
        self.cluster.report(Fault(kind, text, advised, thread % LANES, notes))

    # Ordinary accesses

    def read_of_unknown_write(self, thread: int, place: int) -> None:
        cell, clock = self.cluster.cell(place), self._clock(thread)
        if cell.writer < 0:
            copy = self._copy(cell.writer)
            narrow = copy.known(clock, CAUSED)
            self._report(
                "in-flight",
                f"{self._place(place)} is read before its {copy.name} was observed to complete"
                + (_NARROW if narrow else ""),
                advice.SCOPE if narrow else _wait_for(copy),
                thread,
                copy.notes() + _at_once(copy, thread),
            )
            return
        narrow = clock.get(CAUSED, cell.writer) >= cell.writer_epoch
        self._report(
            "race",
            f"{self._place(place)} is read, unordered with its write by "
            f"{self._thread(cell.writer, cell.writer_line)}" + (_NARROW if narrow else ""),
            advice.SCOPE if narrow else advice.SYNC,
            thread,
        )

    def read_of_barrier(self, thread: int, place: int) -> None:
        text = f"{self._place(place)} {_OPAQUE} a load"
        raise Fault("address", text, _APART, thread % LANES)

    def read_of_nothing(self, thread: int, nbytes: int, *places: int) -> None:
        """Loads of `nbytes` bytes at `places`, the first of them by `thread`."""
        number = self.cluster.cell(places[0]).writer
        copy = self._copy(number) if number < 0 else None
        fault = Fault(
            "uninitialised-read",
            f"{self._place(places[0])} is read although nothing has been written "
            + (f" to the source of its {copy.name}" if copy else "there"),
            "write the bytes first, or check the offset",
            thread % LANES,
            copy.notes() if copy else (),
        )
        where = (np.array(places)[:, None] + np.arange(nbytes)).ravel()
        self.cluster.defer(fault, self.cluster.warp_of(thread).at, thread, where)

    def write_after_unknown_write(self, thread: int, place: int) -> None:
        cell = self.cluster.cell(place)
        if cell.writer < 0:
            copy = self._copy(cell.writer)
            self._report(
                "in-flight",
                f"{self._place(place)} is written, unordered with the {copy.name} that writes it "
                "too",
                _wait_for(copy),
                thread,
                copy.notes(),
            )
            return
        self._report(
            "race",
            f"{self._place(place)} is written, unordered with a write by "
            f"{self._thread(cell.writer, cell.writer_line)}",
            advice.SYNC,
            thread,
        )

    def write_after_unknown_read(self, thread: int, place: int) -> None:
        cell = self.cluster.cell(place)
        reader = cell.reader
        if reader < 0:
            reader = self.cluster.unknown_reader(-1 - reader, self._clock(thread), thread)
        self._report(
            "race",
            f"{self._place(place)} is written, unordered with its read by "
            f"{self._thread(reader, cell.reader_line)}",
            advice.SYNC,
            thread,
        )

    def write_under_copy(self, thread: int, place: int, number: int, caused: int) -> None:
        copy = self.cluster.operations[number]
        self._report(
            "in-flight",
            f"{self._place(place)} is overwritten while a {copy.name} may still read it",
            advice.SCOPE if caused else _free(copy),
            thread,
            copy.notes(),
        )

    def same_instruction(self, thread: int, lane: int, place: int) -> None:
        """Two lanes of one instruction write different values."""
        self._report(
            "race",
            f"{self._place(place)} is written with different values by lanes {lane} and "
            f"{thread % LANES} of one instruction",
            "give each thread its own bytes, or let one thread write",
            thread,
        )

    def write_on_barrier(self, thread: int, place: int) -> None:
        cluster = self.cluster
        rank, offset = divmod(place, cluster.shared_bytes)
        barrier = cluster.ctas[rank].mbarriers.get(offset & ~7)
        if (
            barrier is not None
            and barrier.init_thread != thread
            and self._clock(thread).get(CAUSED, barrier.init_thread) < barrier.init_epoch
        ):
            self._report(
                "race",
                f"{self._place(place)} is written, unordered with the mbarrier.init there by "
                f"{self._thread(barrier.init_thread, barrier.init_line)}",
                advice.SYNC,
                thread,
            )
            return
        raise Fault(
            "address",
            f"{self._place(place)} belongs to a live mbarrier and is overwritten by an ordinary "
            "store",
            "keep data and barriers apart, or execute mbarrier.inval first",
            thread % LANES,
        )

    def settle_deferred(self, nbytes: int, *places: int) -> None:
        """Turn a read of bytes that nobody had written into a conflict with who writes them now."""
        for deferred in self.cluster.deferred:
            after = deferred.where[:, None] - np.array(places)
            if ((after >= 0) & (after < nbytes)).any():
                deferred.written_later = True

    def value_of_absent_lane(self, thread: int, lane: int, bits: int) -> None:
        at = self.cluster.warp_of(thread).at
        raise Fault(
            "divergence",
            f"{at.opcode if at else 'it'} reads the register of lane {lane}, which does not take "
            f"part: lanes 0x{bits:08x} do",
            "give a mask that contains the lane that is read, or a width that keeps lanes inside "
            "of the mask",
            thread % LANES,
        )

    # Barriers of CTAs

    def no_cta_barrier(self, thread: int, number: int) -> None:
        message = f"CTA barrier {number} does not exist"
        raise Fault("address", message, "use 0 to 15", thread % LANES)

    def barrier_counts_differ(self, thread: int, expected: int, before: int) -> None:
        raise Fault(
            "arrivals",
            f"a CTA barrier is used with {_count(expected)} threads while it waits for "
            f"{_count(before)}",
            "give the same count at every use of one barrier",
            thread % LANES,
        )

    def barrier_counts_badly(self, thread: int, expected: int, everyone: int) -> None:
        raise Fault(
            "arrivals",
            f"a CTA barrier counts {expected} threads of a CTA with {everyone}",
            "give a multiple of 32 of at most the CTA's threads",
            thread % LANES,
        )

    def barrier_arrives_twice(self, thread: int) -> None:
        raise Fault(
            "arrivals",
            "a thread arrives twice at one phase of a CTA barrier",
            "wait for the barrier before arriving again",
            thread % LANES,
        )

    def barrier_overflows(self, thread: int, arrived: int, expected: int) -> None:
        raise Fault(
            "arrivals",
            f"{arrived} threads arrive at a CTA barrier for {expected}",
            "let exactly the counted threads use the barrier, or take another number",
            thread % LANES,
        )

    # mbarriers

    def no_barrier(self, thread: int, place: int) -> None:
        rank, offset = divmod(place, self.cluster.shared_bytes)
        raise Fault(
            "uninitialised-barrier",
            f"there is no initialised mbarrier at shared offset {offset} of CTA rank {rank}"
            + self.cluster.launch.named(offset),
            "execute mbarrier.init there, make it visible, and check the address",
            thread % LANES,
        )

    def barrier_before_init(self, thread: int, place: int) -> None:
        rank, offset = divmod(place, self.cluster.shared_bytes)
        barrier = self.cluster.ctas[rank].mbarriers[offset]
        name = self.cluster.thread_name(barrier.init_thread)
        self._report(
            "uninitialised-barrier",
            f"{barrier.name} is used before its mbarrier.init by {name} at PTX line "
            f"{barrier.init_line} is visible",
            "put a barrier between the init and the first use; for another CTA a cluster barrier "
            "(with arrive.relaxed also fence.mbarrier_init)",
            thread,
        )

    # Copies

    def copy_of_unknown_write(self, number: int, place: int) -> None:
        copy, cell = self.cluster.operations[number], self.cluster.cell(place)
        if cell.writer < 0:
            before = self._copy(cell.writer)
            self.cluster.report(
                copy.fault(
                    "in-flight",
                    f"{self._place(place)} is read by a {copy.name} before the {before.name} that "
                    "writes it was observed to complete",
                    advice.WAIT_FIRST,
                    before.notes() + _at_once(before, copy.thread),
                )
            )
            return
        narrow = copy.clock.get(CAUSED, cell.writer) >= cell.writer_epoch
        self.cluster.report(
            copy.fault(
                "in-flight",
                f"{self._place(place)} is read by a {copy.name}, unordered with its write by "
                f"{self._thread(cell.writer, cell.writer_line)}" + (_NARROW if narrow else ""),
                advice.SCOPE
                if narrow
                else "put a barrier between the writes of the source and the copy",
            )
        )

    def copy_of_barrier(self, number: int, place: int) -> None:
        copy = self.cluster.operations[number]
        raise copy.fault("address", f"{self._place(place)} {_OPAQUE} a {copy.name}", _APART)

    def copy_of_nothing(self, number: int, start: int, stop: int) -> None:
        copy = self.cluster.operations[number]
        fault = copy.fault(
            "uninitialised-read",
            f"{self._place(start)} is copied although nothing has been written there",
            "write the source first, or check its offset and size",
        )
        self.cluster.defer(fault, copy.at, copy.thread, np.arange(start, stop))

    def reduction_of_nothing(self, number: int, *places: int) -> None:
        copy = self.cluster.operations[number]
        fault = copy.fault(
            "uninitialised-read",
            f"{self._place(places[0])} is combined by a {copy.name} although nothing has been "
            "written there",
            "write what the reduction starts with, and fence it for the async proxy",
        )
        self.cluster.defer(fault, copy.at, copy.thread, np.array(places))

    def unfenced(self, number: int, place: int, reads: int) -> None:
        copy, cell = self.cluster.operations[number], self.cluster.cell(place)
        who = (
            self._thread(cell.writer, cell.writer_line)
            if cell.writer >= 0
            else f"a {self._copy(cell.writer).name}"
        )
        does = "read" if reads else "overwritten"
        self.cluster.report(
            copy.fault(
                "proxy-fence",
                f"{self._place(place)}, written by {who}, is {does} by a {copy.name} without a "
                "proxy fence in between",
                advice.FENCE,
            )
        )

    def copy_over_copy(self, number: int, place: int, other: int) -> None:
        self.cluster.report(
            self.cluster.operations[number].fault(
                "in-flight",
                f"{self._place(place)} is written by two copies that are not ordered",
                "let one thread issue each copy, and wait for the first before the next",
                self.cluster.operations[other].notes(),
            )
        )

    def copy_over_source(self, number: int, place: int, other: int) -> None:
        copy, before = self.cluster.operations[number], self.cluster.operations[other]
        self.cluster.report(
            copy.fault(
                "in-flight",
                f"{self._place(place)} is overwritten by a {copy.name} while a {before.name} may "
                "still read it",
                _free(before),
                before.notes(),
            )
        )

    def copy_over_barrier(self, number: int, place: int) -> None:
        copy = self.cluster.operations[number]
        raise copy.fault(
            "address",
            f"{self._place(place)} belongs to a live mbarrier and is overwritten by a {copy.name}",
            "keep data and barriers apart, and check the destination and size",
        )

    def copy_over_unknown_write(self, number: int, place: int) -> None:
        copy, cell = self.cluster.operations[number], self.cluster.cell(place)
        self.cluster.report(
            copy.fault(
                "in-flight",
                f"{self._place(place)} is overwritten by a {copy.name}, unordered with its write "
                f"by {self._thread(cell.writer, cell.writer_line)}",
                "put a barrier between the write and the copy",
            )
        )

    def copy_over_unknown_read(self, number: int, place: int, reader: int) -> None:
        copy, cell = self.cluster.operations[number], self.cluster.cell(place)
        self.cluster.report(
            copy.fault(
                "in-flight",
                f"{self._place(place)} is read by {self._thread(reader, cell.reader_line)}, "
                f"unordered with the {copy.name} that writes it",
                advice.ACKNOWLEDGE,
                _at_once(copy, reader),
            )
        )

    def copy_over_unfenced_read(self, number: int, place: int) -> None:
        copy, cell = self.cluster.operations[number], self.cluster.cell(place)
        self.cluster.report(
            copy.fault(
                "proxy-fence",
                f"{self._place(place)}, read at PTX line {cell.reader_line}, is overwritten by a "
                f"{copy.name} without a proxy fence in between",
                advice.FENCE,
            )
        )
