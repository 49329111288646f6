# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage and parity of a ring of buffers, counted together, as IR.

Stage build: reads and makes `arith` values at the caller's insertion point, and knows no
barrier. Waits on the wrong parity return at once or never, so that no kernel should count by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith

from .validation import integer


@dataclass(frozen=True)
class PipelineState:
    """The position of one side in a ring of `stages` buffers.

    `stage`, an `index`, is the buffer of this step; `parity`, an `i1`, is that of the phase to wait
    for on `barrier`. A ring has either a barrier for each stage, whose parity changes once a turn,
    or one barrier for all of them, whose parity changes with each step: `barriers` is their number.

        state = PipelineState.consumer(stages=2)
        for _, carried, _ in scf.for_(first, last, step, iter_args=state.values):
            state = state.carried(carried)
            tile.wait((full, state.barrier), state.parity)
            ...
            scf.yield_(state.advance().values)
    """

    stage: ir.Value
    parity: ir.Value
    stages: int
    barriers: int

    @classmethod
    def consumer(cls, stages: int, barriers: int | None = None) -> PipelineState:
        """Return the state of a side that first waits for what is yet to come: parity 0.

        `barriers` is `stages`, the default, or 1; `TypeError` or `ValueError` otherwise.
        """
        return cls._first(stages, barriers, parity=0)

    @classmethod
    def producer(cls, stages: int, barriers: int | None = None) -> PipelineState:
        """Return the state of a side that first finds everything of `stages` free: parity 1.

        `barriers` is `stages`, the default, or 1; `TypeError` or `ValueError` otherwise.
        A wait for the phase before a barrier's first one returns at once, so that the first turn
        needs no case of its own. One barrier for several stages can tell only neighbouring phases
        apart: there the producer waits, from the second step on, for what freed the step before.
        """
        return cls._first(stages, barriers, parity=1)

    @classmethod
    def _first(cls, stages: int, barriers: int | None, parity: int) -> PipelineState:
        stages = integer("stages", stages, 1)
        barriers = stages if barriers is None else integer("barriers", barriers, or_else=" or None")
        if barriers not in (1, stages):
            raise ValueError(f"barriers must be 1 or the stages, {stages}, got {barriers}")
        return cls(
            arith.constant(ir.IndexType.get(), 0),
            arith.constant(ir.IntegerType.get_signless(1), parity),
            stages,
            barriers,
        )

    @property
    def barrier(self) -> ir.Value:
        """The place of the stage's barrier in its group, an `index`."""
        if self.barriers == self.stages:
            return self.stage
        return arith.constant(ir.IndexType.get(), 0)

    @property
    def values(self) -> list[ir.Value]:
        """What a loop carries: `iter_args` and operands of its `scf.yield`."""
        return [self.stage, self.parity]

    def carried(self, values: Sequence[ir.Value]) -> PipelineState:
        """Return the state made of what a loop carried, in the order of `values`."""
        stage, parity = values
        return PipelineState(stage, parity, self.stages, self.barriers)

    def advance(self) -> PipelineState:
        """Return the state of the next step."""
        index, i1 = ir.IndexType.get(), ir.IntegerType.get_signless(1)
        after = arith.addi(self.stage, arith.constant(index, 1))
        wraps = arith.cmpi(arith.CmpIPredicate.eq, after, arith.constant(index, self.stages))
        stage = arith.select(wraps, arith.constant(index, 0), after)
        changes = wraps if self.barriers == self.stages else arith.constant(i1, 1)
        return PipelineState(stage, arith.xori(self.parity, changes), self.stages, self.barriers)
