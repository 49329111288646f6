# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize: rewrite `tile.expect` into one arrive that expects bytes."""

import math

from mlir import ir
from mlir.dialects import nvgpu
from mlir.rewrite import PatternRewriter

from ..dialects import tile
from .addresses import element_bits
from .values import index


def legalize_expect(op: tile.ExpectOp, rewriter: PatternRewriter) -> None:
    """Replace `op` by `mbarrier.arrive.expect_tx`, or by a plain arrive where no byte will come."""
    expected_bytes = sum(tile_bytes(destination.type) for destination in op.destinations)
    with rewriter.ip, op.location:
        if expected_bytes:
            nvgpu.mbarrier_arrive_expect_tx(op.barriers, index(expected_bytes), op.barrier_index)
        else:
            nvgpu.mbarrier_arrive(op.barriers, op.barrier_index)
    rewriter.erase_op(op.operation)


def tile_bytes(tile_type: ir.Type) -> int:
    """Return the bytes that a copy of a tile brings, however it lies in memory."""
    elements: int = math.prod(ir.MemRefType(tile_type).shape)
    return elements * element_bits(tile_type) // 8
