# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer arithmetic and bit manipulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.slots import SIGNED, UNSIGNED
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Imm, Instruction
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


def shift(d: Decoder, ins: Instruction) -> None:
    """`shl` and `shr`: amounts beyond the width are clamped."""
    kind = ins.parts[-1]
    bits = type_bits(kind) or 32
    a = d.source(ins.operands[1], kind)
    amount = d.source(ins.operands[2], "u32")
    target = d.target(ins.operands[0], kind)
    left, signed = ins.family == "shl", kind[0] == "s"
    dtype = UNSIGNED[bits]
    literal = ins.operands[2]
    if isinstance(literal, Imm) and 0 <= literal.value < bits:
        by = (SIGNED if signed else UNSIGNED)[bits](literal.value)
        function: Any = np.left_shift if left else np.right_shift
        if signed:
            d.emit(lambda w, m: function(w.s[a], by, out=w.s[target], where=m))
        else:
            d.emit(lambda w, m: function(w.u[a], by, out=w.u[target], where=m))
        return

    def step(w: Warp, m: Mask) -> None:
        n = w.u[amount]
        if signed:
            value = w.s[a] >> np.minimum(n, bits - 1).astype(SIGNED[bits])
            np.copyto(w.s[target], value, where=m)
            return
        count = np.minimum(n, bits - 1).astype(dtype)
        value = w.u[a] << count if left else w.u[a] >> count
        if int(n.max()) >= bits:
            value = np.where(n >= bits, dtype(0), value)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def funnel(d: Decoder, ins: Instruction) -> None:
    """`shf.l` and `shf.r`, wrapping or clamping."""
    direction, mode = ins.parts[1], ins.parts[2]
    low, high, amount = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")

    def step(w: Warp, m: Mask) -> None:
        n = w.u[amount].astype(U64)
        n = n & U64(31) if mode == "wrap" else np.minimum(n, U64(32))
        both = w.u[high].astype(U64) << U64(32) | w.u[low].astype(U64)
        value = both << n >> U64(32) if direction == "l" else both >> n
        np.copyto(w.u[target], value.astype(np.uint32), where=m)

    d.emit(step)


