# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The elements of a row that reach a bound which about k of them do, in shared memory.

The row is read once, for the maximum of each group of elements. A CTA finds a bound that is reached
by its share of k groups; the lowest of these bounds is reached by k elements of the row, and all
elements that reach it are in groups that do. Where these are too many, as where many are equal, the
bound is raised by counting elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir
from mlir.dialects import arith, gpu, memref, nvvm, scf, vector

from mlir_tile import builders
from mlir_tile.dialects import tile

from .. import rows
from ..plans import Plan
from ..rows import Piece, Row, f32
from .numbers import (
    EQ,
    UGE,
    UGT,
    ULE,
    ULT,
    count_of,
    i32,
    i64,
    in_block,
    key_of,
    largest,
    narrowed,
    to_index,
    widened,
)

MAX_BUCKETS = 2048
THRESHOLDS = 4
NUMBERS, OTHERS, HITS = range(3)
"""Places in `counts`: numbers of the CTA; those of all CTAs before it, or in all; hits."""


@dataclass(frozen=True)
class Buffers:
    """Buffers in shared memory: numbers before and after they are sorted, and what finds them.

    `hits` are the first vectors of groups that reach the bound, and `buckets` where numbers in a
    part of their range go. `parts` is for sums over the block, and `counts` has how many there are
    of what.
    """

    numbers: ir.Value
    ordered: ir.Value
    buckets: ir.Value
    hits: ir.Value
    parts: ir.Value
    counts: ir.Value

    @property
    def capacity(self) -> int:
        """Numbers that there is room for."""
        return int(ir.MemRefType(self.numbers.type).shape[0])


def buffers_of(capacity: int, plan: Plan) -> tuple[tuple[Any, ...], ...]:
    """Return extents and element types of `Buffers`."""
    return (
        (capacity, "i64"),
        (capacity, "i64"),
        (min(capacity, MAX_BUCKETS), "i32"),
        (plan.vectors * plan.block, "i32"),
        (plan.block, "i32"),
        (3, "i32"),
    )


def keys_of_groups(row: Row) -> list[ir.Value]:
    """Return the key of the largest element of each group: every `vectors`-th vector of a thread.

    That of a group without elements is 0.
    """
    lowest = f32(float("-inf"))
    loop = scf.ForOp(*row.batches(), [lowest] * row.plan.vectors)
    with ir.InsertionPoint(loop.body):
        pieces = row.batch(loop.induction_variable)
        values = [row.load(row.x, piece, float("-inf")) for piece in pieces]
        known = loop.inner_iter_args
        scf.yield_([arith.maximumf(k, largest(v)) for k, v in zip(known, values, strict=True)])
    firsts = row.batch(builders.index(0))
    return [
        arith.select(piece.inside, key_of(value), i32(0))
        for piece, value in zip(firsts, loop.results, strict=True)
    ]


def bound_of_groups(
    row: Row, keys: list[ir.Value], k: ir.Value, buffers: Buffers
) -> tuple[ir.Value, ir.Value]:
    """Return a number that at least `k` elements reach, and one that none exceeds.

    The first is 0 where elements or groups are few.
    """
    highest, lowest, there = i32(0), i32(0), i32(0)
    for key in keys:
        is_there = arith.cmpi(UGT, key, i32(0))
        highest = arith.maxui(highest, key)
        complement = arith.select(is_there, arith.xori(key, i32(-1)), i32(0))
        lowest = arith.maxui(lowest, complement)
        there = arith.addi(there, arith.extui(there.type, is_there))
    groups = highest
    for piece in row.edges():  # which are in no group
        edge = key_of(largest(row.load(row.x, piece)))
        highest = arith.maxui(highest, arith.select(piece.inside, edge, i32(0)))
    group_highest, highest, lowest = in_block(row, "UMAX", [groups, highest, lowest], buffers.parts)
    (there,) = in_block(row, "ADD", [there], buffers.parts)
    share = arith.ceildivui(k, i32(row.plan.cluster))
    is_long = arith.cmpi(UGT, row.length, builders.index(buffers.capacity))
    is_useful = arith.andi(is_long, arith.cmpi(UGE, there, share))
    lowest = arith.xori(lowest, i32(-1))
    low = arith.select(is_useful, widened(lowest), i64(0))
    high = arith.select(is_useful, arith.addi(widened(group_highest), i64(1)), i64(1))

    def count(bounds: list[ir.Value]) -> list[ir.Value]:
        mine = [
            count_of([arith.cmpi(UGE, key, narrowed(bound)) for key in keys]) for bound in bounds
        ]
        return in_block(row, "ADD", mine, buffers.parts)

    enough = arith.addi(arith.addi(share, arith.shrui(share, i32(2))), i32(2))
    found = narrowed(search(low, high, share, enough, count))
    found, highest = tile.all_reduce(
        [found, highest], lambda a, b: [arith.minui(a[0], b[0]), arith.maxui(a[1], b[1])]
    )
    low, high = (arith.shli(widened(key), i64(32)) for key in (found, highest))
    return low, arith.ori(high, i64((1 << 32) - 1))


