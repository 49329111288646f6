# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moves, selections, comparisons, and logic on predicates and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.program import Operation
from tile_emulator.ptx.module import Instruction, Operand, Pair
from tile_emulator.ptx.types import type_bits

Array = Any


def move(d: Decoder, ins: Instruction) -> None:
    """`mov`: registers, literals, addresses, and packing or unpacking of vectors."""
    kind = ins.parts[-1]
    if len(ins.parts) != 2:
        raise d.unsupported()
    source = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)
    d.operate(f"mov.{type_bits(kind)}", target, source)


def select(d: Decoder, ins: Instruction) -> None:
    """`selp`."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    predicate = d.source(ins.operands[3], "pred")
    target = d.target(ins.operands[0], kind)
    d.operate(f"selp.{type_bits(kind)}", target, a, b, predicate)


def select_sign(d: Decoder, ins: Instruction) -> None:
    """`slct`: by the sign of the third operand; with `.ftz` a subnormal one counts as zero."""
    kind, by = ins.parts[-2], ins.parts[-1]
    if set(ins.parts[1:-2]) - {"ftz"} or by not in ("s32", "f32"):
        raise d.unsupported()
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    c = d.source(ins.operands[3], by)
    target = d.target(ins.operands[0], kind)
    if "ftz" in ins.parts and by == "f32":
        c = d.compute("flush.f32", 32, c)
    positive = d.compute(f"ge.{by}", 1, c, d.slots.constant(32, 0))
    d.operate(f"selp.{type_bits(kind)}", target, a, b, positive)


_BOOLEAN = ("and", "or", "xor")


def compare(d: Decoder, operator: str, kind: str, operands: Sequence[Operand], ftz: bool) -> int:
    """Emit a comparison of two values of type `kind`; returns the predicate of its result."""
    a, b = (d.source(o, kind) for o in operands)
    if ftz and kind == "f32":
        a, b = (d.compute("flush.f32", 32, slot) for slot in (a, b))
    return d.compute(f"{operator}.{core_kind(kind)}", 1, a, b)


def core_kind(kind: str) -> str:
    """Return the name that the core gives to a type: `b32` and `pred` are unsigned numbers."""
    return kind if kind[0] in "sf" else f"u{type_bits(kind)}"


def set_predicate(d: Decoder, ins: Instruction) -> None:
    """`setp`: a comparison, its opposite, and a boolean operation with a third predicate."""
    kind = ins.parts[-1]
    operator = ins.parts[1]
    boolean = next((p for p in ins.parts[2:-1] if p in _BOOLEAN), None)
    if any(p not in _BOOLEAN and p != "ftz" for p in ins.parts[2:-1]):
        raise d.unsupported()
    first, ftz = ins.operands[0], "ftz" in ins.parts
    third = d.source(ins.operands[3], "pred") if boolean else 0
    outputs = [first.first, first.second] if isinstance(first, Pair) else [first]
    if is_half(kind):
        results = halves(d, operator, kind, ins.operands[1:3], ftz)
    else:
        results = [compare(d, operator, kind, ins.operands[1:3], ftz)]
    targets = [d.target(o, "pred") for o in outputs]
    if len(results) < len(targets):
        results.append(d.compute("not.1", 1, results[0]))
    for target, result in zip(targets, results, strict=False):
        if boolean:
            d.operate(f"{boolean}.1", target, result, third)
        else:
            d.operate("mov.1", target, result)


def set_value(d: Decoder, ins: Instruction) -> None:
    """`set`: a comparison that gives all ones, or 1.0; of a packed pair, in each half."""
    to, kind = ins.parts[-2], ins.parts[-1]
    operator = ins.parts[1]
    boolean = next((p for p in ins.parts[2:-2] if p in _BOOLEAN), None)
    if any(p not in _BOOLEAN and p != "ftz" for p in ins.parts[2:-2]):
        raise d.unsupported()
    third = d.source(ins.operands[3], "pred") if boolean else 0
    bits, packed = type_bits(to) or 32, kind.endswith("x2")
    if packed and bits != 32:
        raise d.unsupported()
    target = d.target(ins.operands[0], to)
    width = 16 if packed else bits
    ones = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
    true = d.slots.constant(width, ones.get(to.removesuffix("x2"), (1 << width) - 1))
    false = d.slots.constant(width, 0)
    ftz = "ftz" in ins.parts
    if is_half(kind):
        results = halves(d, operator, kind, ins.operands[1:3], ftz)
    else:
        results = [compare(d, operator, kind, ins.operands[1:3], ftz)]
    if boolean:
        results = [d.compute(f"{boolean}.1", 1, result, third) for result in results]
    if not packed:
        d.operate(f"selp.{bits}", target, true, false, results[0])
        return
    both = d.slots.new(32)
    for number, result in enumerate(results):
        part = d.compute("selp.16", 16, true, false, result)
        d.steps.append(Operation("insert.32.16", both, (part,), number, True))
    d.operate("mov.32", target, both)


def is_half(kind: str) -> bool:
    return kind.removesuffix("x2") in ("f16", "bf16")


def halves(
    d: Decoder, operator: str, kind: str, operands: Sequence[Operand], ftz: bool
) -> list[int]:
    """Emit a comparison of 16-bit floats as one of f32; returns a predicate for each half."""
    count = 2 if kind.endswith("x2") else 1
    element = kind.removesuffix("x2")
    wide: list[list[int]] = [[] for _ in range(count)]
    for operand in operands:
        source = d.source(operand, kind)
        if ftz and element == "f16":
            source = d.compute(f"flush.{kind}", 16 * count, source)
        for number in range(count):
            half = source
            if count == 2:
                half = d.slots.new(16)
                d.steps.append(Operation("extract.32.16", half, (source,), number, True))
            wide[number].append(widened(d, half, element)[0])
    return [d.compute(f"{operator}.f32", 1, *pair) for pair in wide]


def widened(d: Decoder, source: int, kind: str) -> tuple[int, str]:
    """Return a slot that holds a 16-bit float as f32, and its type; others stay as they are."""
    if not is_half(kind):
        return source, kind
    return d.compute(f"widen.{kind}", 32, source), "f32"


def logic(d: Decoder, ins: Instruction) -> None:
    """`and`, `or`, `xor`."""
    kind = ins.parts[-1]
    a, b = (d.source(o, kind) for o in ins.operands[1:3])
    target = d.target(ins.operands[0], kind)
    d.operate(f"{ins.family}.{type_bits(kind)}", target, a, b)


def invert(d: Decoder, ins: Instruction) -> None:
    """`not`, and `cnot` (1 where the operand is 0)."""
    kind = ins.parts[-1]
    a = d.source(ins.operands[1], kind)
    target = d.target(ins.operands[0], kind)
    d.operate(f"{ins.family}.{type_bits(kind)}", target, a)
