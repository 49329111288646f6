# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize: rewrite `tile.wait` into a loop over `mbarrier.try_wait.parity`."""

from mlir import ir
from mlir.dialects import arith, llvm, nvgpu, nvvm, scf
from mlir.rewrite import PatternRewriter

from ..dialects import tile
from .addresses import own_barrier
from .values import constant, index

SUSPEND_NS = 10_000_000
"""How long the hardware may suspend the thread for one try of upstream's loop."""


def legalize_wait(op: tile.WaitOp, rewriter: PatternRewriter) -> None:
    """Replace `op` by upstream's wait, or by a loop of ours for what that one cannot say."""
    with rewriter.ip, op.location:
        if op.max_spins is None and op.scope.value == "cta":
            nvgpu.mbarrier_try_wait_parity(
                op.barriers, op.parity, index(SUSPEND_NS), op.barrier_index
            )
        else:
            spin(op)
    rewriter.erase_op(op.operation)


def spin(op: tile.WaitOp) -> None:
    """Build `while (!try_wait(barrier, parity))`, with a count of failures where it is bounded."""
    i1, i32 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(32)
    barrier = own_barrier(op.barriers, op.barrier_index)
    parity = arith.extui(i32, op.parity)
    bound = None if op.max_spins is None else ir.IntegerAttr(op.max_spins).value
    failures = [] if bound is None else [constant(i32, 0)]
    loop = scf.WhileOp([value.type for value in failures], failures)
    types = [value.type for value in failures]
    before = loop.before.blocks.append(*types)
    after = loop.after.blocks.append(*types)
    with ir.InsertionPoint(before):
        scope = nvvm.MemScopeKind.CLUSTER if op.scope.value == "cluster" else None
        done = nvvm.mbarrier_try_wait(i1, barrier, parity, scope=scope)
        again = arith.xori(done, constant(i1, 1))
        scf.condition(again, before.arguments)
    with ir.InsertionPoint(after):
        counted = []
        if bound is not None:
            counted = [arith.addi(after.arguments[0], constant(i32, 1))]
            trap_if(arith.cmpi(arith.CmpIPredicate.uge, counted[0], constant(i32, bound)))
        scf.yield_(counted)


def trap_if(condition: ir.Value) -> None:
    """Build a trap, which ends the kernel with an error, under `condition`."""
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        llvm.intr_trap()
        scf.yield_([])
