# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A copy as a variant gets it: planned, and both sides and the barrier mapped already."""

from dataclasses import dataclass

from mlir import ir

from ..dialects import tile
from .addresses import Side, mapped_barrier
from .threads import Threads


@dataclass(frozen=True)
class Copy:
    """What a variant issues, at the current insertion point.

    All of `plan.total_bytes` go from `src` to `dst`, issued by `threads`, and complete on
    `barrier`. `dst` and `barrier` are already those of the receiving CTA.
    """

    plan: tile.CopyPlanAttr
    src: Side
    dst: Side
    barrier: ir.Value
    threads: Threads


class PlanError(Exception):
    """A plan that a variant cannot issue: which rule it breaks, and how to mend it."""

    def __init__(self, rule: str, fix: str) -> None:
        super().__init__(rule)
        self.fix = fix


def mapped_copy(op: tile.CopyAsyncOp) -> Copy:
    """Build the addresses of `op`, which has a plan.

    All executing threads compute them, so that they are uniform in the warp.
    """
    plan = op.plan
    return Copy(
        plan,
        Side(op.src, plan.src),
        Side(op.dst, plan.dst, op.rank),
        mapped_barrier(op.barriers, op.barrier_index, op.rank),
        Threads(op.issue.value),
    )
