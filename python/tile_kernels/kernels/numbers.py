# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers in a kernel: constants, widths, and keys that are ordered as floats are."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from mlir import ir
from mlir.dialects import arith, gpu, memref, nvvm, scf, vector

from mlir_tile import builders

from .. import rows
from ..rows import Row, f32, less

EQ, UGE, UGT, ULE, ULT = (
    getattr(arith.CmpIPredicate, name) for name in ("eq", "uge", "ugt", "ule", "ult")
)


def i32(value: int) -> ir.Value:
    """Return a constant of 32 bits."""
    return builders.i32(value)


def i64(value: int) -> ir.Value:
    """Return a constant of 64 bits."""
    return arith.constant(ir.IntegerType.get_signless(64), value)


def widened(value: ir.Value) -> ir.Value:
    """Return an unsigned number in 64 bits."""
    return arith.extui(ir.IntegerType.get_signless(64), value)


def narrowed(value: ir.Value) -> ir.Value:
    """Return the lower 32 bits of a number."""
    return arith.trunci(ir.IntegerType.get_signless(32), value)


def to_index(value: ir.Value) -> ir.Value:
    """Return an unsigned number as an index."""
    return arith.index_castui(ir.IndexType.get(), value)


def key_of(value: ir.Value) -> ir.Value:
    """Return the key of an f32: unsigned numbers in the order of the values, NaN last."""
    number = ir.IntegerType.get_signless(32)
    bits = arith.bitcast(number, arith.addf(value, f32(0.0)))  # which makes -0 of 0 the same
    flipped = arith.ori(arith.shrsi(bits, i32(31)), i32(-(1 << 31)))
    is_nan = arith.cmpf(arith.CmpFPredicate.UNO, value, value)
    return arith.select(is_nan, i32(-1), arith.xori(bits, flipped))


def largest(values: ir.Value) -> ir.Value:
    """Return the largest lane in f32; NaN is the largest."""
    element = values.type.element_type
    return rows.to_f32(vector.reduction(element, "maximumf", values))


def count_of(conditions: Sequence[ir.Value]) -> ir.Value:
    """Return how many conditions hold."""
    number = i32(0)
    for condition in conditions:
        number = arith.addi(number, arith.extui(number.type, condition))
    return number


@contextlib.contextmanager
def each(row: Row, end: ir.Value) -> Iterator[ir.Value]:
    """Build a loop in which the threads of the CTA share the numbers below `end`."""
    loop = scf.ForOp(row.thread, end, builders.index(row.plan.block))
    with ir.InsertionPoint(loop.body):
        yield loop.induction_variable
        scf.yield_([])


def in_block(row: Row, kind: str, values: Sequence[ir.Value], parts: ir.Value) -> list[ir.Value]:
    """Return what the values of all threads of the CTA make, to each of them."""
    warps, warp_size = row.plan.block // 32, builders.index(32)
    kind_of, everyone = nvvm.ReduxKind[kind], i32(-1)

    def in_warp(value: ir.Value) -> ir.Value:
        return nvvm.redux_sync(value.type, value, kind_of, everyone)

    lane, warp = arith.remui(row.thread, warp_size), arith.divui(row.thread, warp_size)
    is_first = arith.cmpi(EQ, lane, builders.index(0))
    is_one = less(lane, builders.index(warps))
    mine = [in_warp(value) for value in values]
    if warps == 1:
        return mine
    places = [arith.addi(builders.index(n * warps), warp) for n in range(len(values))]
    with builders.if_true(is_first):
        for value, place in zip(mine, places, strict=True):
            memref.store(value, parts, [place])
    gpu.barrier()
    # Lanes beyond the warps see the neutral element of both kinds.
    lanes = arith.select(is_one, lane, builders.index(0))
    found = []
    for number in range(len(values)):
        place = arith.addi(builders.index(number * warps), lanes)
        found.append(arith.select(is_one, memref.load(parts, [place]), i32(0)))
    result = [in_warp(part) for part in found]
    gpu.barrier()
    return result
