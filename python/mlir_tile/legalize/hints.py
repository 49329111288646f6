# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What copies tell the L2 cache about global memory."""

from mlir import ir

from ..dialects import tile
from .values import Attributes, build, built_once, made_once


def cache_policy(op: tile.CopyAsyncOp) -> ir.Value | None:
    """Return the i64 that says what the L2 cache evicts sooner or later, or None."""
    return op.cache_policy if op.cache_hint is None else created(op.cache_hint.value)


@built_once
def created(hint: str) -> ir.Value:
    """Build a policy for all accesses (`createpolicy`)."""
    i64 = ir.IntegerType.get_signless(64)
    return build("llvm.inline_asm", [], [i64], createpolicy(hint)).result


@made_once
def createpolicy(hint: str) -> Attributes:
    """Return the instruction of a policy."""
    return {
        "asm_string": ir.StringAttr.get(f"createpolicy.fractional.L2::{hint}.b64 $0, 1.0;"),
        "constraints": ir.StringAttr.get("=l"),
    }
