# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of each byte of a cluster's shared memory: who wrote it, who has read it since.

Bytes of all CTAs of the cluster lie in one flat range. A writer or reader is a thread at an
epoch; an asynchronous copy is a writer or reader too, known by its number. Nothing here looks at
the time at which things happened: only at clocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator.order.clock import FENCED, READ, SEEN, VISIBLE, Clock
from tile_emulator.order.conflicts import Conflicts

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation
    from tile_emulator.machine.cluster import Cluster
    from tile_emulator.machine.warp import Warp

NO_COPY = -1
Index = Any
_COLUMNS = {n: np.arange(n) for n in (1, 2, 4, 8, 16, 32)}


def known_epochs(clock: Clock, row: int, threads: Any) -> Any:
    """Return what the clock knows of each thread; entries that are no threads give anything."""
    return clock.rows[row].take(threads, mode="clip")


class Shadow:
    """Epochs of writers and readers of `nbytes` bytes."""

    def __init__(self, cluster: Cluster, nbytes: int) -> None:
        self.cluster = cluster
        self.nobody = cluster.thread_count
        self.writer = np.full(nbytes, self.nobody, dtype=np.int32)
        self.writer_epoch = np.zeros(nbytes, dtype=np.uint32)
        self.writer_line = np.zeros(nbytes, dtype=np.int32)
        self.writer_strong = np.zeros(nbytes, dtype=np.uint8)
        self.written = np.zeros(nbytes, dtype=np.bool_)
        self.reader = np.full(nbytes, self.nobody, dtype=np.int32)
        self.reader_epoch = np.zeros(nbytes, dtype=np.uint32)
        self.reader_line = np.zeros(nbytes, dtype=np.int32)
        self.reader_strong = np.zeros(nbytes, dtype=np.uint8)
        self.copy_reader = np.full(nbytes, NO_COPY, dtype=np.int32)
        self.barrier = np.zeros(nbytes, dtype=np.bool_)
        self.sets: list[dict[int, int]] = []
        self._set_index: dict[tuple[tuple[int, int], ...], int] = {}
        self._grown: dict[tuple[int, int, tuple[int, ...], int], int] = {}
        self.copy_sets: list[tuple[int, ...]] = []
        self.conflicts = Conflicts(self)

    def _select(self, w: Warp, lanes: NDArray[np.intp], flat: NDArray[np.intp], n: int) -> Any:
        """Return the bytes of the lanes' accesses and the thread of each byte."""
        count = len(flat)
        key = (count << 8) | n
        threads = w.keep.get(key) if count == 32 else None
        if threads is None:
            threads = np.repeat(w.threads[lanes], n)
            if count == 32:
                w.keep[key] = threads
        first = int(flat[0])
        if count == 1 or (
            int(flat[-1]) - first == (count - 1) * n and bool((flat[1:] - flat[:-1] == n).all())
        ):
            return slice(first, first + count * n), threads
        columns = _COLUMNS.get(n)
        if columns is None:
            columns = np.arange(n)
        return (flat[:, None] + columns).ravel(), threads

    def read(
        self, w: Warp, lanes: NDArray[np.intp], flat: NDArray[np.intp], n: int, strong: int
    ) -> None:
        """Check and record that lane `lanes[i]` reads `n` bytes at `flat[i]`."""
        if len(w.groups) > 1:
            for part, clock in self._by_clock(w, lanes):
                self._read(w, clock, lanes[part], flat[part], n, strong)
        else:
            self._read(w, w.groups[0][1], lanes, flat, n, strong)

    def write(
        self,
        w: Warp,
        lanes: NDArray[np.intp],
        flat: NDArray[np.intp],
        n: int,
        values: NDArray[np.uint8],
        strong: int,
    ) -> None:
        """Check and record a write of `values`, of shape (lanes, n)."""
        if len(w.groups) > 1:
            for part, clock in self._by_clock(w, lanes):
                self._write(w, clock, lanes[part], flat[part], n, values[part], strong)
        else:
            self._write(w, w.groups[0][1], lanes, flat, n, values, strong)

    def _by_clock(self, w: Warp, lanes: NDArray[np.intp]) -> list[tuple[Any, Clock]]:
        parts = []
        for bits, clock in w.groups:
            part = (np.uint64(bits) >> lanes.astype(np.uint64)) & np.uint64(1) != 0
            if part.any():
                parts.append((part, clock))
        return parts

    def _known_writes(
        self, clock: Clock, index: Index, threads: Any, row: int = SEEN
    ) -> NDArray[np.bool_]:
        writer = self.writer[index]
        known: NDArray[np.bool_] = known_epochs(clock, row, writer) >= self.writer_epoch[index]
        known |= writer == threads
        if int(writer.min()) < 0:
            for number in np.unique(writer[writer < 0]).tolist():
                operation = self.cluster.operations[-1 - number]
                known[writer == number] = operation.known(clock, SEEN)
        return known

    def _read(
        self,
        w: Warp,
        clock: Clock,
        lanes: NDArray[np.intp],
        flat: NDArray[np.intp],
        n: int,
        strong: int,
    ) -> None:
        index, threads = self._select(w, lanes, flat, n)
        known = self._known_writes(clock, index, threads, VISIBLE)
        if not known.all():
            self.conflicts.read_of_unknown_write(w, index, threads, known, strong)
        if not self.written[index].all():
            self.conflicts.read_of_nothing(w, index, threads, n)
        line = w.at.line if w.at is not None else 0
        epochs = self.cluster.epoch
        reader = self.reader[index]
        free = known_epochs(clock, READ, reader) >= self.reader_epoch[index]
        free |= reader == threads
        free &= reader >= 0
        if type(index) is not slice and len(set(flat.tolist())) < len(flat):
            self._read_shared(w, clock, lanes, flat, n, strong)
            return
        if free.all():
            self.reader[index] = threads
            self.reader_epoch[index] = epochs[threads]
            self.reader_line[index] = line
            self.reader_strong[index] = strong
            return
        flat_index = np.arange(index.start, index.stop) if type(index) is slice else index
        chosen = flat_index[free]
        self.reader[chosen] = threads[free]
        self.reader_epoch[chosen] = epochs[threads[free]]
        self.reader_line[chosen] = line
        self.reader_strong[chosen] = strong
        taken = ~free
        where, who = flat_index[taken], threads[taken]
        key = (
            ((self.reader[where].astype(np.int64) + 2**31) << 26)
            | (self.reader_epoch[where].astype(np.int64) & (2**26 - 1))
        ) << 5 | (who - w.thread0)
        unique, inverse = np.unique(key, return_inverse=True)
        for i in range(len(unique)):
            here = where[inverse == i]
            thread = int(who[np.argmax(inverse == i)])
            self._grow(clock, here, (thread,), strong, line)

    def _read_shared(
        self,
        w: Warp,
        clock: Clock,
        lanes: NDArray[np.intp],
        flat: NDArray[np.intp],
        n: int,
        strong: int,
    ) -> None:
        """Record reads of the same bytes by several lanes."""
        line = w.at.line if w.at is not None else 0
        places: dict[int, list[int]] = {}
        for lane, start in zip(lanes.tolist(), flat.tolist(), strict=False):
            places.setdefault(start, []).append(w.thread0 + lane)
        for start, readers in places.items():
            old = self.reader[start : start + n]
            old_epoch = self.reader_epoch[start : start + n]
            threads = tuple(readers)
            if (old == old[0]).all() and (old_epoch == old_epoch[0]).all():
                self._grow(clock, np.arange(start, start + n), threads, strong, line)
            else:
                for byte in range(start, start + n):
                    self._grow(clock, np.array([byte]), threads, strong, line)

    def _grow(
        self,
        clock: Clock,
        where: NDArray[np.intp],
        threads: tuple[int, ...],
        strong: int,
        line: int,
    ) -> None:
        """Add `threads` to the readers of bytes that have the same readers so far."""
        first = where[0]
        old, old_epoch = int(self.reader[first]), int(self.reader_epoch[first])
        epochs = self.cluster.epoch
        key = (old, old_epoch, threads, int(epochs[threads[0]]))
        number = self._grown.get(key)
        if number is None:
            members: dict[int, int] = {}
            if old < 0:
                members.update(self.sets[-1 - old])
            elif old != self.nobody:
                members[old] = old_epoch
            over = clock.rows[READ]
            members = {t: e for t, e in members.items() if int(over[t]) < e}
            members.update((t, int(epochs[t])) for t in threads)
            content = tuple(sorted(members.items()))
            number = self._set_index.get(content, -1)
            if number < 0:
                number = self._set_index[content] = len(self.sets)
                self.sets.append(members)
            self._grown[key] = number
        self.reader[where] = -1 - number
        self.reader_epoch[where] = 0
        self.reader_line[where] = line
        self.reader_strong[where] = strong

    def _write(
        self,
        w: Warp,
        clock: Clock,
        lanes: NDArray[np.intp],
        flat: NDArray[np.intp],
        n: int,
        values: NDArray[np.uint8],
        strong: int,
    ) -> None:
        index, threads = self._select(w, lanes, flat, n)
        if type(index) is not slice and not strong and len(set(flat.tolist())) < len(flat):
            self.conflicts.same_instruction(lanes, flat, values)
        if self.barrier[index].any():
            self.conflicts.write_on_barrier(w, index, threads)
        known = self._known_writes(clock, index, threads)
        if not known.all():
            self.conflicts.write_after_unknown_write(w, index, threads, known, strong, values)
        reader = self.reader[index]
        known = known_epochs(clock, READ, reader) >= self.reader_epoch[index]
        known |= reader == threads
        if not known.all() or int(reader.min()) < 0:
            self.conflicts.write_after_unknown_read(w, clock, index, threads, reader, known, strong)
        if int(self.copy_reader[index].max()) >= 0:
            self.conflicts.write_under_copy(w, clock, index, threads)
        if self.cluster.deferred:
            self.conflicts.settle_deferred(index)
        line = w.at.line if w.at is not None else 0
        self.writer[index] = threads
        self.writer_epoch[index] = self.cluster.epoch[threads]
        self.writer_line[index] = line
        self.writer_strong[index] = strong
        self.written[index] = True
        self.reader[index] = self.nobody
        self.reader_epoch[index] = 0
        self.copy_reader[index] = NO_COPY

    def forget(self, start: int, nbytes: int, thread: int, line: int) -> None:
        """Let `thread` take what bytes hold away: an mbarrier ends here."""
        index = slice(start, start + nbytes)
        self.writer[index] = thread
        self.writer_epoch[index] = self.cluster.epoch[thread]
        self.writer_line[index] = line
        self.writer_strong[index] = 0
        self.written[index] = False
        self.reader[index] = self.nobody
        self.reader_epoch[index] = 0
        self.copy_reader[index] = NO_COPY

    def copy_reads(self, operation: Operation, clock: Clock, thread: int, index: slice) -> None:
        """Check and record that a copy issued by `thread` reads the bytes `index`."""
        known = self._known_writes(clock, index, thread, VISIBLE)
        if not known.all():
            self.conflicts.copy_of_unknown_write(operation, index, known)
        if operation.async_proxy:
            self._check_fence(operation, clock, thread, index, reads=True)
        if self.barrier[index].any():
            self.conflicts.copy_of_barrier(operation, index)
        if operation.target_cta is None and not self.written[index].any():
            self.conflicts.copy_of_nothing(operation, index)
        old = self.copy_reader[index]
        if int(old.max()) < 0:
            self.copy_reader[index] = operation.number
            return
        for number in np.unique(old).tolist():
            here = old == number
            members = [
                m
                for m in self.copies_of(number)
                if not self.cluster.operations[m].known(clock, SEEN)
            ]
            members.append(operation.number)
            if len(members) == 1:
                old[here] = operation.number
            else:
                self.copy_sets.append(tuple(members))
                old[here] = (1 << 30) + len(self.copy_sets) - 1

    def copies_of(self, number: int) -> tuple[int, ...]:
        """Return the copies behind an entry of `copy_reader`."""
        if number < 0:
            return ()
        return self.copy_sets[number - (1 << 30)] if number >= 1 << 30 else (number,)

    def _check_fence(
        self, operation: Operation, clock: Clock, thread: int, index: slice, reads: bool
    ) -> None:
        writer = self.writer[index]
        fenced = known_epochs(clock, FENCED, writer) >= self.writer_epoch[index]
        own = writer == thread
        if own.any():
            fenced |= own & (self.writer_epoch[index] <= self.cluster.fenced[thread])
        if int(writer.min()) < 0:
            for number in np.unique(writer[writer < 0]).tolist():
                before = self.cluster.operations[-1 - number]
                fenced[writer == number] = before.async_proxy or before.known(clock, FENCED)
        if not fenced.all():
            self.conflicts.unfenced(operation, index, fenced, reads)

    def copy_writes(
        self,
        operation: Operation,
        clock: Clock,
        thread: int,
        index: slice,
        source: slice | None = None,
    ) -> None:
        """Check and record that a copy issued by `thread` writes the bytes `index`.

        Bytes of a shared `source` that nobody has written stay so where they go.
        """
        combined = self._join(operation, clock, index)
        self.conflicts.copy_over_copies(operation, clock, index)
        operation.check_phase(clock)
        if self.barrier[index].any():
            self.conflicts.copy_over_barrier(operation, index)
        known = self._known_writes(clock, index, thread) | combined
        if not known.all():
            self.conflicts.copy_over_unknown_write(operation, index, known)
        if operation.reduction is not None and not self.written[index].all():
            self.conflicts.reduction_of_nothing(operation, index)
        reader = self.reader[index]
        known = known_epochs(clock, READ, reader) >= self.reader_epoch[index]
        known |= reader == thread
        if not known.all() or int(reader.min()) < 0:
            self.conflicts.copy_over_unknown_read(operation, clock, thread, index, reader, known)
        if operation.async_proxy:
            self._check_fence(operation, clock, thread, index, reads=False)
            if self.cluster.launch.checks.strict:
                self.conflicts.strict_reads_before_copy(operation, clock, thread, index, reader)
        self.conflicts.settle_deferred(index)
        self.writer[index] = -1 - operation.number
        self.writer_epoch[index] = 0
        self.writer_line[index] = operation.line
        self.writer_strong[index] = 0
        self.written[index] = True if source is None else self.written[source]
        self.reader[index] = self.nobody
        self.reader_epoch[index] = 0
        self.copy_reader[index] = NO_COPY

    def _join(self, operation: Operation, clock: Clock, index: slice) -> NDArray[np.bool_]:
        """Let a reduction follow others on their way; returns where they are."""
        writer = self.writer[index]
        joined = np.zeros(writer.shape, dtype=bool)
        if operation.reduction is None or int(writer.min()) >= 0:
            return joined
        for number in np.unique(writer[writer < 0]).tolist():
            before = self.cluster.operations[-1 - number]
            if operation.commutes(before) and not before.known(clock, SEEN):
                operation.joined += (before,)
                joined |= writer == number
        return joined


class Unchecked(Shadow):
    """Asks nothing about order: keeps only where mbarriers are."""

    def read(self, *_: Any) -> None:
        """Let every read pass."""

    def write(self, *_: Any) -> None:
        """Let every write pass."""

    def copy_reads(self, *_: Any) -> None:
        """Let every copy read."""

    def copy_writes(self, *_: Any) -> None:
        """Let every copy write."""
