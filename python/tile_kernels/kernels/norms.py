# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`rms_norm` and `layer_norm` over the last dimension."""

from __future__ import annotations

import functools
from typing import Any

from mlir import ir
from mlir.dialects import arith, math

from .. import rows
from ..launching import on_rows
from ..operations import Operation, same_as_x
from ..plans import sizes_with_columns
from ..rows import Piece, Row, State, f32, like, to_f32
from ..tensors import FLOATS, check, check_rows, check_shape, number


def build_rms_norm(row: Row, y: ir.Value, weight: ir.Value | None, eps: ir.Value) -> None:
    """Write `x / sqrt(mean(x * x) + eps) * weight`."""
    (sum_,) = row.reduce(0.0, squares, lambda a, b: [arith.addf(a[0], b[0])])
    mean = arith.divf(sum_, row.elements())
    write_scaled(row, y, f32(0.0), math.rsqrt(arith.addf(mean, eps)), weight, None)


def squares(values: list[ir.Value], pieces: list[Piece]) -> State:
    """Return the sum of the squares of the elements."""
    return [rows.total([arith.mulf(value, value) for value in map(to_f32, values)])]


def build_layer_norm(
    row: Row, y: ir.Value, weight: ir.Value | None, bias: ir.Value | None, eps: ir.Value
) -> None:
    """Write `(x - mean) / sqrt(variance + eps) * weight + bias`."""
    _, mean, distances = row.reduce(0.0, moments, combine)
    variance = arith.divf(distances, row.elements())
    write_scaled(row, y, mean, math.rsqrt(arith.addf(variance, eps)), weight, bias)


def moments(values: list[ir.Value], pieces: list[Piece]) -> State:
    """Return the count of the elements, their mean, and the sum of their squared distances."""
    none, numbers = f32(0.0), [f32(piece.lanes) for piece in pieces]
    counts = [
        arith.select(piece.inside, number, none)
        for piece, number in zip(pieces, numbers, strict=True)
    ]
    count = functools.reduce(arith.addf, counts)
    sum_ = rows.total([to_f32(value) for value in values])
    mean = arith.divf(sum_, arith.maximumf(count, f32(1.0)))
    squared = []
    for value, piece in zip(values, pieces, strict=True):
        value = to_f32(rows.anew(value))
        distance = arith.subf(value, like(mean, value))
        square = arith.mulf(distance, distance)
        squared.append(arith.select(piece.inside, square, rows.splat(0.0, square.type)))
    return count, mean, rows.total(squared)


def combine(left: State, right: State) -> State:
    """Return count, mean and sum of squared distances from the mean of two parts (Chan et al.)."""
    count = arith.addf(left[0], right[0])
    part = arith.divf(right[0], arith.maximumf(count, f32(1.0)))
    distance = arith.subf(right[1], left[1])
    mean = arith.addf(left[1], arith.mulf(distance, part))
    between = arith.mulf(arith.mulf(distance, distance), arith.mulf(left[0], part))
    return count, mean, arith.addf(arith.addf(left[2], right[2]), between)


def write_scaled(
    row: Row,
    y: ir.Value,
    mean: ir.Value,
    scale: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
) -> None:
    """Write `(x - mean) * scale * weight + bias`."""
    steps = [(weight, arith.mulf), (bias, arith.addf)]
    given = [(column, step) for column, step in steps if column is not None]

    def finish(values: ir.Value, *others: ir.Value) -> ir.Value:
        result = arith.subf(to_f32(values), like(mean, values))
        result = arith.mulf(result, like(scale, values))
        for (_, step), other in zip(given, others, strict=True):
            result = step(result, to_f32(other))
        return result

    row.write(y, finish, [column for column, _ in given])


RMS_NORM = Operation(
    "rms_norm",
    "Tensor x, Tensor? weight, float eps",
    same_as_x,
    on_rows("rms_norm", build_rms_norm, sizes_with_columns),
)
LAYER_NORM = Operation(
    "layer_norm",
    "Tensor x, Tensor? weight, Tensor? bias, float eps",
    same_as_x,
    on_rows("layer_norm", build_layer_norm, sizes_with_columns),
)


def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6, *, out: Any = None) -> Any:
    """Return `x / sqrt(mean(x * x) + eps) * weight`, with the mean over the last dimension.

    `x` has elements of f32, f16 or bf16, and `weight` one of these types for each column. The
    arithmetic is f32's, rounded once at the end. The result is like `x`, or is `out`, which may be
    `x`.
    """
    check_rows("x", x)
    _check_columns("weight", weight, x)
    return RMS_NORM(x, weight, number("eps", eps), out=out)


def layer_norm(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *, out: Any = None
) -> Any:
    """Return `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimension.

    The arguments are as in `rms_norm`.
    """
    check_rows("x", x)
    _check_columns("weight", weight, x)
    _check_columns("bias", bias, x)
    return LAYER_NORM(x, weight, bias, number("eps", eps), out=out)


def _check_columns(name: str, given: Any, x: Any) -> None:
    if given is None:
        return
    check(name, given, FLOATS, like=x)
    check_shape(name, given, tuple(x.shape[-1:]))
