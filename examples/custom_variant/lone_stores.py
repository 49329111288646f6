# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `lone_stores`: a load and an `st.async` for each word of 4 bytes, by one thread.

It copies what the project's own variants decline under `issue(thread)`: layouts whose longest
common run is shorter than the 16 bytes of a bulk copy.
"""

from mlir import ir
from mlir.dialects import llvm

import mlir_tile as mt
from mlir_tile import variants
from mlir_tile.dialects import tile

WORD_BYTES = 4


def issue(op: tile.CopyAsyncOp) -> None:
    """Issue one store for each copy of `op.plan`, which are words."""
    plan, i32 = op.plan, ir.IntegerType.get_signless(32)
    src = variants.Side(op.src, plan.src_start, plan.src_swizzle)
    dst = variants.Side(op.dst, plan.dst_start, plan.dst_swizzle)
    dst.map_to(op.rank)
    barrier = variants.mapped_barrier(op.barriers, op.barrier_index, op.rank)
    barrier = llvm.ptrtoint(i32, barrier)
    with variants.one_thread_of(op):
        for src_bytes, dst_bytes in variants.chunk_offsets(plan):
            word = llvm.load(i32, src.at(src_bytes), alignment=WORD_BYTES)
            address = llvm.ptrtoint(i32, dst.at(dst_bytes))
            # PTX ISA 8.1
            llvm.inline_asm(
                None,
                [address, word, barrier],
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];",
                "r,r,r,~{memory}",
                has_side_effects=True,
            )


# The cost is a guess, and large: where another variant can copy the tile, it shall.
mt.register_variant(
    "lone_stores",
    issue,
    granule_bytes=WORD_BYTES,
    most_bytes=WORD_BYTES,
    cost=mt.Cost(base_clk=1000, clk_per_copy=100),
)
