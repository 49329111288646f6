# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers of a CTA in falling order: by buckets, or by a network where a bucket has too many."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from mlir import ir
from mlir.dialects import arith, gpu, llvm, memref, scf

from mlir_tile import builders

from ..rows import Row, less
from .numbers import (
    EQ,
    UGE,
    UGT,
    ULE,
    ULT,
    each,
    i32,
    i64,
    in_block,
    to_index,
)
from .selecting import Buffers

MAX_IN_BUCKET = 128


def sort(
    row: Row,
    total: ir.Value,
    bound: ir.Value,
    highest: ir.Value,
    buffers: Buffers,
    write: Callable[[ir.Value, ir.Value], None],
) -> None:
    """Call `write(rank, number)` for the `total` numbers, which are from `bound` to `highest`.

    A number goes to the bucket of its part of that range, and is compared with those in it. Where
    many are in one bucket, a network sorts them all.
    """
    size = int(ir.MemRefType(buffers.buckets.type).shape[0])
    log_size = size.bit_length() - 1
    end = to_index(total)
    bits = arith.subi(i64(64), llvm.intr_ctlz(arith.subi(highest, bound), False))
    shift = arith.subi(arith.maxui(bits, i64(log_size)), i64(log_size))

    def bucket_of(number: ir.Value) -> ir.Value:
        return to_index(arith.shrui(arith.subi(number, bound), shift))

    def take(bucket: ir.Value) -> ir.Value:
        return memref.atomic_rmw(arith.AtomicRMWKind.addi, i32(1), buffers.buckets, [bucket])

    with each(row, builders.index(size)) as bucket:
        memref.store(i32(0), buffers.buckets, [bucket])
    gpu.barrier()
    with each(row, end) as place:
        take(bucket_of(memref.load(buffers.numbers, [place])))
    gpu.barrier()
    most = add_higher(row, buffers)
    are_few = arith.cmpi(ULE, most, i32(MAX_IN_BUCKET))
    branch = scf.IfOp(are_few, has_else=True)
    with ir.InsertionPoint(branch.then_block):
        with each(row, end) as place:
            number = memref.load(buffers.numbers, [place])
            memref.store(number, buffers.ordered, [to_index(take(bucket_of(number)))])
        gpu.barrier()
        with each(row, end) as place:
            number = memref.load(buffers.ordered, [place])
            write(rank_in(bucket_of(number), number, buffers), number)
        scf.yield_([])
    with ir.InsertionPoint(branch.else_block):
        sort_by_network(row, end, buffers.numbers)
        with each(row, end) as place:
            write(arith.index_castui(total.type, place), memref.load(buffers.numbers, [place]))
        scf.yield_([])


def rank_in(bucket: ir.Value, number: ir.Value, buffers: Buffers) -> ir.Value:
    """Return how many numbers are larger, once each bucket has the place after its last one.

    That is where the next lower bucket begins.
    """
    one = builders.index(1)
    higher = arith.addi(bucket, one)
    is_top = arith.cmpi(UGE, higher, memref.dim(buffers.buckets, builders.index(0)))
    start = memref.load(buffers.buckets, [arith.select(is_top, bucket, higher)])
    start = arith.select(is_top, i32(0), start)
    end = to_index(memref.load(buffers.buckets, [bucket]))
    loop = scf.ForOp(to_index(start), end, one, [start])
    with ir.InsertionPoint(loop.body):
        other = memref.load(buffers.ordered, [loop.induction_variable])
        larger = arith.extui(start.type, arith.cmpi(UGT, other, number))
        scf.yield_([arith.addi(loop.inner_iter_args[0], larger)])
    return loop.results[0]


def add_higher(row: Row, buffers: Buffers) -> ir.Value:
    """Make the counts of the buckets the counts of all that are higher; return the largest one."""
    block, zero = row.plan.block, i32(0)
    share = max(1, int(ir.MemRefType(buffers.buckets.type).shape[0]) // block)
    size = int(ir.MemRefType(buffers.buckets.type).shape[0])
    first = arith.muli(row.thread, builders.index(share))
    has_own = less(first, builders.index(size))
    first = arith.select(has_own, first, builders.index(0))
    places = [[arith.addi(first, builders.index(n))] for n in range(share)]
    own = [memref.load(buffers.buckets, place) for place in places]
    sum_ = most = zero
    for count in own:
        sum_, most = arith.addi(sum_, count), arith.maxui(most, count)
    sum_ = arith.select(has_own, sum_, zero)
    memref.store(sum_, buffers.parts, [row.thread])
    gpu.barrier()
    higher, distance = sum_, 1
    while distance < block:
        other = arith.addi(row.thread, builders.index(distance))
        is_there = less(other, builders.index(block))
        part = memref.load(buffers.parts, [arith.select(is_there, other, row.thread)])
        higher = arith.addi(higher, arith.select(is_there, part, zero))
        gpu.barrier()
        memref.store(higher, buffers.parts, [row.thread])
        gpu.barrier()
        distance *= 2
    higher = arith.subi(higher, sum_)
    for place, count in zip(reversed(places), reversed(own), strict=True):
        with builders.if_true(has_own):
            memref.store(higher, buffers.buckets, place)
        higher = arith.addi(higher, count)
    (most,) = in_block(row, "UMAX", [most], buffers.parts)
    gpu.barrier()
    return most


def sort_by_network(row: Row, end: ir.Value, numbers: ir.Value) -> None:
    """Sort the numbers before `end`, the largest first, by a bitonic network."""
    zero, one = builders.index(0), builders.index(1)
    capacity = builders.index(int(ir.MemRefType(numbers.type).shape[0]))
    with each(row, arith.subi(capacity, end)) as place:
        memref.store(i64(0), numbers, [arith.addi(end, place)])
    gpu.barrier()
    sizes = scf.WhileOp([one.type], [one])
    with stages(sizes, lambda size: arith.cmpi(ULT, size, capacity)) as half:
        size = arith.shli(half, one)
        steps = scf.WhileOp([one.type], [half])
        with stages(steps, lambda step: arith.cmpi(UGT, step, zero)) as step:
            with each(row, arith.shrui(capacity, one)) as pair:
                first = arith.subi(arith.shli(pair, one), arith.andi(pair, arith.subi(step, one)))
                second = arith.addi(first, step)
                a, b = (memref.load(numbers, [place]) for place in (first, second))
                falls = arith.cmpi(EQ, arith.andi(first, size), zero)
                with builders.if_true(arith.cmpi(EQ, falls, arith.cmpi(ULT, a, b))):
                    memref.store(b, numbers, [first])
                    memref.store(a, numbers, [second])
            gpu.barrier()
            scf.yield_([arith.shrui(step, one)])
        scf.yield_([size])


@contextlib.contextmanager
def stages(loop: scf.WhileOp, goes_on: Callable[[ir.Value], ir.Value]) -> Iterator[ir.Value]:
    """Build a loop over an index, from its operand on as long as `goes_on` holds."""
    index = builders.index(0).type
    before, after = (region.blocks.append(index) for region in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        scf.condition(goes_on(before.arguments[0]), [before.arguments[0]])
    with ir.InsertionPoint(after):
        yield after.arguments[0]
