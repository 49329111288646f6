# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel ready to run: blocks of steps, and how a warp starts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator._tile_emulator import Code, Exchange
from tile_emulator.instructions.slots import Slots

if TYPE_CHECKING:
    from tile_emulator.machine.warp import Control, Mask, Step, Warp
    from tile_emulator.ptx.lexer import Lines
    from tile_emulator.ptx.module import Function, Instruction

Body = list["Step | Operation | Access"]

# Addresses of shared memory start here; below is what the system reserves, and null.
SHARED_BASE = 0x400


@dataclass(slots=True)
class Operation:
    """What the core does to registers: `name` is that of its table, such as `add.32`.

    `number` is what it needs besides registers; `whole` writes inactive lanes, too, which only a
    temporary of one instruction takes.
    """

    name: str
    target: int
    sources: tuple[int, ...]
    number: int = 0
    whole: bool = False


@dataclass(slots=True)
class Access:
    """A load (`ld`), a store (`st`) or an atomic (the name of its operation), done by the core.

    The address is what the register `base` holds, of 64 bits where `wide_base`, plus `offset`. An
    element has `width` bytes; each is loaded into, or stored from, one of `slots` (-1: it goes
    nowhere). An atomic combines with `operands`, and with `others` where it has two of them.
    `sync` is called with the addresses of a strong access that may release or acquire something,
    which one that `releases` always does.
    """

    action: str
    space: str
    type: str
    width: int
    strength: int
    base: int
    wide_base: bool
    offset: int
    slots: list[int]
    at: Instruction
    operands: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    sync: Callable[[Warp, Mask, list[int]], None] | None = None
    releases: bool = False


@dataclass(slots=True)
class Branch:
    """Go to `target` where the predicate holds (everywhere where it is -1).

    Lanes that diverge meet again at `meet`. Both cells are filled in when blocks are known.
    """

    target: list[int]
    predicate: int = -1
    negated: bool = False
    meet: list[int] = field(default_factory=lambda: [0])


@dataclass(slots=True)
class CtaBarrier:
    """A barrier that the core lets the lanes of a warp come to together.

    `number` and `count` are slots; without a count (-1) all threads of the CTA open it.
    """

    number: int
    count: int
    waits: bool
    aligned: bool


@dataclass(slots=True)
class Block:
    """Steps that run one after another, then at most one control step."""

    body: tuple[Step | Operation | Access, ...] = ()
    control: Control | Branch | None = None
    next: int = 0
    instructions: int = 0
    blocking: bool = False
    exchange: Exchange | None = None
    barrier: CtaBarrier | None = None
    at: Instruction | None = None


@dataclass(slots=True)
class Program:
    """The decoded form of a kernel and of the functions that it calls."""

    kernel: Function
    lines: Lines
    slots: Slots
    blocks: list[Block]
    code: Code
    entry_pc: int
    local_bytes: int
    static_shared_bytes: int
    dynamic_shared_align: int
    param_offsets: dict[str, int]
    param_bytes: int
    addresses: dict[str, int] = field(default_factory=dict)
    shared_offsets: dict[str, int] = field(default_factory=dict)

    def make_registers(self, warp: Warp) -> None:
        """Fill the registers of `warp`, special registers and addresses among them."""
        self.slots.fill(warp)
        if self.slots.special:
            from tile_emulator.machine.special import special_value

            for slot, (name, offset) in self.slots.special.items():
                # As the hardware does, the lowest bits are taken.
                mask = np.iinfo(warp.u[slot].dtype).max
                value: Any = special_value(warp, name)
                warp.u[slot][:] = value & mask if isinstance(value, int) else value
                warp.u[slot][:] += warp.u[slot].dtype.type(offset & mask)


def make_code(blocks: list[Block]) -> Code:
    """Hand decoded blocks to the core."""
    from tile_emulator.machine.warp import mask_of

    code = Code(mask_of)
    for block in blocks:
        branch = block.control if isinstance(block.control, Branch) else None
        control = None if isinstance(block.control, Branch) else block.control
        code.block(block.next, block.instructions, control, block.at)
        if branch is not None:
            code.branch(branch.target[0], branch.predicate, branch.negated, branch.meet[0])
        if (use := block.barrier) is not None:
            code.barrier(use.number, use.count, use.waits, use.aligned)
        if block.exchange is not None:
            code.exchange(block.exchange)
        for step in block.body:
            if isinstance(step, Operation):
                code.operation(step.name, step.target, step.sources, step.number, step.whole)
            elif isinstance(step, Access):
                code.access(step)
            else:
                code.step(step)
    return code
