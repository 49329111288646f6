# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `bulk`: one `cp.async.bulk.shared::cluster.shared::cta` for each chunk, by one thread."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, nvvm, scf

from ..dialects import tile
from .addresses import advance, mapped, mapped_barrier, shared_pointer

Offset: TypeAlias = int | ir.Value

MAX_UNROLLED = 8
"""Copies that are written out; more become a loop nest."""


def issue(op: tile.CopyAsyncOp) -> None:
    """Issue the copies of `op.plan`, from the executing thread."""
    plan = op.plan
    i32 = ir.IntegerType.get_signless(32)
    src = shared_pointer(op.src, plan.src_start)
    dst = mapped(shared_pointer(op.dst, plan.dst_start), op.rank)
    barrier = mapped_barrier(op.barriers, op.barrier_index, op.rank)
    chunk_bytes = arith.constant(i32, plan.chunk_bytes)
    for src_bytes, dst_bytes in chunk_offsets(plan):
        nvvm.cp_async_bulk_shared_cluster_shared_cta(
            advance(dst, dst_bytes), advance(src, src_bytes), barrier, chunk_bytes
        )


def chunk_offsets(plan: tile.CopyPlanAttr) -> Iterator[tuple[Offset, Offset]]:
    """Yield the byte offsets of each chunk from both sides' starts.

    Few chunks yield as many constants; for many, a loop nest is built around the one pair that is
    yielded, and ends when the iterator does.
    """
    if plan.count <= MAX_UNROLLED:
        for point in itertools.product(*map(range, plan.loops)):
            yield dot(point, plan.src_steps), dot(point, plan.dst_steps)
        return
    yield from loop_nest(plan.loops, plan.src_steps, plan.dst_steps, None, None)


def dot(point: Sequence[int], steps: Sequence[int]) -> int:
    """Return the sum of the products."""
    return sum(index * step for index, step in zip(point, steps, strict=True))


def loop_nest(
    loops: list[int],
    src_steps: list[int],
    dst_steps: list[int],
    src: ir.Value | None,
    dst: ir.Value | None,
) -> Iterator[tuple[ir.Value, ir.Value]]:
    """Build one `scf.for` for each loop and yield, once, the offsets in the innermost body."""
    if not loops:
        assert src is not None and dst is not None
        yield src, dst
        return
    index = ir.IndexType.get()
    loop = scf.ForOp(
        arith.constant(index, 0), arith.constant(index, loops[0]), arith.constant(index, 1)
    )
    with ir.InsertionPoint(loop.body):
        inner_src = plus_steps(src, loop.induction_variable, src_steps[0])
        inner_dst = plus_steps(dst, loop.induction_variable, dst_steps[0])
        yield from loop_nest(loops[1:], src_steps[1:], dst_steps[1:], inner_src, inner_dst)
        scf.yield_([])


def plus_steps(base: ir.Value | None, count: ir.Value, step_bytes: int) -> ir.Value:
    """Return `base + count * step_bytes`, all of them indices."""
    steps = arith.muli(count, arith.constant(ir.IndexType.get(), step_bytes))
    return steps if base is None else arith.addi(base, steps)
