# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`setp`, `set`, `slct`, `abs` and `neg` of floats: packed halves, and `.ftz`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from one_instruction import as_float, evaluate, interesting

COUNT = 256
SMALLEST = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126}
SPECIAL = {
    "f16": [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x7E00, 0x7C00],
    "bf16": [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x7FC0, 0x7F80],
    "f32": [0, 1 << 31, 1, 1 << 31 | 1, 0x7FFFFF, 0x800000, 0x7FC00000, 0x7F800000],
}


def pairs(kind: str) -> tuple[Any, Any]:
    """Return two arrays of bits: every special value against every other, then random ones."""
    dtype = "u4" if kind == "f32" else "u2"
    special = np.array(SPECIAL[kind], dtype=dtype)
    some, others = (interesting(kind, COUNT - 64, seed) for seed in (31, 32))
    equal = np.arange(COUNT - 64) % 4 == 0
    a = np.concatenate([np.repeat(special, 8), some])
    b = np.concatenate([np.tile(special, 8), np.where(equal, some, others)])
    return a.astype(dtype), b.astype(dtype)


def numbers(bits: Any, kind: str, ftz: bool) -> list[float]:
    """Return the values, with subnormals replaced by zero where `.ftz` asks for it."""
    values = [float(x) for x in as_float(bits, kind)]
    return [0.0 if ftz and abs(x) < SMALLEST[kind] else x for x in values]


def compared(name: str, a: Any, b: Any, kind: str, ftz: bool) -> list[bool]:
    """Compare by the definition: false where one is NaN, except for the unordered forms."""
    result = []
    for x, y in zip(numbers(a, kind, ftz), numbers(b, kind, ftz), strict=True):
        if math.isnan(x) or math.isnan(y):
            result.append(name == "geu")
        else:
            result.append(bool(getattr(operator, name[:2])(x, y)))
    return result


FORMS = [(k, f) for k in ("f16", "f32") for f in (False, True)] + [("bf16", False)]


@pytest.mark.parametrize("name", ["eq", "gt", "le", "geu"])
@pytest.mark.parametrize(("kind", "ftz"), FORMS)
def test_setp_takes_subnormals_for_zeros_only_with_ftz(name: str, kind: str, ftz: bool) -> None:
    a, b = pairs(kind)
    text = f"setp.{name}{'.ftz' if ftz else ''}.{kind} %q, %a, %b;"
    got = evaluate(text, [a, b], "u4", predicate=True)
    want = compared(name, a, b, kind, ftz)
    assert (got != 0).tolist() == want
    if name == "gt" and kind != "bf16":
        assert want != compared(name, a, b, kind, not ftz), "the flag must make a difference"


@pytest.mark.parametrize(
    ("to", "true"), [("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", 0x3F800000)]
)
@pytest.mark.parametrize("ftz", [False, True])
def test_set_gives_all_ones_or_one(to: str, true: int, ftz: bool) -> None:
    a, b = pairs("f32")
    got = evaluate(f"set.le{'.ftz' if ftz else ''}.{to}.f32 %d, %a, %b;", [a, b], "u4")
    assert got.tolist() == [true * yes for yes in compared("le", a, b, "f32", ftz)]


@pytest.mark.parametrize(
    ("to", "kind", "true"),
    [
        ("u32", "f16x2", 0xFFFF),
        ("s32", "f16x2", 0xFFFF),
        ("f16x2", "f16x2", 0x3C00),
        ("u32", "bf16x2", 0xFFFF),
        ("bf16x2", "bf16x2", 0x3F80),
    ],
)
@pytest.mark.parametrize("boolean", ["", "and", "or", "xor"])
@pytest.mark.parametrize("ftz", ["", ".ftz"])
def test_set_of_pairs_fills_each_half(
    to: str, kind: str, true: int, boolean: str, ftz: str
) -> None:
    element = kind.removesuffix("x2")
    if ftz and element == "bf16":
        return
    halves = pairs(element)
    a, b = (h.view("u4") for h in halves)
    c = (np.arange(len(a)) % 3 == 0).astype("u4")
    name = f"set.le{'.' + boolean if boolean else ''}{ftz}.{to}.{kind}"
    third = ", r" if boolean else ""
    text = f"{{ .reg .pred r; setp.ne.u32 r, %c, 0; {name} %d, %a, %b{third}; }}"
    got = evaluate(text, [a, b, c], "u4").view("u2")
    want = compared("le", *halves, element, bool(ftz))
    if boolean:
        function = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[boolean]
        want = [bool(function(x, bool(c[i // 2]))) for i, x in enumerate(want)]
    assert got.tolist() == [true * yes for yes in want]


@pytest.mark.parametrize("ftz", [False, True])
def test_slct_takes_a_negative_subnormal_for_zero_only_with_ftz(ftz: bool) -> None:
    c = np.tile(np.array(SPECIAL["f32"], dtype="u4"), 4)
    a, b = np.full(32, 7, dtype="u4"), np.full(32, 9, dtype="u4")
    got = evaluate(f"slct{'.ftz' if ftz else ''}.u32.f32 %d, %a, %b, %c;", [a, b, c], "u4")
    assert got.tolist() == [7 if x >= 0 else 9 for x in numbers(c, "f32", ftz)]


@pytest.mark.parametrize("kind", ["f16", "f16x2", "f32"])
@pytest.mark.parametrize("name", ["abs", "neg"])
@pytest.mark.parametrize("ftz", [False, True])
def test_abs_and_neg_flush_subnormals_only_with_ftz(name: str, kind: str, ftz: bool) -> None:
    element = kind.removesuffix("x2")
    bits = pairs(element)[0]
    number = [not math.isnan(x) for x in numbers(bits, element, False)]
    a = bits.view("u4") if kind.endswith("x2") else bits
    got = evaluate(f"{name}{'.ftz' if ftz else ''}.{kind} %d, %a;", [a], a.dtype)
    top = 1 << (31 if element == "f32" else 15)
    for x, y, known, value in zip(
        bits.tolist(),
        got.view(bits.dtype).tolist(),
        number,
        numbers(bits, element, ftz),
        strict=True,
    ):
        magnitude = 0 if value == 0 else x & ~top
        sign = 0 if name == "abs" else ~x & top
        assert not known or y == sign | magnitude
