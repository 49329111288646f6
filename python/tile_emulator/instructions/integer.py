# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic; bits are next door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.slots import SIGNED, UNSIGNED
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Array = Any
U64 = np.uint64


def _saturating(function: Any, low: int, high: int) -> Callable[[Array, Array], Array]:
    def apply(a: Array, b: Array) -> Array:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        return np.clip(wide, low, high).astype(a.dtype)

    return apply


def packed16(d: Decoder, ins: Instruction, function: Any, signed: bool, relu: bool) -> None:
    """`add`, `min`, `max` of two 16-bit lanes; `.relu` leaves no lane negative."""
    a, b = (d.source(o, "b32") for o in ins.operands[1:3])
    target = d.target(ins.operands[0], "b32")
    dtype = np.int16 if signed else np.uint16

    def step(w: Warp, m: Mask) -> None:
        value = function(w.u[a].view(dtype), w.u[b].view(dtype))
        if relu:
            value = np.maximum(value, dtype(0))
        np.copyto(w.u[target], value.view(np.uint32), where=m)

    d.emit(step)


_SIMPLE: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
}


def simple(d: Decoder, ins: Instruction) -> None:
    """`add`, `sub`, `min`, `max`, with `.sat`; carries are kept for `addc`."""
    function = _SIMPLE[ins.family]
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
    signed = kind[0] == "s"
    if kind.endswith("x2"):
        packed16(d, ins, function, signed, "relu" in modifiers)
        return
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    if "cc" in modifiers:
        from tile_emulator.instructions.carry import emit_carry

        emit_carry(d, ins, lambda w: w.u[a], lambda w: w.u[b], target, kind)
        return
    if "sat" in modifiers:
        function = _saturating(function, -(2**31), 2**31 - 1)
        d.emit(lambda w, m: np.copyto(w.s[target], function(w.s[a], w.s[b]), where=m))
        return
    if "relu" in modifiers:
        d.emit(
            lambda w, m: np.copyto(w.s[target], np.maximum(function(w.s[a], w.s[b]), 0), where=m)
        )
        return
    if signed:
        d.emit(lambda w, m: function(w.s[a], w.s[b], out=w.s[target], where=m))
    else:
        d.emit(lambda w, m: function(w.u[a], w.u[b], out=w.u[target], where=m))


def multiply_high(a: Array, b: Array) -> Array:
    """Return the upper halves of products of 64-bit numbers."""
    if a.dtype == np.int64:
        high = multiply_high(a.view(U64), b.view(U64)).view(np.int64)
        return high - np.where(a < 0, b, 0) - np.where(b < 0, a, 0)
    low32, shift = U64(0xFFFFFFFF), U64(32)
    a0, a1, b0, b1 = a & low32, a >> shift, b & low32, b >> shift
    middle = a1 * b0 + (a0 * b0 >> shift)
    other = a0 * b1 + (middle & low32)
    return a1 * b1 + (middle >> shift) + (other >> shift)


def product(mode: str, kind: str) -> Callable[[Array, Array], Array]:
    """Return the function of `mul.lo`, `mul.hi` or `mul.wide`."""
    bits = type_bits(kind) or 32
    table = SIGNED if kind[0] == "s" else UNSIGNED
    if mode == "lo":
        return np.multiply
    if mode == "hi" and bits == 64:
        return multiply_high
    wide = table[2 * bits]
    if mode == "wide":
        return lambda a, b: a.astype(wide) * b.astype(wide)
    narrow = table[bits]
    return lambda a, b: (a.astype(wide) * b.astype(wide) >> wide(bits)).astype(narrow)


def multiply(d: Decoder, ins: Instruction) -> None:
    """`mul.lo`, `.hi`, `.wide`."""
    mode, kind = ins.parts[1], ins.parts[-1]
    if mode not in ("lo", "hi", "wide") or len(ins.parts) != 3:
        raise d.unsupported()
    result = kind[0] + str(2 * (type_bits(kind) or 0)) if mode == "wide" else kind
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], result)
    function, signed = product(mode, kind), kind[0] == "s"
    if mode == "lo":
        d.emit(lambda w, m: np.multiply(w.u[a], w.u[b], out=w.u[target], where=m))
    elif signed:
        d.emit(lambda w, m: np.copyto(w.s[target], function(w.s[a], w.s[b]), where=m))
    else:
        d.emit(lambda w, m: np.copyto(w.u[target], function(w.u[a], w.u[b]), where=m))


