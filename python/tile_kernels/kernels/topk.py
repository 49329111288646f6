# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`topk`: the largest elements of each row and where they are.

Elements are compared as numbers of 64 bits: a key, which is ordered as the values are, and below it
the complement of the column, so that no two are equal. Each CTA selects the numbers that can be
among the largest, and the first one of the cluster sorts them all.
"""

from __future__ import annotations

import functools
from typing import Any

from mlir import ir
from mlir.dialects import arith, memref

from mlir_tile import builders

from ..launching import RowKernel, launch
from ..operations import Operation
from ..plans import Sizes
from ..rows import Row
from ..tensors import Result, check_rows, element_of, in_place, rows_of, write_back
from .numbers import (
    EQ,
    ULT,
    i32,
    narrowed,
    to_index,
    widened,
)
from .selecting import (
    Buffers,
    bound_of_groups,
    buffers_of,
    collect,
    find_hits,
    gather,
    keys_of_groups,
)
from .sorting import sort

MAX_K = 4096
FEW_ROWS = 4
MIN_CAPACITY = 64


def build(row: Row, values: ir.Value, places: ir.Value, k: ir.Value, *shared: ir.Value) -> None:
    """Write the `k` largest elements of the row, and their columns."""
    k, buffers = narrowed(k), Buffers(*shared)
    keys = keys_of_groups(row)
    bound, highest = bound_of_groups(row, keys, k, buffers)
    find_hits(row, keys, bound, buffers)
    bound, total = collect(row, bound, highest, k, buffers)
    if row.plan.cluster > 1:
        gather(row, buffers)
    with builders.if_true(arith.cmpi(EQ, row.rank, builders.index(0))):
        sort(
            row,
            total,
            bound,
            highest,
            buffers,
            lambda *found: write(row, values, places, k, *found),
        )


def write(
    row: Row, values: ir.Value, places: ir.Value, k: ir.Value, rank: ir.Value, number: ir.Value
) -> None:
    """Write the element with a number, if it is one of the `k` largest."""
    with builders.if_true(arith.cmpi(ULT, rank, k)):
        column = arith.xori(narrowed(number), i32(-1))
        value = memref.load(row.x, [row.number, to_index(column)])
        memref.store(value, values, [row.number, to_index(rank)])
        memref.store(widened(column), places, [row.number, to_index(rank)])


def results(x: Any, k: int) -> tuple[Result, Result]:
    """Return that there are `k` values and columns for each row."""
    shape = (*x.shape[:-1], k)
    return Result(shape, element_of(x)), Result(shape, "i64")


def run(x: Any, k: int, values: Any, places: Any) -> None:
    """Write the `k` largest elements of each row, and their columns."""
    into = [in_place(values), in_place(places)]
    written = [rows_of(tensor, k) for tensor in into]
    launch(kernel_for(k), rows_of(in_place(x), x.shape[-1]), [*written, k])
    for given, tensor in zip(written, into, strict=True):
        write_back(given, tensor)


@functools.cache
def kernel_for(k: int) -> RowKernel:
    """Return the kernel that has room for twice `k` elements."""
    capacity = max(MIN_CAPACITY, 2 << (k - 1).bit_length())
    return RowKernel("topk", build, False, functools.partial(buffers_of, capacity), sizes_for)


def sizes_for(rows: int, vectors_of_row: int) -> Sizes:
    """Return the sizes for rows of so many vectors, as they were measured to be fast."""
    block = 512
    while block > 64 and vectors_of_row < 4 * block:
        block //= 2
    cluster = 1
    while cluster < (16 if rows <= FEW_ROWS else 8) and vectors_of_row > 4 * cluster * block:
        cluster *= 2
    return Sizes(cluster, block, 8)


TOPK = Operation("topk", "Tensor x, int k", results, run, count=2)


def topk(x: Any, k: int, *, out: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """Return the `k` largest elements of each row of `x`, and their columns as int64.

    They are sorted, the largest first; of equal ones that in the lower column comes first, and NaN
    is larger than all numbers. `x` has elements of f32, f16 or bf16, and `k` is at most 4096. The
    results are `out` where that is given.
    """
    check_rows("x", x)
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"k must be an int, got {k!r}")
    if not 0 <= k <= min(x.shape[-1], MAX_K):
        limit = "the length of a row" if k > x.shape[-1] else "what fits into shared memory"
        highest = min(x.shape[-1], MAX_K)
        raise ValueError(f"k must be in 0 to {highest}, {limit}, got {k}")
    values, places = TOPK(x, k, out=out)
    return values, places
