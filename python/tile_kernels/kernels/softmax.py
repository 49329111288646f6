# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`softmax` and `log_softmax` over the last dimension."""

from __future__ import annotations

from typing import Any

from mlir import ir
from mlir.dialects import arith, math

from .. import rows
from ..launching import on_rows
from ..operations import Operation, same_as_x
from ..rows import Piece, Row, State, exp, f32, like, to_f32
from ..tensors import check_rows

LOWEST = float("-inf")


def finite(largest: ir.Value) -> ir.Value:
    """Return what to subtract before `exp`: 0 where there is nothing above minus infinity."""
    nothing = arith.cmpf(arith.CmpFPredicate.OEQ, largest, f32(LOWEST))
    return arith.select(nothing, f32(0.0), largest)


def exp_sum(values: list[ir.Value], pieces: list[Piece]) -> State:
    """Return the maximum of the elements, and the sum of `exp(element - maximum)`."""
    largest = rows.maximum(values)
    shift = finite(largest)
    shifted = [arith.subf(value, like(shift, value)) for value in map(to_f32, values)]
    return largest, rows.total([exp(value) for value in shifted])


def combine(left: State, right: State) -> State:
    """Return the maximum and the sum of two parts: each sum is brought to the new maximum."""
    largest = arith.maxnumf(left[0], right[0])
    shift = finite(largest)
    sums = [arith.mulf(s, exp(arith.subf(m, shift))) for m, s in (left, right)]
    return largest, arith.addf(*sums)


def build_softmax(row: Row, y: ir.Value) -> None:
    """Write `exp(x - maximum) / sum`."""
    largest, sum_ = row.reduce(LOWEST, exp_sum, combine)
    scale = arith.divf(f32(1.0), sum_)

    def finish(values: ir.Value) -> ir.Value:
        values = to_f32(values)
        return arith.mulf(exp(arith.subf(values, like(largest, values))), like(scale, values))

    row.write(y, finish)


def build_log_softmax(row: Row, y: ir.Value) -> None:
    """Write `x - maximum - log(sum)`."""
    largest, sum_ = row.reduce(LOWEST, exp_sum, combine)
    log_sum = math.log(sum_)

    def finish(values: ir.Value) -> ir.Value:
        values = to_f32(values)
        return arith.subf(arith.subf(values, like(largest, values)), like(log_sum, values))

    row.write(y, finish)


SOFTMAX = Operation("softmax", "Tensor x", same_as_x, on_rows("softmax", build_softmax))
LOG_SOFTMAX = Operation(
    "log_softmax", "Tensor x", same_as_x, on_rows("log_softmax", build_log_softmax)
)


def softmax(x: Any, *, out: Any = None) -> Any:
    """Return `exp(x) / sum(exp(x))` over the last dimension of `x`, as PyTorch's `softmax(x, -1)`.

    `x` has elements of f32, f16 or bf16; the result is like it, or is `out`, which may be `x`.
    """
    check_rows("x", x)
    return SOFTMAX(x, out=out)


def log_softmax(x: Any, *, out: Any = None) -> Any:
    """Return the logarithm of `softmax(x)`, as PyTorch's `log_softmax(x, -1)`.

    `x` has elements of f32, f16 or bf16; the result is like it, or is `out`, which may be `x`.
    """
    check_rows("x", x)
    return LOG_SOFTMAX(x, out=out)
