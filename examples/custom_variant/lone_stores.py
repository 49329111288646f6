# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `lone_stores`: a load and an `st.async` for each word of 4 bytes, by one thread.

It copies what the project's own variants decline under `issue(thread)`: layouts whose longest
common run is shorter than the 16 bytes of a bulk copy.
"""

from mlir import ir
from mlir.dialects import llvm

import mlir_tile as mt
from mlir_tile import variants

WORD_BYTES = 4


def issue(copy: variants.Copy) -> None:
    """Issue one store for each copy of the plan, which are words."""
    i32 = ir.IntegerType.get_signless(32)
    barrier = llvm.ptrtoint(i32, copy.barrier)
    with copy.threads.one():
        for src_bytes, dst_bytes in variants.chunk_offsets(copy.plan):
            word = llvm.load(i32, copy.src.at(src_bytes), alignment=WORD_BYTES)
            address = llvm.ptrtoint(i32, copy.dst.at(dst_bytes))
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
    max_bytes=WORD_BYTES,
    min_ptx=81,
    uses_async_proxy=False,
    cost=mt.Cost(base_cycles=1000, cycles_per_copy=100),
)
