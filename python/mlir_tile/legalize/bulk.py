# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `bulk`: one `cp.async.bulk` for each chunk, by one thread."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, llvm, scf

from ..dialects import tile
from . import reductions
from .addresses import GLOBAL, Offset, in_cluster, plus
from .copy import Copy
from .values import build, built_once, i32, index

MAX_WRITTEN_OUT = 64
"""Copies that are written out; around more there is a loop, whose rounds cost time of their own."""

# Where the number of rounds is known, `ptxas` would write them all out, and then keep the addresses
# of hundreds of copies in registers, more than there are.
ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"

Loop: TypeAlias = tuple[int, Offset, Offset]
"""An extent, and the steps in source and destination, in bytes."""
Points: TypeAlias = list[tuple[Offset, Offset]]
"""Bytes in source and destination."""


def issue(copy: Copy) -> None:
    """Issue one bulk copy for each chunk of the plan, from one of the executing threads."""
    chunk_bytes = i32(copy.plan.chunk_bytes)
    with copy.threads.one():
        for src_bytes, dst_bytes in chunk_offsets(copy.plan, copy.src.steps, copy.dst.steps):
            bulk_copy(copy, copy.dst.at(dst_bytes), copy.src.at(src_bytes), chunk_bytes)


def bulk_copy(copy: Copy, dst: ir.Value, src: ir.Value, nbytes: ir.Value) -> None:
    """Build one copy: its direction is that of the pointers' address spaces."""
    barrier, policy = copy.barrier, copy.policy
    if barrier is None and copy.reduce:
        reductions.into_global(dst, src, nbytes, policy, copy.reduce)
    elif barrier is None:
        hinted = [] if policy is None else [policy]
        segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, len(hinted), 0])}
        operands = [dst, src, nbytes, *hinted]
        build("nvvm.cp.async.bulk.global.shared.cta", operands, attributes=segments)
    elif copy.reduce:
        reductions.into_peer(dst, src, nbytes, barrier, copy.reduce)
    elif llvm.PointerType(src.type).address_space == GLOBAL:
        extra = [value for value in (copy.mask, policy) if value is not None]
        counts = [0 if value is None else 1 for value in (copy.mask, policy)]
        segments = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 1, 1, *counts])}
        operands = [in_cluster(dst), src, barrier, nbytes, *extra]
        build("nvvm.cp.async.bulk.shared.cluster.global", operands, attributes=segments)
    else:
        build("nvvm.cp.async.bulk.shared.cluster.shared.cta", [dst, src, barrier, nbytes])


def chunk_offsets(
    plan: tile.CopyPlanAttr,
    src_steps: Sequence[Offset] | None = None,
    dst_steps: Sequence[Offset] | None = None,
) -> Iterator[tuple[Offset, Offset]]:
    """Yield the byte offsets of the chunks of `plan` from both sides' starts, to build a copy each.

    `src_steps` and `dst_steps`, those of the sides of a `Copy`, have values for the steps that only
    the run time knows.

    Few chunks yield as many constants. For many, a loop nest is built around those that are
    yielded, and ends when the iterator does.
    """
    steps = src_steps or plan.src.steps, dst_steps or plan.dst.steps
    loops = list(zip(plan.loops, *steps, strict=True))
    points: Points = [(0, 0)]
    while loops and len(points) * loops[-1][0] <= MAX_WRITTEN_OUT:
        points = repeated(points, *loops.pop())
    yield from loop_nest(loops, points, 0, 0)


def repeated(points: Points, count: int, src_step: Offset, dst_step: Offset) -> Points:
    """Return the points `count` times, each time a step further on."""
    moves = [(times(i, src_step), times(i, dst_step)) for i in range(count)]
    return [(plus(src, by[0]), plus(dst, by[1])) for by in moves for src, dst in points]


def loop_nest(
    loops: list[Loop], points: Points, src: Offset, dst: Offset
) -> Iterator[tuple[Offset, Offset]]:
    """Build an `scf.for` for each loop, and yield the points that are written out in the last.

    That one takes as many steps at a time as may be written out. What its extent leaves over is
    yielded after it.
    """
    if not loops:
        for src_bytes, dst_bytes in points:
            yield plus(src, src_bytes), plus(dst, dst_bytes)
        return
    (extent, src_step, dst_step), *inner_loops = loops
    taken = 1 if inner_loops else MAX_WRITTEN_OUT // len(points)
    rounds = extent // taken
    loop = scf.ForOp(index(0), index(rounds), index(1))
    loop.operation.attributes["loop_annotation"] = ir.Attribute.parse(ROLLED)
    with ir.InsertionPoint(loop.body):
        inner_src = plus(src, times(loop.induction_variable, times(taken, src_step)))
        inner_dst = plus(dst, times(loop.induction_variable, times(taken, dst_step)))
        inner_points = repeated(points, taken, src_step, dst_step)
        yield from loop_nest(inner_loops, inner_points, inner_src, inner_dst)
        scf.yield_([])
    done = rounds * taken
    left = repeated(points, extent - done, src_step, dst_step)
    moved = times(done, src_step), times(done, dst_step)
    yield from loop_nest([], [(plus(s, moved[0]), plus(d, moved[1])) for s, d in left], src, dst)


@built_once
def times(count: Offset, step_bytes: Offset) -> Offset:
    """Return `count * step_bytes`; a constant where both are."""
    if isinstance(count, int) and isinstance(step_bytes, int):
        return count * step_bytes
    if count == 0 or step_bytes == 0:
        return 0
    factors = (index(x) if isinstance(x, int) else x for x in (count, step_bytes))
    return step_bytes if isinstance(count, int) and count == 1 else arith.muli(*factors)
