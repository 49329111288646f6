# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves, selections, comparisons, and logic on predicates and bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.rounding import bf16_to_f32, flush
from tile_emulator.instructions.slots import UNSIGNED
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction, Pair
from tile_emulator.ptx.types import type_bits

Array = Any


def move(d: Decoder, ins: Instruction) -> None:
    """`mov`: registers, literals, addresses, and packing or unpacking of vectors."""
    kind = ins.parts[-1]
    if len(ins.parts) != 2:
        raise d.unsupported()
    source = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)

    def step(w: Warp, m: Mask) -> None:
        if m is True:
            w.u[target][:] = w.u[source]
        else:
            np.copyto(w.u[target], w.u[source], where=m)

    d.emit(step)


def select(d: Decoder, ins: Instruction) -> None:
    """`selp`."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    predicate = d.source(ins.operands[3], "pred")
    target = d.target(ins.operands[0], kind)

    def step(w: Warp, m: Mask) -> None:
        u = w.u
        np.copyto(u[target], np.where(u[predicate], u[a], u[b]), where=m)

    d.emit(step)


def select_sign(d: Decoder, ins: Instruction) -> None:
    """`slct`: by the sign of the third operand; with `.ftz` a subnormal one counts as zero."""
    kind, by = ins.parts[-2], ins.parts[-1]
    if set(ins.parts[1:-2]) - {"ftz"} or by not in ("s32", "f32"):
        raise d.unsupported()
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    c = d.source(ins.operands[3], by)
    target = d.target(ins.operands[0], kind)
    read = flushing_reader(by, "ftz" in ins.parts)

    def step(w: Warp, m: Mask) -> None:
        np.copyto(w.u[target], np.where(read(w, c) >= 0, w.u[a], w.u[b]), where=m)

    d.emit(step)


def _unordered(compare: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


_COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
    "ne": np.not_equal,
    "equ": _unordered(np.equal),
    "neu": np.not_equal,
    "ltu": _unordered(np.less),
    "leu": _unordered(np.less_equal),
    "gtu": _unordered(np.greater),
    "geu": _unordered(np.greater_equal),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
_BOOLEAN: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}


def comparison(operator: str, kind: str) -> Callable[[Array, Array], Array]:
    """Return a comparison of values of type `kind`; `ne` is ordered for floats."""
    compare = _COMPARE[operator]
    if operator == "ne" and "f" in kind:
        return lambda a, b: np.not_equal(a, b) & ~(np.isnan(a) | np.isnan(b))
    return compare


def reader(kind: str) -> Callable[[Warp, int], Array]:
    """Return a function that reads a slot as numbers of type `kind`."""
    if kind == "bf16":
        return lambda w, slot: bf16_to_f32(w.u[slot])
    if kind == "bf16x2":
        return lambda w, slot: bf16_to_f32(w.u[slot].view(np.uint16))
    if kind == "f16x2":
        return lambda w, slot: w.u[slot].view(np.float16)
    if kind[0] == "f":
        return lambda w, slot: w.f[slot]
    if kind[0] == "s":
        return lambda w, slot: w.s[slot]
    return lambda w, slot: w.u[slot]


def flushing_reader(kind: str, ftz: bool) -> Callable[[Warp, int], Array]:
    """Return a `reader` that replaces subnormals by zeros of their sign where `ftz` is given."""
    read = reader(kind)
    if not ftz:
        return read
    element = kind.removesuffix("x2")
    return lambda w, slot: flush(read(w, slot), element)


def set_predicate(d: Decoder, ins: Instruction) -> None:
    """`setp`: a comparison, its opposite, and a boolean operation with a third predicate."""
    kind = ins.parts[-1]
    operator = ins.parts[1]
    boolean = next((p for p in ins.parts[2:-1] if p in _BOOLEAN), None)
    if any(p not in _BOOLEAN and p != "ftz" for p in ins.parts[2:-1]) or operator not in _COMPARE:
        raise d.unsupported()
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    third = d.source(ins.operands[3], "pred") if boolean else 0
    combine = _BOOLEAN[boolean] if boolean else None
    first = ins.operands[0]
    packed = kind.endswith("x2")
    outputs = [first.first, first.second] if isinstance(first, Pair) else [first]
    targets = [d.target(o, "pred") for o in outputs]
    compare, read = comparison(operator, kind), flushing_reader(kind, "ftz" in ins.parts)

    def step(w: Warp, m: Mask) -> None:
        value = compare(read(w, a), read(w, b))
        both = (value[0::2], value[1::2]) if packed else (value, ~value)
        for target, one in zip(targets, both, strict=False):
            if combine is not None:
                one = combine(one, w.u[third])
            np.copyto(w.u[target], one, where=m)

    d.emit(step)


def set_value(d: Decoder, ins: Instruction) -> None:
    """`set`: a comparison that gives all ones, or 1.0; of a packed pair, in each half."""
    to, kind = ins.parts[-2], ins.parts[-1]
    operator = ins.parts[1]
    boolean = next((p for p in ins.parts[2:-2] if p in _BOOLEAN), None)
    if any(p not in _BOOLEAN and p != "ftz" for p in ins.parts[2:-2]) or operator not in _COMPARE:
        raise d.unsupported()
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    third = d.source(ins.operands[3], "pred") if boolean else 0
    combine = _BOOLEAN[boolean] if boolean else None
    packed = kind.endswith("x2")
    bits = type_bits(to) or 32
    if packed and bits != 32:
        raise d.unsupported()
    target = d.target(ins.operands[0], to)
    compare, read = comparison(operator, kind), flushing_reader(kind, "ftz" in ins.parts)
    element = UNSIGNED[16 if packed else bits]
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
    true = ones.get(to.removesuffix("x2"), int(np.iinfo(element).max))

    def step(w: Warp, m: Mask) -> None:
        value = compare(read(w, a), read(w, b))
        if combine is not None:
            value = combine(value, np.repeat(w.u[third], 2) if packed else w.u[third])
        result = np.where(value, element(true), element(0))
        np.copyto(w.u[target], result.view(w.u[target].dtype), where=m)

    d.emit(step)


_LOGIC: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def logic(d: Decoder, ins: Instruction) -> None:
    """`and`, `or`, `xor`."""
    kind = ins.parts[-1]
    function = _LOGIC[ins.family]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    d.emit(lambda w, m: function(w.u[a], w.u[b], out=w.u[target], where=m))


def invert(d: Decoder, ins: Instruction) -> None:
    """`not`, and `cnot` (1 where the operand is 0)."""
    kind = ins.parts[-1]
    a = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)
    if ins.family == "cnot":
        d.emit(lambda w, m: np.copyto(w.u[target], w.u[a] == 0, where=m, casting="unsafe"))
    elif kind == "pred":
        d.emit(lambda w, m: np.logical_not(w.u[a], out=w.u[target], where=m))
    else:
        d.emit(lambda w, m: np.invert(w.u[a], out=w.u[target], where=m))