def _bit_length(values: Array) -> Array:
    wide = values.astype(U64)
    result = np.zeros(wide.shape, dtype=np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        upper = wide >> U64(step)
        some = upper != 0
        result += np.where(some, step, 0)
        wide = np.where(some, upper, wide)
    return result + (wide != 0)


def count_bits(d: Decoder, ins: Instruction) -> None:
    """`popc`, `clz`, `brev`, `bfind`."""
    kind = ins.parts[-1]
    bits = type_bits(kind) or 32
    family = ins.family
    a = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind if family == "brev" else "u32")
    amount = "shiftamt" in ins.parts

    def step(w: Warp, m: Mask) -> None:
        x = w.u[a]
        value: Array
        if family == "brev":
            raw = x.astype(x.dtype.newbyteorder("<")).view(np.uint8).reshape(32, bits // 8)
            flipped = np.packbits(np.unpackbits(raw[:, ::-1], axis=1, bitorder="big"), axis=1,
                                  bitorder="little")  # fmt: skip
            value = np.ascontiguousarray(flipped).view(x.dtype).reshape(32)
        elif family == "popc":
            raw = x.view(np.uint8).reshape(32, bits // 8)
            value = np.unpackbits(raw, axis=1).sum(axis=1)
        elif family == "clz":
            value = bits - _bit_length(x)
        else:
            if kind[0] == "s":
                x = np.where(w.s[a] < 0, ~x, x)
            position = _bit_length(x) - 1
            value = np.where(position >= 0, bits - 1 - position, -1) if amount else position
        np.copyto(w.u[target], value.astype(w.u[target].dtype), where=m)

    d.emit(step)


def bit_field(d: Decoder, ins: Instruction) -> None:
    """`bfe` and `bfi`."""
    kind = ins.parts[-1]
    bits = type_bits(kind) or 32
    insert = ins.family == "bfi"
    a = d.source(ins.operands[1], kind)
    base = d.source(ins.operands[2], kind) if insert else a
    start, length = (d.source(o, "u32") for o in ins.operands[-2:])
    target = d.target(ins.operands[0], kind)
    signed = kind[0] == "s"

    def one(x: int, y: int, at: int, count: int) -> int:
        mask = (1 << bits) - 1
        if insert:
            field = ((1 << count) - 1) << at & mask if at < bits else 0
            return (y & ~field) | (x << at & field)
        count_in = min(count, max(0, bits - at))
        value = x >> at & ((1 << count_in) - 1) if count_in else 0
        if signed and count:
            sign = x >> min(at + count - 1, bits - 1) & 1
            if sign:
                value |= mask & ~((1 << count_in) - 1)
        return value & mask

    def step(w: Warp, m: Mask) -> None:
        at, count = w.u[start] & 0xFF, w.u[length] & 0xFF
        values = [
            one(int(x), int(y), int(p), int(c))
            for x, y, p, c in zip(w.u[a], w.u[base], at, count, strict=False)
        ]
        np.copyto(w.u[target], np.array(values, dtype=UNSIGNED[bits]), where=m)

    d.emit(step)


def bit_mask(d: Decoder, ins: Instruction) -> None:
    """`bmsk` and `szext`."""
    mode = ins.parts[1]
    a, b = (d.source(o, "u32") for o in ins.operands[1:3])
    target = d.target(ins.operands[0], "u32")
    signed = ins.parts[-1] == "s32"

    def step(w: Warp, m: Mask) -> None:
        x, y = w.u[a].astype(U64), w.u[b].astype(U64)
        if mode == "wrap":
            x, y = (x & U64(31) if ins.family == "bmsk" else x), y & U64(31)
        x_count = np.minimum(x, U64(32))
        y_count = np.minimum(y, U64(32))
        one = U64(1)
        if ins.family == "bmsk":
            value = ((one << y_count) - one) << x_count
        else:
            field = (one << y_count) - one
            value = x & field
            if signed:
                sign = (y_count > 0) & (x >> np.maximum(y_count, one) - one & one != 0)
                value = np.where(sign, value | ~field, value)
        np.copyto(w.u[target], (value & U64(0xFFFFFFFF)).astype(np.uint32), where=m)

    d.emit(step)


def permute(d: Decoder, ins: Instruction) -> None:
    """`prmt`, the plain form and the named modes."""
    mode = ins.parts[2] if len(ins.parts) > 2 else ""
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    modes = {
        "f4e": ([0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]),
        "b4e": ([0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]),
        "rc8": ([0] * 4, [1] * 4, [2] * 4, [3] * 4),
        "ecl": ([0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]),
        "ecr": ([0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]),
        "rc16": ([0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]),
    }
    if mode and mode not in modes:
        raise d.unsupported()
    nibbles = np.arange(4, dtype=np.uint32) * np.uint32(4)

    def step(w: Warp, m: Mask) -> None:
        both = np.stack([w.u[a], w.u[b]], axis=1).view(np.uint8)
        selector = w.u[c]
        if mode:
            table = np.array(modes[mode], dtype=np.intp)
            which = table[(selector & np.uint32(3)).astype(np.intp)]
            picked = np.take_along_axis(both, which, axis=1)
        else:
            which = selector[:, None] >> nibbles & np.uint32(15)
            picked = np.take_along_axis(both, (which & np.uint32(7)).astype(np.intp), axis=1)
            sign = (which & np.uint32(8)) != 0
            if sign.any():
                picked = np.where(sign, np.where(picked >> 7, 255, 0).astype(np.uint8), picked)
        value = np.ascontiguousarray(picked).view(np.uint32).reshape(32)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def lookup3(d: Decoder, ins: Instruction) -> None:
    """`lop3.b32`."""
    if len(ins.parts) != 2:
        raise d.unsupported()
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    immediate = ins.operands[4]
    if not isinstance(immediate, Imm):
        raise d.unsupported()
    table = immediate.value
    target = d.target(ins.operands[0], "b32")

    def step(w: Warp, m: Mask) -> None:
        x, y, z = w.u[a], w.u[b], w.u[c]
        value = np.zeros(32, dtype=np.uint32)
        for i in range(8):
            if table >> i & 1:
                value |= (x if i & 4 else ~x) & (y if i & 2 else ~y) & (z if i & 1 else ~z)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def dot_product(d: Decoder, ins: Instruction) -> None:
    """`dp4a` and `dp2a`."""
    kind_a, kind_b = ins.parts[-2], ins.parts[-1]
    four = ins.family == "dp4a"
    upper = "hi" in ins.parts
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    types: dict[str, Any] = {"s32": np.int8, "u32": np.uint8}
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
