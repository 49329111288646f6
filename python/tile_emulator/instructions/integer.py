# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic; bits are next door."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.moves import core_kind
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Array = Any


def simple(d: Decoder, ins: Instruction) -> None:
    """`add`, `sub`, `min`, `max`, with `.sat`; carries are kept for `addc`."""
    # NVIDIA's headers write `.relu` behind the type as well: `max.s16x2.relu`.
    kind = next((p for p in reversed(ins.parts) if p != "relu"), "")
    modifiers = set(ins.parts[1:]) - {kind}
    sum_or_difference = ins.family in ("add", "sub")
    allowed = {
        "sat": sum_or_difference and kind == "s32",
        "cc": sum_or_difference and not kind.endswith("x2"),
        "relu": not sum_or_difference and kind in ("s32", "s16x2"),
    }
    if not all(allowed.get(m) for m in modifiers):
        raise d.unsupported()
    if kind.endswith("x2"):
        a, b = (d.source(o, "b32") for o in ins.operands[1:3])
        target = d.target(ins.operands[0], "b32")
        if "relu" not in modifiers:
            d.operate(f"{ins.family}.{kind}", target, a, b)
            return
        least = d.compute(f"{ins.family}.{kind}", 32, a, b)
        d.operate(f"max.{kind}", target, least, d.slots.constant(32, 0))
        return
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    if "cc" in modifiers:
        from tile_emulator.instructions.carry import emit_carry

        emit_carry(d, ins, a, b, target, kind)
        return
    bits = type_bits(kind)
    if "sat" in modifiers:
        d.operate(f"{ins.family}.sat.32", target, a, b)
    elif "relu" in modifiers:
        least = d.compute(f"{ins.family}.{core_kind(kind)}", 32, a, b)
        d.operate("relu.32", target, least)
    elif sum_or_difference:
        d.operate(f"{ins.family}.{bits}", target, a, b)
    else:
        d.operate(f"{ins.family}.{core_kind(kind)}", target, a, b)


def product(mode: str, kind: str) -> str:
    """Return the name of the operation of `mul.lo`, `mul.hi` or `mul.wide`."""
    return f"mul.lo.{type_bits(kind)}" if mode == "lo" else f"mul.{mode}.{core_kind(kind)}"


def multiply(d: Decoder, ins: Instruction) -> None:
    """`mul.lo`, `.hi`, `.wide`."""
    mode, kind = ins.parts[1], ins.parts[-1]
    if mode not in ("lo", "hi", "wide") or len(ins.parts) != 3:
        raise d.unsupported()
    result = kind[0] + str(2 * (type_bits(kind) or 0)) if mode == "wide" else kind
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    d.operate(product(mode, kind), d.target(ins.operands[0], result), a, b)


def multiply24(d: Decoder, ins: Instruction) -> None:
    """`mul24` and `mad24`: half of a 48-bit product, and what is added to it."""
    mode, kind = ins.parts[1], ins.parts[-1]
    saturate = ins.parts[2:-1] == ("sat",)
    if mode not in ("lo", "hi") or (ins.parts[2:-1] and not saturate):
        raise d.unsupported()
    if saturate and (ins.family, mode, kind) != ("mad24", "hi", "s32"):
        raise d.unsupported()
    slots = [d.source(o, kind) for o in ins.operands[1:]]
    target = d.target(ins.operands[0], kind)

    bits = d.slots.constant(32, 8)

    def value24(slot: int) -> int:
        top = d.compute("shl.32", 32, slot, bits)
        return d.compute(f"shr.{core_kind(kind)}", 32, top, bits)

    letter = kind[0]
    result = d.compute(f"mul.wide.{letter}32", 64, value24(slots[0]), value24(slots[1]))
    if mode == "hi":
        result = d.compute(f"shr.{letter}64", 64, result, d.slots.constant(32, 16))
    if len(slots) > 2:
        wide = d.compute(f"cvt.{letter}64.{letter}32", 64, slots[2])
        result = d.compute("add.64", 64, result, wide)
    d.operate("cvt.sat.s32.s64" if saturate else "cvt.u32.u64", target, result)