def multiply24(d: Decoder, ins: Instruction) -> None:
    """`mul24` and `mad24`: half of a 48-bit product, and what is added to it."""
    mode, kind = ins.parts[1], ins.parts[-1]
    signed = kind[0] == "s"
    saturate = ins.parts[2:-1] == ("sat",)
    if mode not in ("lo", "hi") or (ins.parts[2:-1] and not saturate):
        raise d.unsupported()
    if saturate and (ins.family, mode, kind) != ("mad24", "hi", "s32"):
        raise d.unsupported()
    slots = [d.source(o, kind) for o in ins.operands[1:]]
    target = d.target(ins.operands[0], kind)

    def value24(values: Array) -> Array:
        wide = values.astype(np.int64) & 0xFFFFFF
        return np.where(wide >> 23, wide - (1 << 24), wide) if signed else wide

    def step(w: Warp, m: Mask) -> None:
        result = value24(w.u[slots[0]]) * value24(w.u[slots[1]])
        if mode == "hi":
            result = result >> 16
        if len(slots) > 2:
            result = result + (w.s if signed else w.u)[slots[2]].astype(np.int64)
        if saturate:
            result = np.clip(result, -(2**31), 2**31 - 1)
        np.copyto(w.u[target], result.astype(np.uint32), where=m)

    d.emit(step)


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
    function, signed = product(mode, kind), kind[0] == "s"

    def step(w: Warp, m: Mask) -> None:
        view = w.s if signed else w.u
        value = function(view[a], view[b])
        if saturate:
            wide = value.astype(np.int64) + view[c].astype(np.int64)
            np.copyto(w.s[target], np.clip(wide, -(2**31), 2**31 - 1).astype(np.int32), where=m)
        else:
            np.add(value, view[c], out=view[target], where=m)

    d.emit(step)


def divide(d: Decoder, ins: Instruction) -> None:
    """`div` and `rem`: towards zero; by zero as the hardware does (all ones, the dividend)."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    signed, remainder = kind[0] == "s", ins.family == "rem"

    def step(w: Warp, m: Mask) -> None:
        view = w.s if signed else w.u
        x, y = view[a], view[b]
        zero = y == 0
        safe = np.where(zero, y.dtype.type(1), y)
        if signed:
            quotient = (np.abs(x).view(w.u[a].dtype) // np.abs(safe).view(w.u[a].dtype)).view(
                x.dtype
            )
            quotient = np.where((x < 0) != (safe < 0), -quotient, quotient)
        else:
            quotient = x // safe
        if remainder:
            value = np.where(zero, x, x - quotient * safe)
        else:
            value = np.where(zero, ~np.zeros_like(x), quotient)
        np.copyto(view[target], value, where=m)

    d.emit(step)


def absolute(d: Decoder, ins: Instruction) -> None:
    """`abs` and `neg`."""
    kind = ins.parts[-1]
    a = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)
    function: Any = np.abs if ins.family == "abs" else np.negative
    d.emit(lambda w, m: function(w.s[a], out=w.s[target], where=m))


def sum_of_differences(d: Decoder, ins: Instruction) -> None:
    """`sad`."""
    kind = ins.parts[-1]
    a, b, c = (d.source(o, kind) for o in ins.operands[1:4])
    target = d.target(ins.operands[0], kind)
    signed = kind[0] == "s"

    def step(w: Warp, m: Mask) -> None:
        view = w.s if signed else w.u
        x, y = view[a], view[b]
        np.add(view[c], np.where(x < y, y - x, x - y), out=view[target], where=m)

    d.emit(step)


def dot_product(d: Decoder, ins: Instruction) -> None:
    """`dp4a` and `dp2a`."""
    kind_a, kind_b = ins.parts[-2], ins.parts[-1]
    four = ins.family == "dp4a"
    upper = "hi" in ins.parts
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    types: dict[str, Any] = {"s32": np.int8, "u32": np.uint8}
    if not {kind_a, kind_b} <= types.keys():
        raise d.unsupported()
    halves: dict[str, Any] = {"s32": np.int16, "u32": np.uint16}

    def step(w: Warp, m: Mask) -> None:
        y = w.u[b].view(types[kind_b]).reshape(32, 4).astype(np.int64)
        if four:
            x = w.u[a].view(types[kind_a]).reshape(32, 4).astype(np.int64)
        else:
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
