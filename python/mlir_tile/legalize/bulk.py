# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `bulk`: one `cp.async.bulk.shared::cluster.shared::cta` for each chunk, by one thread."""

from collections.abc import Iterator
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, scf

from ..dialects import tile
from .addresses import Offset, plus
from .copy import Copy
from .values import build, i32, index

MAX_WRITTEN_OUT = 64
"""Copies that are written out; around more there is a loop, whose rounds cost time of their own."""

# Where the number of rounds is known, `ptxas` would write them all out, and then keep the addresses
# of hundreds of copies in registers, more than there are.
ROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"

Loop: TypeAlias = tuple[int, int, int]
"""An extent, and the steps in source and destination, in bytes."""
Points: TypeAlias = list[tuple[int, int]]
"""Bytes in source and destination."""


def issue(copy: Copy) -> None:
    """Issue one bulk copy for each chunk of the plan, from one of the executing threads."""
    chunk_bytes = i32(copy.plan.chunk_bytes)
    with copy.threads.one():
        for src_bytes, dst_bytes in chunk_offsets(copy.plan):
            operands = [copy.dst.at(dst_bytes), copy.src.at(src_bytes), copy.barrier, chunk_bytes]
            build("nvvm.cp.async.bulk.shared.cluster.shared.cta", operands)


def chunk_offsets(plan: tile.CopyPlanAttr) -> Iterator[tuple[Offset, Offset]]:
    """Yield the byte offsets of the chunks of `plan` from both sides' starts, to build a copy each.

    Few chunks yield as many constants. For many, a loop nest is built around those that are
    yielded, and ends when the iterator does.
    """
    loops = list(zip(plan.loops, plan.src.steps, plan.dst.steps, strict=True))
    points = [(0, 0)]
    while loops and len(points) * loops[-1][0] <= MAX_WRITTEN_OUT:
        points = repeated(points, *loops.pop())
    yield from loop_nest(loops, points, 0, 0)


def repeated(points: Points, count: int, src_step: int, dst_step: int) -> Points:
    """Return the points `count` times, each time a step further on."""
    return [(src + i * src_step, dst + i * dst_step) for i in range(count) for src, dst in points]


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
        inner_src = plus(src, steps_of(loop.induction_variable, taken * src_step))
        inner_dst = plus(dst, steps_of(loop.induction_variable, taken * dst_step))
        inner_points = repeated(points, taken, src_step, dst_step)
        yield from loop_nest(inner_loops, inner_points, inner_src, inner_dst)
        scf.yield_([])
    done = rounds * taken
    left = repeated(points, extent - done, src_step, dst_step)
    left = [(src_at + done * src_step, dst_at + done * dst_step) for src_at, dst_at in left]
    yield from loop_nest([], left, src, dst)


def steps_of(count: ir.Value, step_bytes: int) -> ir.Value:
    """Return `count * step_bytes`, an index."""
    return arith.muli(count, index(step_bytes))
