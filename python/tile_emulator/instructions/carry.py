# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Extended-precision integers: instructions that take or give the carry bit of the thread."""

from __future__ import annotations

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.integer import product
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits


def emit_carry(d: Decoder, ins: Instruction, x: int, y: int, target: int, kind: str) -> None:
    """Emit a sum or a difference; `.cc` gives the carry, the families in `c` take it."""
    takes = ins.family in ("addc", "subc", "madc")
    operation = "sub" if ins.family.startswith("sub") else "add"
    bits = type_bits(kind) or 32
    flag = d.slots.constant_register("carry", 1)

    def step(a: int, b: int) -> tuple[int, int]:
        """Return what comes of two numbers, and whether it does not fit."""
        value = d.compute(f"{operation}.{bits}", bits, a, b)
        # A sum that does not fit is below what was added; a difference, above what it is of.
        less = (a, b) if operation == "sub" else (value, a)
        return value, d.compute(f"lt.u{bits}", 1, *less)

    value, over = step(x, y)
    if takes:
        carry = d.compute(f"cvt.u{bits}.u1", bits, flag)
        value, again = step(value, carry)
        over = d.compute("or.1", 1, over, again)
    d.operate(f"mov.{bits}", target, value)
    if "cc" in ins.parts:
        d.operate("mov.1", flag, over)


def with_carry(d: Decoder, ins: Instruction) -> None:
    """`addc` and `subc`."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    emit_carry(d, ins, a, b, d.target(ins.operands[0], kind), kind)


def multiply_add_carry(d: Decoder, ins: Instruction) -> None:
    """`mad.lo.cc`, `madc.hi`, ...: half of a product, plus a number, with carry."""
    mode, kind = ins.parts[1], ins.parts[-1]
    a, b, c = (d.source(o, kind) for o in ins.operands[1:4])
    target = d.target(ins.operands[0], kind)
    half = d.compute(product(mode, kind), type_bits(kind) or 32, a, b)
    emit_carry(d, ins, half, c, target, kind)
