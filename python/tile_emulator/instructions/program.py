# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel ready to run: blocks of steps, and how a warp starts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_emulator.instructions.slots import Slots

if TYPE_CHECKING:
    from tile_emulator.machine.warp import Control, Step, Warp
    from tile_emulator.ptx.lexer import Lines
    from tile_emulator.ptx.module import Function, Instruction

# Addresses of shared memory start here; below is what the system reserves, and null.
SHARED_BASE = 0x400


@dataclass(slots=True)
class Block:
    """Steps that run one after another, then at most one control step."""

    body: tuple[Step, ...] = ()
    control: Control | None = None
    next: int = 0
    instructions: int = 0
    blocking: bool = False
    at: Instruction | None = None


@dataclass(slots=True)
class Program:
    """The decoded form of a kernel and of the functions that it calls."""

    kernel: Function
    lines: Lines
    slots: Slots
    blocks: list[Block]
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