def search(
    low: ir.Value,
    high: ir.Value,
    k: ir.Value,
    enough: ir.Value,
    count: Callable[[list[ir.Value]], list[ir.Value]],
) -> ir.Value:
    """Return a bound from `low` on, below `high`, that is reached by at least `k`.

    `low` is reached by as many and `high` is not. The first bound that no more than `enough` reach
    is taken, else the highest one. `count` tells how many reach each of `THRESHOLDS` bounds.
    """
    loop = scf.WhileOp([low.type] * 2, [low, high])
    before = loop.before.blocks.append(low.type, low.type)
    after = loop.after.blocks.append(low.type, low.type)
    with ir.InsertionPoint(before):
        low, high = before.arguments
        scf.condition(arith.cmpi(UGT, arith.subi(high, low), i64(1)), [low, high])
    with ir.InsertionPoint(after):
        low, high = after.arguments
        span = arith.subi(high, low)
        step = arith.maxui(arith.divui(span, i64(THRESHOLDS + 1)), i64(1))
        last = arith.subi(high, i64(1))
        bounds = [
            arith.minui(arith.addi(low, arith.muli(step, i64(n + 1))), last)
            for n in range(THRESHOLDS)
        ]
        for bound, number in zip(bounds, count(bounds), strict=True):
            reached = arith.cmpi(UGE, number, k)
            taken = arith.andi(reached, arith.cmpi(ULE, number, enough))
            # Of bounds in rising order, the last one that is reached and the first that is not.
            low = arith.select(reached, bound, low)
            high = arith.select(reached, high, arith.minui(high, bound))
            high = arith.select(taken, arith.addi(bound, i64(1)), high)
        scf.yield_([low, high])
    return loop.results[0]


def find_hits(row: Row, keys: list[ir.Value], bound: ir.Value, buffers: Buffers) -> None:
    """List the groups of the CTA that reach `bound`, each by its first vector."""
    counter, high = [builders.index(HITS)], narrowed(arith.shrui(bound, i64(32)))
    with builders.if_true(arith.cmpi(EQ, row.thread, builders.index(0))):
        memref.store(i32(0), buffers.counts, counter)
    gpu.barrier()
    for place, key in enumerate(keys):
        is_there = arith.cmpi(UGT, key, i32(0))
        with builders.if_true(arith.andi(is_there, arith.cmpi(UGE, key, high))):
            skipped = place * row.plan.cluster * row.plan.block
            first = arith.addi(row.worker, builders.index(skipped))
            at = memref.atomic_rmw(arith.AtomicRMWKind.addi, i32(1), buffers.counts, counter)
            narrow = arith.index_castui(i32(0).type, first)
            memref.store(narrow, buffers.hits, [to_index(at)])
    gpu.barrier()


