# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shifts, bit fields, bytes, and truth tables of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.moves import core_kind
from tile_emulator.instructions.slots import UNSIGNED
from tile_emulator.machine.warp import Mask, Warp, lanes_of
from tile_emulator.ptx.module import Imm, Instruction, Pair
from tile_emulator.ptx.types import type_bits

Array = Any
U64 = np.uint64


def shift(d: Decoder, ins: Instruction) -> None:
    """`shl` and `shr`: amounts beyond the width are clamped."""
    kind = ins.parts[-1]
    bits = type_bits(kind) or 32
    a = d.source(ins.operands[1], kind)
    amount = d.source(ins.operands[2], "u32")
    target = d.target(ins.operands[0], kind)
    name = f"shl.{bits}" if ins.family == "shl" else f"shr.{core_kind(kind)}"
    d.operate(name, target, a, amount)


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
    """`lop3.b32`; `.and` and `.or` also give whether the result is not 0, joined with `q`."""
    boolean = ins.parts[1] if len(ins.parts) == 3 else ""
    if ins.parts[-1] != "b32" or len(ins.parts) > 3 or boolean not in ("", "and", "or"):
        raise d.unsupported()
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    immediate = ins.operands[4]
    if not isinstance(immediate, Imm):
        raise d.unsupported()
    table = immediate.value
    first = ins.operands[0]
    predicate = joined = 0
    if boolean:
        if not isinstance(first, Pair):
            raise d.unsupported()
        predicate = d.target(first.second, "pred")
        joined = d.source(ins.operands[5], "pred")
        first = first.first
    target = d.target(first, "b32")
    join: Any = np.logical_and if boolean == "and" else np.logical_or

    def step(w: Warp, m: Mask) -> None:
        x, y, z = w.u[a], w.u[b], w.u[c]
        value = np.zeros(32, dtype=np.uint32)
        for i in range(8):
            if table >> i & 1:
                value |= (x if i & 4 else ~x) & (y if i & 2 else ~y) & (z if i & 1 else ~z)
        if boolean:
            np.copyto(w.u[predicate], join(value != 0, w.u[joined]), where=m)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def find_set(d: Decoder, ins: Instruction) -> None:
    """`fns`: the n-th set bit, counted upwards or downwards from a base bit."""
    if ins.parts[1:] != ("b32",):
        raise d.unsupported()
    mask, base = (d.source(o, "b32") for o in ins.operands[1:3])
    offset = d.source(ins.operands[3], "s32")
    target = d.target(ins.operands[0], "b32")

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        lanes = lanes_of(m)
        outside = w.u[base][lanes] > 31
        if outside.any():
            lane = int(lanes[np.argmax(outside)])
            raise Fault(
                "address",
                f"fns starts at bit {int(w.u[base][lane])} of 32",
                "give a base from 0 to 31",
                lane,
            )
        found = np.full(32, 0xFFFFFFFF, dtype=np.uint32)
        for lane in lanes.tolist():
            bits, start, count = int(w.u[mask][lane]), int(w.u[base][lane]), int(w.s[offset][lane])
            if count == 0:
                places = [start] if bits >> start & 1 else []
            else:
                ways = range(start, 32) if count > 0 else range(start, -1, -1)
                places = [i for i in ways if bits >> i & 1][abs(count) - 1 :]
            if places:
                found[lane] = places[0]
        np.copyto(w.u[target], found, where=m)

    d.emit(step)