def multiply_add(d: Decoder, ins: Instruction) -> None:
    """`mad.lo`, `.hi`, `.wide`."""
    mode, kind = ins.parts[1], ins.parts[-1]
    if mode in ("lo", "hi") and ("cc" in ins.parts or ins.family == "madc"):
        from tile_emulator.instructions.carry import multiply_add_carry

        multiply_add_carry(d, ins)
        return
    saturate = ins.parts[2:-1] == ("sat",)
    if mode not in ("lo", "hi", "wide") or (ins.parts[2:-1] and not saturate):
        raise d.unsupported()
    if saturate and (mode, kind) != ("hi", "s32"):
        raise d.unsupported()
    result = kind[0] + str(2 * (type_bits(kind) or 0)) if mode == "wide" else kind
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    c = d.source(ins.operands[3], result)
    target = d.target(ins.operands[0], result)
    bits = type_bits(result) or 32
    part = d.compute(product(mode, kind), bits, a, b)
    d.operate("add.sat.32" if saturate else f"add.{bits}", target, part, c)


def divide(d: Decoder, ins: Instruction) -> None:
    """`div` and `rem`: towards zero; by zero as the hardware does (all ones, the dividend)."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    d.operate(f"{ins.family}.{core_kind(kind)}", d.target(ins.operands[0], kind), a, b)


def absolute(d: Decoder, ins: Instruction) -> None:
    """`abs` and `neg`."""
    kind = ins.parts[-1]
    a = d.source(ins.operands[1], kind)
    d.operate(f"{ins.family}.{type_bits(kind)}", d.target(ins.operands[0], kind), a)


def sum_of_differences(d: Decoder, ins: Instruction) -> None:
    """`sad`."""
    kind = ins.parts[-1]
    a, b, c = (d.source(o, kind) for o in ins.operands[1:4])
    target = d.target(ins.operands[0], kind)
    bits, typed = type_bits(kind) or 32, core_kind(kind)
    most, least = (d.compute(f"{name}.{typed}", bits, a, b) for name in ("max", "min"))
    distance = d.compute(f"sub.{bits}", bits, most, least)
    d.operate(f"add.{bits}", target, distance, c)


def dot_product(d: Decoder, ins: Instruction) -> None:
    """`dp4a` and `dp2a`."""
    kind_a, kind_b = ins.parts[-2], ins.parts[-1]
    upper = "hi" in ins.parts
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    types: dict[str, Any] = {"s32": np.int8, "u32": np.uint8}
    if not {kind_a, kind_b} <= types.keys():
        raise d.unsupported()
    if ins.family == "dp4a":
        d.operate(f"dp4a.{kind_a}.{kind_b}", target, a, b, c)
        return
    halves: dict[str, Any] = {"s32": np.int16, "u32": np.uint16}

    def step(w: Warp, m: Mask) -> None:
        y = w.u[b].view(types[kind_b]).reshape(32, 4).astype(np.int64)
        x = w.u[a].view(halves[kind_a]).reshape(32, 2).astype(np.int64)
        y = y[:, 2:] if upper else y[:, :2]
        value = (x * y).sum(axis=1) + w.u[c].astype(np.int64)
        np.copyto(w.u[target], (value & 0xFFFFFFFF).astype(np.uint32), where=m)

    d.emit(step)


def byte_differences(d: Decoder, ins: Instruction) -> None:
    """`vabsdiff4`: the distances of four pairs of bytes, or with `.add` their sum onto `c`."""
    kinds = ins.parts[1:4]
    saturate, accumulate = ins.parts[4:] == ("sat",), ins.parts[4:] == ("add",)
    if len(kinds) != 3 or set(kinds) - {"u32", "s32"}:
        raise d.unsupported()
    if ins.parts[4:] and not saturate and not accumulate:
        raise d.unsupported()
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    types: dict[str, Any] = {"s32": np.int8, "u32": np.uint8}
    info = np.iinfo(types[kinds[0]])

    def step(w: Warp, m: Mask) -> None:
        x = w.u[a].view(types[kinds[1]]).astype(np.int64)
        y = w.u[b].view(types[kinds[2]]).astype(np.int64)
        distance = np.abs(x - y)
        if accumulate:
            value = distance.reshape(32, 4).sum(axis=1) + w.u[c].astype(np.int64)
            result = (value & 0xFFFFFFFF).astype(np.uint32)
        else:
            if saturate:
                distance = np.clip(distance, info.min, info.max)
            result = distance.astype(np.uint8).view(np.uint32)
        np.copyto(w.u[target], result, where=m)

    d.emit(step)
