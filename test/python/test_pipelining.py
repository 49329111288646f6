# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PipelineState` against a model that counts steps in plain Python."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.dialects import arith, func, memref, scf
from mlir.execution_engine import ExecutionEngine
from mlir.passmanager import PassManager
from mlir.runtime import get_ranked_memref_descriptor

import mlir_tile as mt

STEPS = 24


def model(step: int, stages: int, barriers: int, first_parity: int) -> tuple[int, int, int]:
    """Return stage, barrier and parity: a barrier's phase is how often it has been used before."""
    stage = step % stages
    barrier = stage if barriers == stages else 0
    uses_before = sum(
        (earlier % stages if barriers == stages else 0) == barrier for earlier in range(step)
    )
    return stage, barrier, (first_parity + uses_before) % 2


def first_state(side: str, stages: int, barriers: int) -> mt.PipelineState:
    return getattr(mt.PipelineState, side)(stages, barriers)


RINGS = st.integers(1, 7).flatmap(
    lambda stages: st.tuples(st.just(stages), st.sampled_from(sorted({1, stages})))
)


@settings(max_examples=60, deadline=None)
@given(ring=RINGS, side=st.sampled_from(["consumer", "producer"]), steps=st.integers(0, STEPS))
def test_steps_written_out_fold_to_the_model(ring: tuple[int, int], side: str, steps: int) -> None:
    stages, barriers = ring
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [ir.Type.parse(text) for text in ("index", "index", "i1")]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ir.FunctionType.get([], types))
        with ir.InsertionPoint(function.add_entry_block()):
            state = first_state(side, stages, barriers)
            for _ in range(steps):
                state = state.advance()
            func.return_([state.stage, state.barrier, state.parity])
        PassManager.parse("builtin.module(canonicalize)").run(module.operation)
        returned = next(
            op for op in function.entry_block.operations if op.operation.name == "func.return"
        )
        folded = tuple(abs(operand.owner.opview.literal_value) for operand in returned.operands)
    assert folded == model(steps, stages, barriers, int(side == "producer"))


@pytest.mark.parametrize("side", ["consumer", "producer"])
@pytest.mark.parametrize(("stages", "barriers"), [(1, 1), (2, 2), (3, 3), (4, 1), (7, 7)])
def test_a_loop_carries_the_model(side: str, stages: int, barriers: int) -> None:
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        index, i64 = ir.IndexType.get(), ir.IntegerType.get_signless(64)
        table = ir.MemRefType.get([STEPS, 3], i64)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", ir.FunctionType.get([table], []))
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        with ir.InsertionPoint(function.add_entry_block()):
            state = first_state(side, stages, barriers)
            bounds = [arith.constant(index, bound) for bound in (0, STEPS, 1)]
            loop = scf.ForOp(*bounds, state.values)
            with ir.InsertionPoint(loop.body):
                state = state.carried(loop.inner_iter_args)
                row = [
                    arith.index_cast(i64, state.stage),
                    arith.index_cast(i64, state.barrier),
                    arith.extui(i64, state.parity),
                ]
                for column, value in enumerate(row):
                    place = [loop.induction_variable, arith.constant(index, column)]
                    memref.store(value, function.arguments[0], place)
                scf.yield_(state.advance().values)
            func.return_([])
        PassManager.parse(
            "builtin.module(convert-scf-to-cf, convert-to-llvm, reconcile-unrealized-casts)"
        ).run(module.operation)
        found = np.zeros((STEPS, 3), np.int64)
        descriptor = get_ranked_memref_descriptor(found)
        pointer = ctypes.pointer(ctypes.pointer(descriptor))
        ExecutionEngine(module).invoke("f", pointer)
    expected = [model(step, stages, barriers, int(side == "producer")) for step in range(STEPS)]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("stages", "barriers", "message"),
    [
        (0, None, "stages must be at least 1, got 0"),
        (4, 2, "barriers must be 1 or the stages, 4, got 2"),
    ],
)
def test_a_ring_that_cannot_be_is_refused(stages: int, barriers: int | None, message: str) -> None:
    with mt.context(), ir.Location.unknown(), pytest.raises(ValueError, match=re.escape(message)):
        mt.PipelineState.consumer(stages, barriers)
