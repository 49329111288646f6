# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shifts, bit fields, bytes, and truth tables of integers."""

from __future__ import annotations

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.moves import core_kind
from tile_emulator.instructions.program import Operation
from tile_emulator.machine.warp import Mask, Warp, lanes_of
from tile_emulator.ptx.module import Imm, Instruction, Pair
from tile_emulator.ptx.types import type_bits


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

    if direction not in ("l", "r") or mode not in ("wrap", "clamp"):
        raise d.unsupported()
    d.operate(f"shf.{direction}.{mode}", target, low, high, amount)


def count_bits(d: Decoder, ins: Instruction) -> None:
    """`popc`, `clz`, `brev`, `bfind`."""
    kind = ins.parts[-1]
    family = ins.family
    a = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind if family == "brev" else "u32")
    amount = ".shiftamt" if "shiftamt" in ins.parts else ""
    last = core_kind(kind) if family == "bfind" else str(type_bits(kind))
    d.operate(f"{family}{amount}.{last}", target, a)


def bit_field(d: Decoder, ins: Instruction) -> None:
    """`bfe` and `bfi`."""
    kind = ins.parts[-1]
    sources = [d.source(o, kind) for o in ins.operands[1:-2]]
    sources += [d.source(o, "u32") for o in ins.operands[-2:]]
    last = type_bits(kind) if ins.family == "bfi" else core_kind(kind)
    d.operate(f"{ins.family}.{last}", d.target(ins.operands[0], kind), *sources)


def bit_mask(d: Decoder, ins: Instruction) -> None:
    """`bmsk` and `szext`."""
    a, b = (d.source(o, "u32") for o in ins.operands[1:3])
    kind = "" if ins.family == "bmsk" else f".{core_kind(ins.parts[-1])}"
    d.operate(f"{ins.family}.{ins.parts[1]}{kind}", d.target(ins.operands[0], "u32"), a, b)


# What `prmt` picks by the two lowest bits of its third operand: bytes, lowest first.
_PICKS = {
    "f4e": ("0123", "1234", "2345", "3456"),
    "b4e": ("0765", "1076", "2107", "3210"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("0123", "1123", "2223", "3333"),
    "ecr": ("0000", "0111", "0122", "0123"),
    "rc16": ("0101", "2323", "0101", "2323"),
}


def permute(d: Decoder, ins: Instruction) -> None:
    """`prmt`, the plain form and the named modes."""
    mode = ins.parts[2] if len(ins.parts) > 2 else ""
    a, b, c = (d.source(o, "b32") for o in ins.operands[1:4])
    target = d.target(ins.operands[0], "b32")
    if mode:
        if mode not in _PICKS:
            raise d.unsupported()
        choice = d.compute("and.32", 32, c, d.slots.constant(32, 3))
        c = d.slots.constant(32, int(_PICKS[mode][0][::-1], 16))
        for number, bytes_ in enumerate(_PICKS[mode][1:], 1):
            chosen = d.compute("eq.u32", 1, choice, d.slots.constant(32, number))
            c = d.compute("selp.32", 32, d.slots.constant(32, int(bytes_[::-1], 16)), c, chosen)
    d.operate("prmt", target, a, b, c)


def lookup3(d: Decoder, ins: Instruction) -> None:
    """`lop3.b32`; `.and` and `.or` also give whether the result is not 0, joined with `q`."""
    boolean = ins.parts[1] if len(ins.parts) == 3 else ""
    if ins.parts[-1] != "b32" or len(ins.parts) > 3 or boolean not in ("", "and", "or"):
        raise d.unsupported()
    sources = tuple(d.source(o, "b32") for o in ins.operands[1:4])
    immediate = ins.operands[4]
    if not isinstance(immediate, Imm):
        raise d.unsupported()
    first = ins.operands[0]
    predicate = joined = 0
    if boolean:
        if not isinstance(first, Pair):
            raise d.unsupported()
        predicate = d.target(first.second, "pred")
        joined = d.source(ins.operands[5], "pred")
        first = first.first
    target = d.target(first, "b32")
    value = d.slots.new(32)
    d.steps.append(Operation("lop3", value, sources, immediate.value & 0xFF, True))
    if boolean:
        some = d.compute("ne.u32", 1, value, d.slots.constant(32, 0))
        d.operate(f"{boolean}.1", predicate, some, joined)
    d.operate("mov.32", target, value)


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
