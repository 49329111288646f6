# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`cvt` between integers and floats, with the rounding and saturation of PTX."""

from __future__ import annotations

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.formats import FLOATS8, convert8
from tile_emulator.instructions.moves import core_kind, widened
from tile_emulator.instructions.program import Operation
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

MODES = ("rn", "rz", "rm", "rp")
_FLOATS = {"f16", "bf16", "f32", "f64"}
_TO_INTEGER = ("rni", "rzi", "rmi", "rpi")


def convert(d: Decoder, ins: Instruction) -> None:
    """`cvt` and `cvt.pack`."""
    parts = ins.parts[1:]
    if parts[:1] == ("pack",):
        pack(d, ins)
        return
    to, kind = parts[-2], parts[-1]
    if {to.removesuffix("x2"), kind.removesuffix("x2")} & set(FLOATS8):
        convert8(d, ins)
        return
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
    if to in _FLOATS:
        to_float(d, source, target, kind, to, mode, modifiers)
        return
    if kind in _FLOATS:
        source, kind = from_float(d, source, kind, modifiers)
        d.operate(f"cvt.{mode or 'rzi'}.{core_kind(to)}.{kind}", target, source)
        return
    # Only a signed number that becomes longer needs its sign: the rest is cut off or clamped.
    saturate = ".sat" if "sat" in modifiers else ""
    d.operate(f"cvt{saturate}.{core_kind(to)}.{core_kind(kind)}", target, source)


def from_float(d: Decoder, source: int, kind: str, modifiers: set[str]) -> tuple[int, str]:
    """Return a float as `f32` or `f64`; with `.ftz` a subnormal f32 is zero."""
    if kind == "f32" and "ftz" in modifiers:
        source = d.compute("flush.f32", 32, source)
    return widened(d, source, kind)


def to_float(
    d: Decoder, source: int, target: int, kind: str, to: str, mode: str, modifiers: set[str]
) -> None:
    """To a float, rounded once; between floats an integer mode rounds to an integral value."""
    rounding = mode if mode in MODES else "rn"
    flushes = "ftz" in modifiers and kind in _FLOATS and to == "f32"
    if kind in _FLOATS:
        source, kind = from_float(d, source, kind, modifiers)
        if mode in _TO_INTEGER:
            source = d.compute(f"{mode}.{kind}", type_bits(kind) or 32, source)
        if "satfinite" in modifiers:
            source = d.compute(f"finite.{to}", 32, source)
    else:
        kind = core_kind(kind)
    steps = [f"cvt.{rounding}.{to}.{kind}"] + ["flush.f32"] * flushes
    steps += [f"{name}.{to}" for name in ("sat", "relu") if name in modifiers]
    for step in steps[:-1]:
        source = d.compute(step, type_bits(to) or 32, source)
    d.operate(steps[-1], target, source)


def two(d: Decoder, ins: Instruction, to: str, mode: str, modifiers: set[str]) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: `a` goes to the upper half."""
    if ins.parts[-1] != "f32" or modifiers - {mode, "relu", "satfinite"} or mode not in MODES:
        raise d.unsupported()
    high, low = (d.source(o, "f32") for o in ins.operands[1:3])
    target = d.target(ins.operands[0], "b32")
    both = d.slots.new(32)
    for number, source in enumerate((low, high)):
        part = d.slots.new(16)
        to_float(d, source, part, "f32", to.removesuffix("x2"), mode, modifiers - {mode})
        d.steps.append(Operation("insert.32.16", both, (part,), number, True))
    d.operate("mov.32", target, both)


def to_tf32(d: Decoder, ins: Instruction, mode: str, modifiers: set[str]) -> None:
    """`cvt.rna.tf32.f32`: 10 bits of mantissa, ties away from zero (`rn`: to even)."""
    source, target = d.source(ins.operands[1], "f32"), d.target(ins.operands[0], "b32")
    if mode not in ("rna", "rn", "rz") or modifiers - {"relu", "satfinite"}:
        raise d.unsupported()
    if "relu" in modifiers and mode == "rna":
        raise d.unsupported()
    if "satfinite" in modifiers:
        source = d.compute("finite.tf32", 32, source)
    if "relu" in modifiers:
        source = d.compute("relu.f32", 32, source)
    d.operate(f"tf32.{mode}", target, source)


def pack(d: Decoder, ins: Instruction) -> None:
    """`cvt.pack.sat`: two integers, saturated, with the rest from a third operand."""
    to = ins.parts[3]
    bits = type_bits(to) or 16
    if ins.parts[2] != "sat" or bits not in (8, 16):
        raise d.unsupported()
    high, low = (d.source(o, "s32") for o in ins.operands[1:3])
    rest = d.source(ins.operands[3], "b32") if len(ins.operands) > 3 else None
    target = d.target(ins.operands[0], "b32")
    both = d.slots.new(32)
    for number, source in enumerate((low, high)):
        part = d.compute(f"cvt.sat.{core_kind(to)}.s32", bits, source)
        d.steps.append(Operation(f"insert.32.{bits}", both, (part,), number, True))
    if rest is None or bits == 16:
        d.operate("mov.32", target, both)
        return
    shifted = d.compute("shl.32", 32, rest, d.slots.constant(32, 2 * bits))
    d.operate("or.32", target, both, shifted)
