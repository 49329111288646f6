# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Say what is wrong when the shadow finds accesses that are not ordered.

The kind depends on who the two sides are, never on which of them came first in this run: two
ordinary accesses make a `race`, an ordinary access and a copy are `in-flight`, a missing proxy
fence between ordered ones is `proxy-fence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator import advice
from tile_emulator.errors import Fault
from tile_emulator.machine.fences import STRONG_WIDE, WEAK
from tile_emulator.order.clock import CAUSED, FENCED, READ, SEEN, Clock

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation
    from tile_emulator.machine.warp import Warp
    from tile_emulator.order.shadow import Shadow

Bytes = NDArray[np.bool_]
_WAIT_GROUP = (
    "execute cp.async.wait_group or wait_all before touching these bytes, and then a barrier where "
    "other threads touch them"
)
_NARROW = ", except by relaxed synchronisation or at too narrow a scope"
_OPAQUE = "belongs to a live mbarrier, whose bytes mean nothing, and is read by"
_APART = "keep data and barriers apart, and check the address and size"
_FREE_GROUP = "execute cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 before"


def _at(index: Any, position: int) -> int:
    return index.start + position if type(index) is slice else int(index[position])


def _wait_for(operation: Operation) -> str:
    return advice.WAIT if operation.barrier is not None else _WAIT_GROUP


def _free(operation: Operation) -> str:
    return advice.FREE if operation.barrier is not None else _FREE_GROUP


def _at_once(operation: Operation, thread: int) -> tuple[str, ...]:
    """Say that the wait of a thread that should have been for a copy returned at once."""
    barrier = operation.barrier
    return () if barrier is None else barrier.passed_at_once(thread)


class Conflicts:
    """Reports the faults of one `Shadow`."""

    def __init__(self, shadow: Shadow) -> None:
        self.shadow = shadow

    def _place(self, flat: int) -> str:
        cluster = self.shadow.cluster
        rank, offset = divmod(flat, cluster.shared_bytes)
        return f"shared byte {offset} of CTA rank {rank}{cluster.launch.named(offset)}"

    def _thread(self, thread: int, line: int) -> str:
        text = self.shadow.cluster.thread_name(thread)
        return f"{text} at PTX line {line}" if line else text

    def _first(self, bad: Bytes, index: Any, threads: Any, w: Warp) -> tuple[int, int, int]:
        position = int(np.argmax(bad))
        flat = _at(index, position)
        return position, flat, int(threads[position]) - w.thread0

    def _copy(self, number: int) -> Operation:
        return self.shadow.cluster.operations[-1 - number]

    # Ordinary accesses

    def _morally_strong(self, theirs: Any, who: Any, threads: Any, mine: int) -> Bytes:
        """Tell which strong accesses of others do not race with one of strength `mine`."""
        strong: Bytes = theirs == STRONG_WIDE
        if mine == STRONG_WIDE and strong.all():
            return strong
        near = (theirs > WEAK) & (self._cta_of(who) == self._cta_of(threads))
        allowed: Bytes = near | (strong & (mine == STRONG_WIDE))
        return allowed

    def _cta_of(self, threads: Any) -> Any:
        cluster = self.shadow.cluster
        return threads // (cluster.thread_count // cluster.size)

    def _one_of_each_set(self, reader: Any) -> Any:
        """Replace sets of readers by a member, or by nobody where they are of several CTAs."""
        result = reader.copy()
        for number in np.unique(reader[reader < 0]).tolist():
            members = list(self.shadow.sets[-1 - number])
            alike = len({self._cta_of(thread) for thread in members}) == 1
            result[reader == number] = members[0] if alike else -1
        return result

    def read_of_unknown_write(
        self, w: Warp, index: Any, threads: Any, known: Bytes, strong: int
    ) -> None:
        shadow = self.shadow
        writer = shadow.writer[index]
        bad = ~known
        if strong:
            bad = bad & ~self._morally_strong(shadow.writer_strong[index], writer, threads, strong)
        if not bad.any():
            return
        position, flat, lane = self._first(bad, index, threads, w)
        number = int(writer[position])
        if number < 0:
            operation = shadow.cluster.operations[-1 - number]
            narrow = operation.known(w.lane_clocks(1 << lane)[0][1], CAUSED)
            self.shadow.cluster.report(
                Fault(
                    "in-flight",
                    f"{self._place(flat)} is read before its {operation.name} was observed to "
                    "complete" + (_NARROW if narrow else ""),
                    advice.SCOPE if narrow else _wait_for(operation),
                    lane,
                    operation.notes() + _at_once(operation, w.thread0 + lane),
                )
            )
            return
        line = int(shadow.writer_line[flat])
        clock = w.lane_clocks(1 << lane)[0][1]
        narrow = clock.get(CAUSED, number) >= int(shadow.writer_epoch[flat])
        self.shadow.cluster.report(
            Fault(
                "race",
                f"{self._place(flat)} is read, unordered with its write by "
                f"{self._thread(number, line)}" + (_NARROW if narrow else ""),
                advice.SCOPE if narrow else advice.SYNC,
                lane,
            )
        )

    def read_of_nothing(self, w: Warp, index: Any, threads: Any, nbytes: int) -> None:
        """A load of `nbytes` bytes by each lane; a structure's padding may be among them."""
        shadow = self.shadow
        if shadow.barrier[index].any():
            _, flat, lane = self._first(shadow.barrier[index], index, threads, w)
            raise Fault("address", f"{self._place(flat)} {_OPAQUE} a load", _APART, lane)
        nothing = ~shadow.written[index].reshape(-1, nbytes).any(axis=1)
        if not nothing.any():
            return
        bad = np.repeat(nothing, nbytes)
        _position, flat, lane = self._first(bad, index, threads, w)
        number = int(shadow.writer[flat])
        copied = "" if number >= 0 else f" to the source of its {self._copy(number).name}"
        fault = Fault(
            "uninitialised-read",
            f"{self._place(flat)} is read although nothing has been written " + (copied or "there"),
            "write the bytes first, or check the offset",
            lane,
            () if number >= 0 else self._copy(number).notes(),
        )
        where = np.arange(index.start, index.stop) if type(index) is slice else index
        shadow.cluster.defer(fault, w.at, w.thread0 + lane, where[bad])

    def write_after_unknown_write(
        self, w: Warp, index: Any, threads: Any, known: Bytes, strong: int, values: Any
    ) -> None:
        shadow = self.shadow
        writer = shadow.writer[index]
        bad = ~known
        if strong:
            bad = bad & ~self._morally_strong(shadow.writer_strong[index], writer, threads, strong)
        if not shadow.cluster.launch.checks.strict:
            same = shadow.cluster.shared[index] == values.ravel()
            bad = bad & ~(same & (writer >= 0) & shadow.written[index])
        if not bad.any():
            return
        position, flat, lane = self._first(bad, index, threads, w)
        number = int(writer[position])
        if number < 0:
            operation = shadow.cluster.operations[-1 - number]
            self.shadow.cluster.report(
                Fault(
                    "in-flight",
                    f"{self._place(flat)} is written, unordered with the {operation.name} that "
                    "writes "
                    "it too",
                    _wait_for(operation),
                    lane,
                    operation.notes(),
                )
            )
            return
        line = int(shadow.writer_line[flat])
        self.shadow.cluster.report(
            Fault(
                "race",
                f"{self._place(flat)} is written, unordered with a write by "
                f"{self._thread(number, line)}",
                advice.SYNC,
                lane,
            )
        )

    def write_after_unknown_read(
        self,
        w: Warp,
        clock: Clock,
        index: Any,
        threads: Any,
        reader: Any,
        known: Bytes,
        strong: int,
    ) -> None:
        shadow = self.shadow
        bad = ~known & (reader >= 0)
        for number in np.unique(reader[reader < 0]).tolist():
            here = reader == number
            for thread in self._unknown_members(clock, number):
                bad |= here & (threads != thread)
        if strong:
            bad = bad & ~self._morally_strong(
                shadow.reader_strong[index], self._one_of_each_set(reader), threads, strong
            )
        if not bad.any():
            return
        position, flat, lane = self._first(bad, index, threads, w)
        number = int(reader[position])
        if number < 0:
            mine = int(threads[position])
            number = next(t for t in self._unknown_members(clock, number) if t != mine)
        line = int(shadow.reader_line[flat])
        self.shadow.cluster.report(
            Fault(
                "race",
                f"{self._place(flat)} is written, unordered with its read by "
                f"{self._thread(number, line)}",
                advice.SYNC,
                lane,
            )
        )

    def _unknown_members(self, clock: Clock, number: int) -> list[int]:
        members = self.shadow.sets[-1 - number]
        over = clock.rows[READ]
        return [thread for thread, epoch in members.items() if int(over[thread]) < epoch]

    def write_under_copy(self, w: Warp, clock: Clock, index: Any, threads: Any) -> None:
        shadow = self.shadow
        readers = shadow.copy_reader[index]
        for number in np.unique(readers[readers >= 0]).tolist():
            for member in shadow.copies_of(number):
                operation = shadow.cluster.operations[member]
                if operation.known(clock, SEEN):
                    continue
                _, flat, lane = self._first(readers == number, index, threads, w)
                self.shadow.cluster.report(
                    Fault(
                        "in-flight",
                        f"{self._place(flat)} is overwritten while a {operation.name} may still "
                        "read it",
                        advice.SCOPE if operation.known(clock, CAUSED) else _free(operation),
                        lane,
                        operation.notes(),
                    )
                )
                return

    def same_instruction(self, lanes: Any, flat: Any, values: Any) -> None:
        seen: dict[int, int] = {}
        for i, start in enumerate(flat.tolist()):
            other = seen.setdefault(start, i)
            if other != i and not np.array_equal(values[other], values[i]):
                self.shadow.cluster.report(
                    Fault(
                        "race",
                        f"{self._place(start)} is written with different values by lanes "
                        f"{lanes[other]} and {lanes[i]} of one instruction",
                        "give each thread its own bytes, or let one thread write",
                        int(lanes[i]),
                    )
                )
                return

    def write_on_barrier(self, w: Warp, index: Any, threads: Any) -> None:
        cluster = self.shadow.cluster
        _, flat, lane = self._first(self.shadow.barrier[index], index, threads, w)
        rank, offset = divmod(flat, cluster.shared_bytes)
        barrier = cluster.ctas[rank].mbarriers.get(offset & ~7)
        clock = w.lane_clocks(1 << lane)[0][1]
        if (
            barrier is not None
            and barrier.init_thread != w.thread0 + lane
            and clock.get(CAUSED, barrier.init_thread) < barrier.init_epoch
        ):
            self.shadow.cluster.report(
                Fault(
                    "race",
                    f"{self._place(flat)} is written, unordered with the mbarrier.init there by "
                    f"{self._thread(barrier.init_thread, barrier.init_line)}",
                    advice.SYNC,
                    lane,
                )
            )
            return
        raise Fault(
            "address",
            f"{self._place(flat)} belongs to a live mbarrier and is overwritten by an ordinary "
            "store",
            "keep data and barriers apart, or execute mbarrier.inval first",
            lane,
        )

    # Copies

    def copy_of_unknown_write(self, operation: Operation, index: slice, known: Bytes) -> None:
        position = int(np.argmax(~known))
        flat = index.start + position
        number = int(self.shadow.writer[flat])
        if number < 0:
            before = self.shadow.cluster.operations[-1 - number]
            self.shadow.cluster.report(
                operation.fault(
                    "in-flight",
                    f"{self._place(flat)} is read by a {operation.name} before the {before.name} "
                    "that "
                    "writes it was observed to complete",
                    advice.WAIT_FIRST,
                    before.notes() + _at_once(before, operation.thread),
                )
            )
            return
        line = int(self.shadow.writer_line[flat])
        narrow = operation.clock.get(CAUSED, number) >= int(self.shadow.writer_epoch[flat])
        self.shadow.cluster.report(
            operation.fault(
                "in-flight",
                f"{self._place(flat)} is read by a {operation.name}, unordered with its write by "
                f"{self._thread(number, line)}" + (_NARROW if narrow else ""),
                advice.SCOPE
                if narrow
                else "put a barrier between the writes of the source and the copy",
            )
        )

    def copy_of_barrier(self, operation: Operation, index: slice) -> None:
        flat = index.start + int(np.argmax(self.shadow.barrier[index]))
        text = f"{self._place(flat)} {_OPAQUE} a {operation.name}"
        raise operation.fault("address", text, _APART)

    def copy_of_nothing(self, operation: Operation, index: slice) -> None:
        fault = operation.fault(
            "uninitialised-read",
            f"{self._place(index.start)} is copied although nothing has been written there",
            "write the source first, or check its offset and size",
        )
        where = np.arange(index.start, index.stop)
        self.shadow.cluster.defer(fault, operation.at, operation.thread, where)

    def reduction_of_nothing(self, operation: Operation, index: slice) -> None:
        where = index.start + np.flatnonzero(~self.shadow.written[index])
        fault = operation.fault(
            "uninitialised-read",
            f"{self._place(int(where[0]))} is combined by a {operation.name} although nothing has "
            "been written there",
            "write what the reduction starts with, and fence it for the async proxy",
        )
        self.shadow.cluster.defer(fault, operation.at, operation.thread, where)

    def unfenced(self, operation: Operation, index: slice, fenced: Bytes, reads: bool) -> None:
        flat = index.start + int(np.argmax(~fenced))
        number = int(self.shadow.writer[flat])
        line = int(self.shadow.writer_line[flat])
        who = (
            self._thread(number, line)
            if number >= 0
            else f"a {self.shadow.cluster.operations[-1 - number].name}"
        )
        does = "read" if reads else "overwritten"
        self.shadow.cluster.report(
            operation.fault(
                "proxy-fence",
                f"{self._place(flat)}, written by {who}, is {does} by a {operation.name} without a "
                "proxy fence in between",
                advice.FENCE,
            )
        )

    def copy_over_copies(self, operation: Operation, clock: Clock, index: slice) -> None:
        shadow = self.shadow
        writer = shadow.writer[index]
        if int(writer.min()) < 0:
            for number in np.unique(writer[writer < 0]).tolist():
                before = shadow.cluster.operations[-1 - number]
                if before not in operation.joined and not before.known(clock, SEEN):
                    flat = index.start + int(np.argmax(writer == number))
                    self.shadow.cluster.report(
                        operation.fault(
                            "in-flight",
                            f"{self._place(flat)} is written by two copies that are not ordered",
                            "let one thread issue each copy, and wait for the first before the "
                            "next",
                            before.notes(),
                        )
                    )
                    return
        readers = shadow.copy_reader[index]
        for number in np.unique(readers[readers >= 0]).tolist():
            for member in shadow.copies_of(number):
                before = shadow.cluster.operations[member]
                if not before.known(clock, SEEN):
                    flat = index.start + int(np.argmax(readers == number))
                    self.shadow.cluster.report(
                        operation.fault(
                            "in-flight",
                            f"{self._place(flat)} is overwritten by a {operation.name} while a "
                            f"{before.name} may still read it",
                            _free(before),
                            before.notes(),
                        )
                    )
                    return

    def copy_over_barrier(self, operation: Operation, index: slice) -> None:
        flat = index.start + int(np.argmax(self.shadow.barrier[index]))
        raise operation.fault(
            "address",
            f"{self._place(flat)} belongs to a live mbarrier and is overwritten by a "
            f"{operation.name}",
            "keep data and barriers apart, and check the destination and size",
        )

    def copy_over_unknown_write(self, operation: Operation, index: slice, known: Bytes) -> None:
        flat = index.start + int(np.argmax(~known))
        number = int(self.shadow.writer[flat])
        line = int(self.shadow.writer_line[flat])
        self.shadow.cluster.report(
            operation.fault(
                "in-flight",
                f"{self._place(flat)} is overwritten by a {operation.name}, unordered with its "
                "write "
                f"by {self._thread(number, line)}",
                "put a barrier between the write and the copy",
            )
        )

    def copy_over_unknown_read(
        self,
        operation: Operation,
        clock: Clock,
        thread: int,
        index: slice,
        reader: Any,
        known: Bytes,
    ) -> None:
        bad = ~known & (reader >= 0)
        culprit = -1
        for number in np.unique(reader[reader < 0]).tolist():
            members = [t for t in self._unknown_members(clock, number) if t != thread]
            if members:
                bad |= reader == number
                culprit = members[0]
        if not bad.any():
            return
        position = int(np.argmax(bad))
        flat = index.start + position
        number = int(reader[position])
        line = int(self.shadow.reader_line[flat])
        who = number if number >= 0 else culprit
        self.shadow.cluster.report(
            operation.fault(
                "in-flight",
                f"{self._place(flat)} is read by {self._thread(who, line)}, unordered with the "
                f"{operation.name} that writes it",
                advice.ACKNOWLEDGE,
                _at_once(operation, who),
            )
        )

    def strict_reads_before_copy(
        self, operation: Operation, clock: Clock, thread: int, index: slice, reader: Any
    ) -> None:
        shadow = self.shadow
        fenced = clock.rows[FENCED].take(reader, mode="clip") >= shadow.reader_epoch[index]
        own = reader == thread
        fenced |= own & (shadow.reader_epoch[index] <= shadow.cluster.fenced[thread])
        fenced |= reader < 0
        for number in np.unique(reader[reader < 0]).tolist():
            for member, epoch in shadow.sets[-1 - number].items():
                row = clock.rows[FENCED]
                own_fence = member == thread and epoch <= int(shadow.cluster.fenced[thread])
                if int(row[member]) < epoch and not own_fence:
                    fenced &= reader != number
        if not fenced.all():
            flat = index.start + int(np.argmax(~fenced))
            line = int(shadow.reader_line[flat])
            self.shadow.cluster.report(
                operation.fault(
                    "proxy-fence",
                    f"{self._place(flat)}, read at PTX line {line}, is overwritten by a "
                    f"{operation.name} without a proxy fence in between",
                    advice.FENCE,
                )
            )

    def settle_deferred(self, index: Any) -> None:
        """Turn a read of bytes that nobody had written into a conflict with who writes them now."""
        cluster = self.shadow.cluster
        for deferred in cluster.deferred:
            where = deferred.where
            if type(index) is slice:
                hit = bool(((where >= index.start) & (where < index.stop)).any())
            else:
                hit = bool(np.isin(where, index).any())
            if hit:
                deferred.written_later = True
