# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `bulk`: one `cp.async.bulk.shared::cluster.shared::cta` for each chunk, by one thread."""

import itertools
import math
from collections.abc import Iterator, Sequence

from mlir import ir
from mlir.dialects import arith, nvvm, scf

from ..dialects import tile
from .addresses import Offset, Side, mapped_barrier, plus
from .threads import one_thread_of

MAX_UNROLLED = {"thread": 8, "warp": 64, "cta": 64}
"""Copies that are written out; around more there is a loop nest.

An elected lane issues a copy in one instruction, so that a loop would cost as much again.
"""


def issue(op: tile.CopyAsyncOp) -> None:
    """Issue the copies of `op.plan`, from one of the executing threads.

    The addresses are computed by all of them, so that they are uniform in the warp.
    """
    plan = op.plan
    i32 = ir.IntegerType.get_signless(32)
    src = Side(op.src, plan.src_start, plan.src_swizzle)
    dst = Side(op.dst, plan.dst_start, plan.dst_swizzle)
    dst.map_to(op.rank)
    barrier = mapped_barrier(op.barriers, op.barrier_index, op.rank)
    chunk_bytes = arith.constant(i32, plan.chunk_bytes)
    with one_thread_of(op):
        for src_bytes, dst_bytes in chunk_offsets(plan, op.issue.value):
            nvvm.cp_async_bulk_shared_cluster_shared_cta(
                dst.at(dst_bytes), src.at(src_bytes), barrier, chunk_bytes
            )


def chunk_offsets(plan: tile.CopyPlanAttr, issue: str) -> Iterator[tuple[Offset, Offset]]:
    """Yield the byte offsets of the chunks of `plan` from both sides' starts, to build a copy each.

    `issue` says who executes them: "thread", "warp" or "cta". Few chunks yield as many constants.
    For many, a loop nest is built around those that are yielded, and ends when the iterator does;
    an elected lane finds the fastest loops written out in it.
    """
    loops, src_steps, dst_steps = plan.loops, plan.src_steps, plan.dst_steps
    limit = MAX_UNROLLED[issue]
    if issue != "thread":
        loops, src_steps, dst_steps = split_fastest(loops, src_steps, dst_steps, limit)
    depth = len(loops)  # of the loops that stay
    if plan.count <= limit or issue != "thread":
        while depth and math.prod(loops[depth - 1 :]) <= limit:
            depth -= 1
    points = [
        (dot(point, src_steps[depth:]), dot(point, dst_steps[depth:]))
        for point in itertools.product(*map(range, loops[depth:]))
    ]
    for src, dst in loop_nest(loops[:depth], src_steps[:depth], dst_steps[:depth], 0, 0):
        for src_bytes, dst_bytes in points:
            yield plus(src, src_bytes), plus(dst, dst_bytes)


def split_fastest(
    loops: Sequence[int], src_steps: Sequence[int], dst_steps: Sequence[int], limit: int
) -> tuple[list[int], list[int], list[int]]:
    """Cut the last loop in two if it is longer than `limit`, so that the inner one is not."""
    split = [list(loops), list(src_steps), list(dst_steps)]
    if loops and loops[-1] > limit:
        inner = max(n for n in range(1, limit + 1) if loops[-1] % n == 0)
        if inner > 1:
            split[0][-1:] = [loops[-1] // inner, inner]
            for steps in split[1:]:
                steps[-1:] = [steps[-1] * inner, steps[-1]]
    return split[0], split[1], split[2]


def dot(point: Sequence[int], steps: Sequence[int]) -> int:
    """Return the sum of the products."""
    return sum(index * step for index, step in zip(point, steps, strict=True))


def loop_nest(
    loops: Sequence[int],
    src_steps: Sequence[int],
    dst_steps: Sequence[int],
    src: Offset,
    dst: Offset,
) -> Iterator[tuple[Offset, Offset]]:
    """Build one `scf.for` for each loop and yield, once, the offsets in the innermost body."""
    if not loops:
        yield src, dst
        return
    index = ir.IndexType.get()
    loop = scf.ForOp(
        arith.constant(index, 0), arith.constant(index, loops[0]), arith.constant(index, 1)
    )
    with ir.InsertionPoint(loop.body):
        inner_src = plus(src, steps_of(loop.induction_variable, src_steps[0]))
        inner_dst = plus(dst, steps_of(loop.induction_variable, dst_steps[0]))
        yield from loop_nest(loops[1:], src_steps[1:], dst_steps[1:], inner_src, inner_dst)
        scf.yield_([])


def steps_of(count: ir.Value, step_bytes: int) -> ir.Value:
    """Return `count * step_bytes`, an index."""
    return arith.muli(count, arith.constant(ir.IndexType.get(), step_bytes))
