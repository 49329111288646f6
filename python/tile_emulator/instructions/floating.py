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
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.moves import reader
from tile_emulator.instructions.rounding import (
    MODES,
    add,
    flush,
    fma,
    multiply,
    round_bf16,
)
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction
from tile_emulator.ptx.types import type_bits

Array = Any
FLOATS = ("f16", "bf16", "f16x2", "bf16x2", "f32", "f64")
_NATIVE = ("f32", "f64")
_NAN = {"f16": np.uint16(0x7FFF), "f32": np.uint32(0x7FFFFFFF)}
_UINT: dict[str, Any] = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}


def finish(value: Array, kind: str, modifiers: set[str]) -> Array:
    """Apply `.ftz`, `.sat`, `.relu`, and give bits with the hardware's NaN."""
    element = kind.removesuffix("x2")
    if "ftz" in modifiers:
        value = flush(value, element)
    if "sat" in modifiers:
        zero = value.dtype.type(0)
        value = np.where(np.isnan(value), zero, np.clip(value, 0, 1)) + zero
    if "relu" in modifiers:
        value = np.maximum(value, value.dtype.type(0))
    if element == "bf16":
        return round_bf16(value)
    bits = np.ascontiguousarray(value).view(_UINT[element])
    nan = _NAN.get(element)
    if nan is not None:
        isnan = np.isnan(value)
        if isnan.any():
            bits = np.where(isnan, nan, bits)
    return bits


def emit_float(
    d: Decoder,
    ins: Instruction,
    kind: str,
    modifiers: set[str],
    function: Callable[..., Array],
    count: int,
) -> None:
    """Emit `target = function(operands)` for values of type `kind`."""
    sources = [d.source(o, kind) for o in ins.operands[1 : 1 + count]]
    target = d.target(ins.operands[0], kind)
    read = reader(kind)
    ftz = "ftz" in modifiers
    element = kind.removesuffix("x2")

    def step(w: Warp, m: Mask) -> None:
        values = [read(w, s) for s in sources]
        if ftz:
            values = [flush(v, element) for v in values]
        bits = finish(function(*values), kind, modifiers)
        out = w.u[target]
        np.copyto(out, bits.view(out.dtype), where=m)

    d.emit(step)


def emit_native(
    d: Decoder, ins: Instruction, name: str, kind: str, modifiers: set[str], count: int
) -> None:
    """Emit the operation `name` of the core on `count` operands of f32 or f64."""
    sources = [d.source(o, kind) for o in ins.operands[1 : 1 + count]]
    emit_native_slots(d, name, kind, modifiers, d.target(ins.operands[0], kind), sources)


def emit_native_slots(
    d: Decoder, name: str, kind: str, modifiers: set[str], target: int, sources: list[int]
) -> None:
    """The same on slots; `.ftz` takes subnormal operands and results for zeros, `.sat` clamps."""
    width = type_bits(kind) or 32
    flushes = "ftz" in modifiers and kind == "f32"
    if flushes:
        sources = [d.compute("flush.f32", 32, source) for source in sources]
    steps = [f"{name}.{kind}"] * (len(sources) - 1 if name[:3] in ("min", "max") else 1)
    after = ["flush.f32"] * flushes + [f"sat.{kind}"] * ("sat" in modifiers)
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
    element = kind.removesuffix("x2")
    if kind in _NATIVE:
        emit_native(d, ins, f"{family}.{mode}", kind, others, 2)
    elif family == "mul":
        emit_float(d, ins, kind, others, lambda a, b: multiply(a, b, element, mode), 2)
    elif family == "add":
        emit_float(d, ins, kind, others, lambda a, b: add(a, b, element, mode), 2)
    else:
        emit_float(d, ins, kind, others, lambda a, b: add(a, -b, element, mode), 2)


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
    least = ins.family == "min"
    nan = "NaN" in others
    xorsign = "xorsign" in others
    count = len(ins.operands) - 1
    if kind in _NATIVE:
        name = ins.family + ".NaN" * nan + ".xorsign" * xorsign
        emit_native(d, ins, name, kind, others & {"ftz"}, count)
        return

    def function(*values: Array) -> Array:
        result = values[0]
        for value in values[1:]:
            result = pair(result, value)
        return result

    def pair(a: Array, b: Array) -> Array:
        flip = np.signbit(a) != np.signbit(b)
        if xorsign:
            a, b = np.abs(a), np.abs(b)
        if nan:
            value = np.minimum(a, b) if least else np.maximum(a, b)
        else:
            value = np.fmin(a, b) if least else np.fmax(a, b)
        equal = a == b
        if equal.any():
            negative = np.signbit(a) | np.signbit(b) if least else np.signbit(a) & np.signbit(b)
            value = np.where(equal & (a == 0), np.where(negative, -value.dtype.type(0),
                             value.dtype.type(0)), value)  # fmt: skip
        if xorsign:
            value = np.where(flip, -np.abs(value), np.abs(value))
        return value

    emit_float(d, ins, kind, others & {"ftz"}, function, count)


def fused(d: Decoder, ins: Instruction) -> None:
    """`fma`, and `mad` of floats, which is the same."""
    kind, mode, others = _split(d, ins, {"ftz", "sat", "relu"})
    element = kind.removesuffix("x2")
    if kind in _NATIVE:
        emit_native(d, ins, f"fma.{mode}", kind, others, 3)
    else:
        emit_float(d, ins, kind, others, lambda a, b, c: fma(a, b, c, element, mode), 3)


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
    emit_native(d, ins, f"div.{mode}", kind, others & {"ftz"}, 2)


def _in_f64(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


_APPROXIMATE: dict[str, Callable[[Array], Array]] = {
    "rsqrt": _in_f64(lambda a: 1 / np.sqrt(a)),
    "sin": _in_f64(np.sin),
    "cos": _in_f64(np.cos),
    "lg2": _in_f64(np.log2),
    "ex2": _in_f64(np.exp2),
    "tanh": _in_f64(np.tanh),
}


def unary(d: Decoder, ins: Instruction) -> None:
    """`sqrt`, `rcp`, and the approximate functions."""
    kind, mode, others = _split(d, ins, {"ftz", "approx"})
    family = ins.family
    flags = others & {"ftz"}
    if family == "sqrt":
        emit_native(d, ins, f"sqrt.{mode}", kind, flags, 1)
    elif family == "rcp":
        bits = type_bits(kind) or 32
        one = d.slots.constant(bits, 0x3F800000 if bits == 32 else 0x3FF << 52)
        source, target = d.source(ins.operands[1], kind), d.target(ins.operands[0], kind)
        if "approx" in others and kind == "f64":
            whole = d.compute("div.rn.f64", 64, one, source)
            d.operate("and.64", target, whole, d.slots.constant(64, 0xFFFFFFFF << 32))
        else:
            emit_native_slots(d, f"div.{mode}", kind, flags, target, [one, source])
    else:
        function = _APPROXIMATE[family]
        element = kind.removesuffix("x2")

        def apply(a: Array) -> Array:
            return function(a) if element != "bf16" else function(a.astype(np.float64))

        def narrow_back(a: Array) -> Array:
            return apply(a).astype(np.float32) if element == "bf16" else apply(a)

        emit_float(d, ins, kind, flags, narrow_back, 1)


def copysign(d: Decoder, ins: Instruction) -> None:
    """`copysign`: the sign of the first operand on the magnitude of the second."""
    kind = ins.parts[-1]
    if kind not in ("f32", "f64"):
        raise d.unsupported()
    emit_native(d, ins, "copysign", kind, set(), 2)


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