def visit(
    row: Row,
    buffers: Buffers,
    counts: Sequence[ir.Value],
    see: Callable[[ir.Value, ir.Value, list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Call `see(is there, number, counts)` for each element of a hit and each edge of the CTA."""
    _, vectors, step = row.batches()
    rounds = arith.index_castui(i32(0).type, arith.ceildivui(vectors, step))
    hits = memref.load(buffers.counts, [builders.index(HITS)])
    at_once = max(1, 16 // row.plan.lanes)
    end, stride = to_index(arith.muli(hits, rounds)), at_once * row.plan.block
    loop = scf.ForOp(row.thread, end, builders.index(stride), list(counts))
    with ir.InsertionPoint(loop.body):
        start = arith.index_castui(i32(0).type, loop.induction_variable)
        pieces = []
        for number in range(at_once):
            at = arith.addi(start, i32(number * row.plan.block))
            hit, round_ = arith.divui(at, rounds), arith.remui(at, rounds)
            is_hit = arith.cmpi(ULT, hit, hits)
            place = to_index(arith.select(is_hit, hit, i32(0)))
            first = to_index(memref.load(buffers.hits, [place]))
            vector_ = arith.addi(first, arith.muli(to_index(round_), step))
            pieces.append(row.piece(vector_, is_hit))
        elements = [(piece, row.load(row.x, piece)) for piece in pieces]
        scf.yield_(_see(elements, list(loop.inner_iter_args), see))
    edges = [(piece, row.load(row.x, piece)) for piece in row.edges()]
    return _see(edges, list(loop.results), see)


def _see(
    elements: list[tuple[Piece, ir.Value]],
    counts: list[ir.Value],
    see: Callable[..., Sequence[Any]],
) -> list[ir.Value]:
    for piece, values in elements:
        for lane in range(piece.lanes):
            value = rows.to_f32(vector.extract(values, [], [lane]))
            column = arith.addi(piece.column, builders.index(lane))
            complement = arith.xori(arith.index_castui(i32(0).type, column), i32(-1))
            number = arith.ori(arith.shli(widened(key_of(value)), i64(32)), widened(complement))
            counts = list(see(piece.inside, number, counts))
    return counts


def collect(
    row: Row, bound: ir.Value, highest: ir.Value, k: ir.Value, buffers: Buffers
) -> tuple[ir.Value, ir.Value]:
    """Bring what reaches the bound to `numbers` of each CTA; return the bound, and how many in all.

    Where they do not fit, the bound is raised until they do.
    """
    counter, capacity = [builders.index(NUMBERS)], i32(buffers.capacity)
    is_first = arith.cmpi(EQ, row.thread, builders.index(0))

    def append(is_there: ir.Value, number: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
        with builders.if_true(arith.andi(is_there, arith.cmpi(UGE, number, bound))):
            place = memref.atomic_rmw(arith.AtomicRMWKind.addi, i32(1), buffers.counts, counter)
            with builders.if_true(arith.cmpi(ULT, place, capacity)):
                memref.store(number, buffers.numbers, [to_index(place)])
        return []

    def count(bounds: list[ir.Value]) -> list[ir.Value]:
        def see(is_there: ir.Value, number: ir.Value, known: list[ir.Value]) -> list[ir.Value]:
            return [
                arith.addi(n, count_of([arith.andi(is_there, arith.cmpi(UGE, number, b))]))
                for n, b in zip(known, bounds, strict=True)
            ]

        return add_up(visit(row, buffers, [i32(0)] * THRESHOLDS, see))

    loop = scf.WhileOp([bound.type, k.type], [bound])
    before = loop.before.blocks.append(bound.type)
    after = loop.after.blocks.append(bound.type, k.type)
    with ir.InsertionPoint(before):
        (bound,) = before.arguments
        with builders.if_true(is_first):
            memref.store(i32(0), buffers.counts, counter)
        gpu.barrier()
        visit(row, buffers, [], append)
        gpu.barrier()
        mine = arith.select(is_first, memref.load(buffers.counts, counter), i32(0))
        (total,) = add_up([mine])
        scf.condition(arith.cmpi(UGT, total, capacity), [bound, total])
    with ir.InsertionPoint(after):
        scf.yield_([search(after.arguments[0], highest, k, capacity, count)])
    return loop.results[0], loop.results[1]


def add_up(numbers: Sequence[ir.Value]) -> list[ir.Value]:
    """Return the sums over all threads of the cluster."""
    sums: list[ir.Value] = tile.all_reduce(
        list(numbers), lambda a, b: [arith.addi(x, y) for x, y in zip(a, b, strict=True)]
    )
    return sums


def gather(row: Row, buffers: Buffers) -> None:
    """Bring the numbers of all CTAs to the first one, after its own."""
    zero, counts, others = builders.index(0), buffers.counts, builders.index(OTHERS)
    mine = memref.load(counts, [builders.index(NUMBERS)])
    is_first = arith.cmpi(EQ, row.thread, zero)
    is_receiver = arith.cmpi(EQ, row.rank, zero)
    with builders.if_true(arith.andi(is_receiver, is_first)):
        memref.store(mine, counts, [others])
    cluster_barrier()
    with builders.if_true(arith.cmpi(UGT, row.rank, zero)):
        with builders.if_true(is_first):
            first_counts = tile.peer(counts, rank=0)
            start = memref.atomic_rmw(arith.AtomicRMWKind.addi, mine, first_counts, [others])
            memref.store(start, counts, [others])
        gpu.barrier()
        start = to_index(memref.load(counts, [others]))
        there = tile.peer(buffers.numbers, rank=0)
        for place in scf.for_(row.thread, to_index(mine), builders.index(row.plan.block)):
            number = memref.load(buffers.numbers, [place])
            memref.store(number, there, [arith.addi(start, place)])
            scf.yield_([])
    cluster_barrier()


def cluster_barrier() -> None:
    """Let all threads of the cluster wait for each other."""
    nvvm.cluster_arrive()
    nvvm.cluster_wait()
