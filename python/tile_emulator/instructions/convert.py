# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cvt` between integers and floats, with the rounding and saturation of PTX."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.floating import finish
from tile_emulator.instructions.moves import core_kind, reader
from tile_emulator.instructions.rounding import (
    MODES,
    flush,
    integer_to_f64_odd,
    narrow,
    round_bf16,
)
from tile_emulator.instructions.slots import SIGNED, UNSIGNED
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Array = Any
_FLOATS = {"f16", "bf16", "f32", "f64"}
_TO_INTEGER: dict[str, Any] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def convert(d: Decoder, ins: Instruction) -> None:
    """`cvt` and `cvt.pack`."""
    parts = ins.parts[1:]
    if parts[:1] == ("pack",):
        pack(d, ins)
        return
    to, kind = parts[-2], parts[-1]
    modifiers = set(parts[:-2])
    mode = next((p for p in parts[:-2] if p in MODES or p in _TO_INTEGER or p == "rna"), "")
    if to in ("f16x2", "bf16x2"):
        two(d, ins, to, mode or "rn", modifiers)
        return
    if to == "tf32" and kind == "f32":
        to_tf32(d, ins, mode, modifiers - {mode})
        return
    allowed = {mode, "ftz", "sat"}
    if to in ("f16", "bf16") and kind == "f32":
        allowed |= {"relu", "satfinite"}
    if modifiers - allowed or mode == "rna":
        raise d.unsupported()
    for name in (to, kind):
        if type_bits(name) is None or name.endswith("x2"):
            raise d.unsupported()
    source = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], to)
    if kind in _FLOATS and to in _FLOATS:
        step = float_to_float(source, target, kind, to, mode, modifiers)
    elif kind in _FLOATS:
        step = float_to_integer(source, target, kind, to, mode or "rzi", modifiers)
    elif to in _FLOATS:
        step = integer_to_float(source, target, kind, to, mode or "rn", modifiers)
    else:
        # Only a signed number that becomes longer needs its sign: the rest is cut off or clamped.
        saturate = ".sat" if "sat" in modifiers else ""
        d.operate(f"cvt{saturate}.{core_kind(to)}.{core_kind(kind)}", target, source)
        return
    d.emit(step)


# The greatest finite number of a format, which `.satfinite` gives for all above it.
_GREATEST = {
    "f16": (2 - 2.0**-10) * 2.0**15,
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "tf32": (2 - 2.0**-10) * 2.0**127,
}


def within(value: Array, to: str) -> Array:
    """Replace what is beyond the finite numbers of a format by the greatest (`.satfinite`)."""
    return np.clip(value, -_GREATEST[to], _GREATEST[to])


def float_to_float(
    source: int, target: int, kind: str, to: str, mode: str, modifiers: set[str]
) -> Any:
    """Between float formats; an integer mode rounds to an integral value."""
    read = reader(kind)
    integral = _TO_INTEGER.get(mode)
    rounding = mode if mode in MODES else "rn"
    ftz = "ftz" in modifiers
    flags = modifiers & {"sat", "relu"}
    finite = "satfinite" in modifiers
    if ftz and to == "f32":
        flags.add("ftz")

    def step(w: Warp, m: Mask) -> None:
        value = read(w, source)
        if ftz and kind == "f32":
            value = flush(value, kind)
        if integral is not None:
            value = integral(value)
        wide = value.astype(np.float64)
        if finite:
            wide = within(wide, to)
        bits = finish(narrow(wide, to, rounding), to, flags)
        out = w.u[target]
        np.copyto(out, bits.view(out.dtype), where=m)

    return step


