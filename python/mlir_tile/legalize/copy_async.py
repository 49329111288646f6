# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize: rewrite `tile.copy_async` into the copies of its plan."""

from collections.abc import Callable

from mlir.rewrite import PatternRewriter

from ..dialects import tile
from ..scripted import PassFailure
from . import bulk, st_async
from .copy import Copy, PlanError, mapped_copies

VARIANTS: dict[str, Callable[[Copy], None]] = {
    "bulk": bulk.issue,
    "st_async": st_async.issue,
}


def legalize_copy_async(op: tile.CopyAsyncOp, rewriter: PatternRewriter) -> None:
    """Replace `op` by what the variant of its plan issues."""
    plan = op.plan
    if plan is None:
        raise PassFailure(op, "'tile.copy_async' op has no plan", "run tile-analyze-layout first")
    if plan.count:
        with rewriter.ip, op.location:
            try:
                for copy in mapped_copies(op):
                    VARIANTS[plan.variant](copy)
            except PlanError as error:
                raise PassFailure(op, f"'tile.copy_async' op plan {error}", error.fix) from None
    rewriter.erase_op(op.operation)
