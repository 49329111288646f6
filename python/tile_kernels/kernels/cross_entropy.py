# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cross_entropy` of logits and the classes that they are for."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir import ir
from mlir.dialects import arith, math, memref

from mlir_tile import builders

from ..launching import RowKernel, launch
from ..operations import Operation
from ..plans import sizes_for_one_pass
from ..rows import Row, f32, to_f32
from ..tensors import (
    Result,
    check,
    check_rows,
    check_shape,
    element_of,
    in_place,
    is_torch,
    rows_of,
    vector_of,
    write_back,
)
from .softmax import LOWEST, combine, exp_sum

NAN = float("nan")


def build(row: Row, losses: ir.Value, targets: ir.Value, ignored: ir.Value) -> None:
    """Write `maximum + log(sum) - x[target]`."""
    target = memref.load(targets, [row.number])
    column = arith.index_cast(ir.IndexType.get(), target)
    element = ir.MemRefType(row.x.type).element_type
    logit = builders.if_else(
        arith.cmpi(arith.CmpIPredicate.ult, column, row.length),
        element,
        lambda: memref.load(row.x, [row.number, column]),
        lambda: arith.constant(element, NAN),
    )
    largest, sum_ = row.reduce(LOWEST, exp_sum, combine)
    loss = arith.addf(arith.subf(largest, to_f32(logit)), math.log(sum_))
    is_ignored = arith.cmpi(arith.CmpIPredicate.eq, target, ignored)
    row.store_once(losses, arith.select(is_ignored, f32(0.0), loss))


KERNEL = RowKernel("cross_entropy", build, is_read_again=False, sizes=sizes_for_one_pass)


def run(logits: Any, targets: Any, ignore_index: int, in_f32: bool, losses: Any) -> None:
    """Write the loss of each row to `losses`."""
    logits, targets, losses = map(in_place, (logits, targets, losses))
    if logits.shape[-1] == 0:  # no target is a class
        losses[...] = NAN
        losses[targets == ignore_index] = 0.0
        return
    written = vector_of(losses.reshape(-1))
    launch(KERNEL, rows_of(logits, logits.shape[-1]), [written, targets.reshape(-1), ignore_index])
    write_back(written, losses)


def result(logits: Any, targets: Any, ignore_index: int, in_f32: bool) -> Result:
    """Return that there is a loss for each row."""
    return Result(tuple(logits.shape[:-1]), "f32" if in_f32 else element_of(logits))


CROSS_ENTROPY = Operation(
    "cross_entropy", "Tensor logits, Tensor targets, int ignore_index, bool in_f32", result, run
)


def cross_entropy(
    logits: Any,
    targets: Any,
    ignore_index: int = -100,
    reduction: str = "none",
    *,
    out: Any = None,
) -> Any:
    """Return `-log(softmax(logits))[target]` for each row: the cross-entropy of logits and classes.

    The classes are the last dimension of `logits`, which has elements of f32, f16 or bf16, and
    `targets` has an int64 for each row. The loss of a target that is `ignore_index` is 0, and that
    of another one that is no class is NaN. With a `reduction` of "sum" or "mean" the result is that
    of the losses, the mean without those that are ignored. It has the elements of `logits`, and is
    `out` where that is given.
    """
    check_rows("logits", logits)
    check("targets", targets, ["i64"], like=logits)
    check_shape("targets", targets, tuple(logits.shape[:-1]))
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, int):
        raise TypeError(f"ignore_index must be an int, got {ignore_index!r}")
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f'reduction must be "none", "sum" or "mean", got {reduction!r}')
    if reduction == "none":
        return CROSS_ENTROPY(logits, targets, ignore_index, False, out=out)
    losses = CROSS_ENTROPY(logits, targets, ignore_index, True)
    total = losses.sum()
    if reduction == "mean":
        total = mean_of(total, (targets != ignore_index).sum())
    total = total.to(logits.dtype) if is_torch(total) else np.asarray(total, logits.dtype)
    if out is None:
        return total
    check_shape("out", out, ())
    check("out", out, [element_of(logits)], like=logits)
    out[...] = total
    return out


def mean_of(total: Any, count: Any) -> Any:
    """Return the mean, which is NaN where there is nothing."""
    if is_torch(total):
        return total / count
    with np.errstate(invalid="ignore"):
        return total / count