def float_to_integer(
    source: int, target: int, kind: str, to: str, mode: str, modifiers: set[str]
) -> Any:
    """Clamped to the range; NaN gives 0, or the lowest value where f64 or 64 bits take part."""
    read = reader(kind)
    integral = _TO_INTEGER[mode]
    bits = type_bits(to) or 32
    signed = to[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    nan = 1 << bits - 1 if kind == "f64" or bits == 64 else 0
    dtype = SIGNED[bits] if signed else UNSIGNED[bits]
    unsigned = UNSIGNED[bits]

    def step(w: Warp, m: Mask) -> None:
        value = read(w, source).astype(np.float64)
        if "ftz" in modifiers and kind == "f32":
            value = flush(value, kind)
        value = integral(value)
        isnan = np.isnan(value)
        inside = (value > low) & (value < high)
        safe = np.where(inside, value, 0)
        result = safe.astype(dtype).view(unsigned)
        mask = (1 << bits) - 1
        result = np.where(value >= high, unsigned(high & mask), result)
        result = np.where(value <= low, unsigned(low & mask), result)
        result = np.where(isnan, unsigned(nan), result)
        np.copyto(w.u[target], result, where=m)

    return step


def integer_to_float(
    source: int, target: int, kind: str, to: str, mode: str, modifiers: set[str]
) -> Any:
    """Rounded once, also from 64 bits."""
    read = reader(kind)

    def step(w: Warp, m: Mask) -> None:
        value = read(w, source)
        result = to_f64(value, mode) if to == "f64" else narrow(integer_to_f64_odd(value), to, mode)
        bits = finish(result, to, modifiers & {"sat"})
        np.copyto(w.u[target], bits.view(w.u[target].dtype), where=m)

    return step


def to_f64(value: Array, mode: str) -> Array:
    """Convert integers to float64 in any rounding mode."""
    near = value.astype(np.float64)
    if mode == "rn" or value.dtype.itemsize < 8:
        return near
    for lane, exact in enumerate(value.tolist()):
        back = int(near[lane])
        if back > exact and (mode == "rm" or (mode == "rz" and exact > 0)):
            near[lane] = np.nextafter(near[lane], -np.inf)
        elif back < exact and (mode == "rp" or (mode == "rz" and exact < 0)):
            near[lane] = np.nextafter(near[lane], np.inf)
    return near


def two(d: Decoder, ins: Instruction, to: str, mode: str, modifiers: set[str]) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: `a` goes to the upper half."""
    if ins.parts[-1] != "f32" or modifiers - {mode, "relu", "satfinite"} or mode not in MODES:
        raise d.unsupported()
    high, low = (d.source(o, "f32") for o in ins.operands[1:3])
    target = d.target(ins.operands[0], "b32")
    element = to.removesuffix("x2")
    flags = modifiers & {"relu"}
    finite = "satfinite" in modifiers

    def one(value: Array) -> Array:
        if element == "bf16" and not flags and not finite:
            return round_bf16(value, mode)
        wide = value.astype(np.float64)
        if finite:
            wide = within(wide, element)
        return finish(narrow(wide, element, mode), element, flags)

    def step(w: Warp, m: Mask) -> None:
        upper, lower = one(w.f[high]).astype(np.uint32), one(w.f[low]).astype(np.uint32)
        np.copyto(w.u[target], upper << np.uint32(16) | lower, where=m)

    d.emit(step)


def to_tf32(d: Decoder, ins: Instruction, mode: str, modifiers: set[str]) -> None:
    """`cvt.rna.tf32.f32`: 10 bits of mantissa, ties away from zero (`rn`: to even)."""
    source, target = d.source(ins.operands[1], "f32"), d.target(ins.operands[0], "b32")
    if mode not in ("rna", "rn", "rz") or modifiers - {"relu", "satfinite"}:
        raise d.unsupported()
    relu, finite = "relu" in modifiers, "satfinite" in modifiers
    if relu and mode == "rna":
        raise d.unsupported()

    def step(w: Warp, m: Mask) -> None:
        number = w.f[source]
        if finite:
            number = within(number.astype(np.float64), "tf32").astype(np.float32)
        if relu:
            number = np.maximum(number, np.float32(0))
        bits = number.view(np.uint32)
        odd = bits >> np.uint32(13) & np.uint32(1)
        add = {"rna": np.uint32(0x1000), "rn": np.uint32(0xFFF) + odd, "rz": np.uint32(0)}[mode]
        value = (bits + add) & np.uint32(0xFFFFE000)
        value = np.where(np.isfinite(number), value, bits)
        value = np.where(np.isnan(number), np.uint32(0x7FFFFFFF), value)
        np.copyto(w.u[target], value, where=m)

    d.emit(step)


def pack(d: Decoder, ins: Instruction) -> None:
    """`cvt.pack.sat`: two integers, saturated, with the rest from a third operand."""
    to = ins.parts[3]
    bits = type_bits(to) or 16
    if ins.parts[2] != "sat" or bits not in (8, 16):
        raise d.unsupported()
    a, b = (d.source(o, "s32") for o in ins.operands[1:3])
    c = d.source(ins.operands[3], "b32") if len(ins.operands) > 3 else None
    target = d.target(ins.operands[0], "b32")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    mask = np.int64((1 << bits) - 1)

    def step(w: Warp, m: Mask) -> None:
        upper = np.clip(w.s[a].astype(np.int64), low, high) & mask
        lower = np.clip(w.s[b].astype(np.int64), low, high) & mask
        value = upper << bits | lower
        if c is not None:
            value = value | w.u[c].astype(np.int64) << 2 * bits
        np.copyto(w.u[target], (value & 0xFFFFFFFF).astype(np.uint32), where=m)

    d.emit(step)
