# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A copy as a variant gets it: planned, and both sides and the barrier mapped already."""

from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf

from ..builders import if_true
from ..dialects import tile
from .addresses import Side, is_shared, mapped_barrier, own_barrier
from .hints import cache_policy
from .reductions import reduction
from .threads import MAX_CTAS, Threads, most_ctas
from .values import constant, i32, index


@dataclass(frozen=True)
class Copy:
    """What a variant issues, at the current insertion point.

    All of `plan.total_bytes` go from `src` to `dst`, issued by `threads`, and complete on
    `barrier`. `dst` and `barrier` are already those of the receiving CTA. To global memory there is
    no barrier: the bytes belong to the bulk group that the issuing thread commits next. With a
    `mask`, which is there from global memory only, `dst` and `barrier` are the CTA's own, and the
    hardware takes their counterparts in every CTA of the mask. `reduce` is how PTX spells the way
    in which bytes are combined with those in `dst`, and `policy` an i64 for the L2 cache.
    """

    plan: tile.CopyPlanAttr
    src: Side
    dst: Side
    barrier: ir.Value | None
    threads: Threads
    mask: ir.Value | None = None
    reduce: str | None = None
    policy: ir.Value | None = None


class PlanError(Exception):
    """A plan that a variant cannot issue: which rule it breaks, and how to mend it."""

    def __init__(self, rule: str, fix: str) -> None:
        super().__init__(rule)
        self.fix = fix


def mapped_copies(op: tile.CopyAsyncOp) -> Iterator[Copy]:
    """Build the addresses of `op`, which has a plan, and yield what a variant issues.

    All executing threads compute them, so that they are uniform in the warp. From workgroup memory
    to several CTAs it is a copy to each of them: one after the other where the mask is a constant,
    in a loop otherwise, which ends when the iterator does.
    """
    if op.mask is None or not is_shared(op.src):
        yield mapped_copy(op, op.rank)
        return
    if (known := known_mask(op.mask)) is not None:
        for rank in range(MAX_CTAS):
            if known >> rank & 1:
                yield mapped_copy(op, i32(rank))
        return
    type_ = op.mask.type
    loop = scf.ForOp(index(0), index(most_ctas()), index(1))
    with ir.InsertionPoint(loop.body):
        number = loop.induction_variable
        bit = arith.shli(constant(type_, 1), arith.index_cast(type_, number))
        named = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(op.mask, bit), constant(type_, 0))
        with if_true(named):
            yield mapped_copy(op, arith.index_cast(ir.IntegerType.get_signless(32), number))
        scf.yield_([])


def known_mask(mask: ir.Value) -> int | None:
    """Return the bits of a mask that is a constant."""
    made_by = mask.owner
    if isinstance(made_by, ir.Block) or made_by.name != "arith.constant":
        return None
    bits: int = ir.IntegerAttr(made_by.attributes["value"]).value
    return bits


def mapped_copy(op: tile.CopyAsyncOp, rank: ir.Value | None) -> Copy:
    """Build the addresses of a copy to CTA `rank`, or without one to the CTA itself."""
    plan, barrier = op.plan, None
    src, dst = Side(op.src, plan.src), Side(op.dst, plan.dst, rank)
    if rank is not None:
        barrier = mapped_barrier(op.barriers, op.barrier_index, rank)
    elif op.barriers is not None:
        barrier = own_barrier(op.barriers, op.barrier_index)
    return Copy(
        plan,
        src,
        dst,
        barrier,
        Threads(op.issue.value),
        mask=None if is_shared(op.src) else op.mask,
        reduce=reduction(op),
        policy=cache_policy(op),
    )
