# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize: rewrite `tile.arrive` into a remote arrive."""

from mlir.dialects import nvvm
from mlir.rewrite import PatternRewriter

from ..dialects import tile
from .addresses import mapped, own_barrier


def legalize_arrive(op: tile.ArriveOp, rewriter: PatternRewriter) -> None:
    """Replace `op` by `mapa` and `mbarrier.arrive.shared::cluster.b64 _`.

    Only a pointer into the cluster's shared memory gives that form; the local form on a mapped
    address assembles, too, and faults. `mapa` of the CTA's own rank needs no case of its own.
    """
    with rewriter.ip, op.location:
        barrier = mapped(own_barrier(op.barriers, op.barrier_index), op.rank)
        scope = nvvm.MemScopeKind.CLUSTER if op.scope.value == "cluster" else None
        nvvm.mbarrier_arrive(None, barrier, scope=scope)
    rewriter.erase_op(op.operation)
