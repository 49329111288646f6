# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extended-precision integers: instructions that take or give the carry bit of the thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.integer import product
from tile_emulator.instructions.slots import UNSIGNED
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Value = Callable[[Warp], Any]


def emit_carry(
    d: Decoder, ins: Instruction, first: Value, second: Value, target: int, kind: str
) -> None:
    """Emit a sum or a difference; `.cc` gives the carry, the families in `c` take it."""
    takes = ins.family in ("addc", "subc", "madc")
    subtracts = ins.family.startswith("sub")
    gives = "cc" in ins.parts
    dtype = UNSIGNED[type_bits(kind) or 32]
    flag = d.slots.constant_register("carry", 1)

    def step(w: Warp, m: Mask) -> None:
        x, y = first(w), second(w)
        carry = w.u[flag].astype(dtype) if takes else np.zeros(32, dtype=dtype)
        if subtracts:
            part = x - y
            value = part - carry
            out = (x < y) | (part < carry)
        else:
            part = x + y
            value = part + carry
            out = (part < x) | (value < part)
        np.copyto(w.u[target], value, where=m)
        if gives:
            np.copyto(w.u[flag], out, where=m)

    d.emit(step)


def with_carry(d: Decoder, ins: Instruction) -> None:
    """`addc` and `subc`."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    emit_carry(d, ins, lambda w: w.u[a], lambda w: w.u[b], target, kind)


def multiply_add_carry(d: Decoder, ins: Instruction) -> None:
    """`mad.lo.cc`, `madc.hi`, ...: half of a product, plus a number, with carry."""
    mode, kind = ins.parts[1], ins.parts[-1]
    a, b, c = (d.source(o, kind) for o in ins.operands[1:4])
    target = d.target(ins.operands[0], kind)
    half = d.compute(product(mode, kind), type_bits(kind) or 32, a, b)
    emit_carry(d, ins, lambda w: w.u[half], lambda w: w.u[c], target, kind)
