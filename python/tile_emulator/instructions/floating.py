# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point arithmetic: f16, bf16, f32, f64, and packed pairs.

Approximate instructions (`ex2.approx`, `sin.approx`, ...) are computed in binary64 and rounded:
within the manual's error bounds, but not bit for bit what the hardware gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions import integer
from tile_emulator.instructions.convert import MODES
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Array = Any
FLOATS = ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64")
_NATIVE = ("f32", "f64")
_TWICE = ("min", "max")


def operation(d: Decoder, name: str, mode: str, kind: str) -> str:
    """Return the name of an operation that rounds; those of 16-bit floats round to nearest."""
    if kind in _NATIVE:
        return f"{name}.{mode}"
    if mode != "rn":
        raise d.unsupported()
    return name


def emit_float(
    d: Decoder, ins: Instruction, name: str, kind: str, modifiers: set[str], count: int
) -> None:
    """Emit the operation `name` of the core on `count` operands."""
    sources = [d.source(o, kind) for o in ins.operands[1 : 1 + count]]
    emit_slots(d, name, kind, modifiers, d.target(ins.operands[0], kind), sources)


def emit_slots(
    d: Decoder, name: str, kind: str, modifiers: set[str], target: int, sources: list[int]
) -> None:
    """The same on slots; `.ftz` takes subnormal operands and results for zeros, `.sat` clamps."""
    width = type_bits(kind) or 32
    flushes = "ftz" in modifiers and kind in ("f32", "f16", "f16x2")
    if flushes:
        sources = [d.compute(f"flush.{kind}", width, source) for source in sources]
    steps = [f"{name}.{kind}"] * (len(sources) - 1 if name[:3] in _TWICE else 1)
    after = [f"flush.{kind}"] * flushes
    after += [f"{clamp}.{kind}" for clamp in ("sat", "relu") if clamp in modifiers]
    if len(steps) > 1:
        sources = [d.compute(steps.pop(), width, *sources[:2]), sources[2]]
    for step in (steps + after)[:-1]:
        sources = [d.compute(step, width, *sources)]
    d.operate((steps + after)[-1], target, *sources)


def _split(d: Decoder, ins: Instruction, allowed: set[str]) -> tuple[str, str, set[str]]:
    """Return type, rounding mode and the other modifiers of an instruction."""
    kind = ins.parts[-1]
    rest = set(ins.parts[1:-1])
    modes = [p for p in ins.parts[1:-1] if p in MODES]
    others = rest - set(modes)
    if kind not in FLOATS or len(modes) > 1 or others - allowed:
        raise d.unsupported()
    return kind, modes[0] if modes else "rn", others


def arithmetic(d: Decoder, ins: Instruction) -> None:
    """`add`, `sub`, `mul`, `min`, `max`, `abs`, `neg`: floats here, integers next door."""
    kind, family = ins.parts[-1], ins.family
    if kind not in FLOATS:
        if family == "mul":
            integer.multiply(d, ins)
        elif family in ("abs", "neg"):
            integer.absolute(d, ins)
        else:
            integer.simple(d, ins)
        return
    if family in ("min", "max"):
        extreme(d, ins)
        return
    if family in ("abs", "neg"):
        sign(d, ins)
        return
    kind, mode, others = _split(d, ins, {"ftz", "sat"})
    emit_float(d, ins, operation(d, family, mode, kind), kind, others, 2)


def sign(d: Decoder, ins: Instruction) -> None:
    """`abs` and `neg` of floats: the sign bit only."""
    kind = ins.parts[-1]
    if set(ins.parts[1:-1]) - ({"ftz"} if kind in ("f16", "f16x2", "f32") else set()):
        raise d.unsupported()
    element = kind.removesuffix("x2")
    bits = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[element]
    top = 1 << (bits - 1)
    if kind.endswith("x2"):
        top |= top << 16
    source, target = d.source(ins.operands[1], kind), d.target(ins.operands[0], kind)
    width = type_bits(kind) or 32
    if "ftz" in ins.parts:
        source = d.compute(f"flush.{kind}", width, source)
    if ins.family == "neg":
        d.operate(f"xor.{width}", target, source, d.slots.constant(width, top))
    else:
        d.operate(f"and.{width}", target, source, d.slots.constant(width, (1 << width) - 1 - top))


def extreme(d: Decoder, ins: Instruction) -> None:
    """`min` and `max`: -0 is below +0; without `.NaN` a number wins over NaN."""
    kind, _, others = _split(d, ins, {"ftz", "NaN", "xorsign", "abs"})
    name = ins.family + ".NaN" * ("NaN" in others) + ".xorsign" * ("xorsign" in others)
    emit_float(d, ins, name, kind, others & {"ftz"}, len(ins.operands) - 1)


def fused(d: Decoder, ins: Instruction) -> None:
    """`fma`, and `mad` of floats, which is the same."""
    kind, mode, others = _split(d, ins, {"ftz", "sat", "relu"})
    emit_float(d, ins, operation(d, "fma", mode, kind), kind, others, 3)


def mad(d: Decoder, ins: Instruction) -> None:
    """`mad`."""
    if ins.parts[-1] in FLOATS:
        fused(d, ins)
    else:
        integer.multiply_add(d, ins)


def division(d: Decoder, ins: Instruction) -> None:
    """`div`."""
    if ins.parts[-1] not in FLOATS:
        integer.divide(d, ins)
        return
    kind, mode, others = _split(d, ins, {"ftz", "approx", "full"})
    emit_float(d, ins, f"div.{mode}", kind, others & {"ftz"}, 2)


def unary(d: Decoder, ins: Instruction) -> None:
    """`sqrt`, `rcp`, and the approximate functions."""
    kind, mode, others = _split(d, ins, {"ftz", "approx"})
    family = ins.family
    flags = others & {"ftz"}
    if family == "sqrt":
        emit_float(d, ins, f"sqrt.{mode}", kind, flags, 1)
    elif family == "rcp":
        bits = type_bits(kind) or 32
        one = d.slots.constant(bits, 0x3F800000 if bits == 32 else 0x3FF << 52)
        source, target = d.source(ins.operands[1], kind), d.target(ins.operands[0], kind)
        if "approx" in others and kind == "f64":
            whole = d.compute("div.rn.f64", 64, one, source)
            d.operate("and.64", target, whole, d.slots.constant(64, 0xFFFFFFFF << 32))
        else:
            emit_slots(d, f"div.{mode}", kind, flags, target, [one, source])
    else:
        emit_float(d, ins, family, kind, flags, 1)


def copysign(d: Decoder, ins: Instruction) -> None:
    """`copysign`: the sign of the first operand on the magnitude of the second."""
    kind = ins.parts[-1]
    if kind not in ("f32", "f64"):
        raise d.unsupported()
    emit_float(d, ins, "copysign", kind, set(), 2)


def test_property(d: Decoder, ins: Instruction) -> None:
    """`testp`."""
    question, kind = ins.parts[1], ins.parts[-1]
    source, target = d.source(ins.operands[1], kind), d.target(ins.operands[0], "pred")
    tiny = 2.0**-126 if kind == "f32" else 2.0**-1022
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < tiny),
    }
    test = tests[question]
    d.emit(lambda w, m: np.copyto(w.u[target], test(w.f[source]), where=m))
