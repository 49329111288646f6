# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer instructions against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from one_instruction import evaluate

import tile_emulator as te

TYPES = {"s16": "i2", "u16": "u2", "s32": "i4", "u32": "u4", "s64": "i8", "u64": "u8"}


def values(kind: str, seed: int) -> Any:
    """Return corner cases and random numbers of a type."""
    info = np.iinfo(TYPES[kind])
    corners = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 7, 31]
    rng = np.random.default_rng(seed)
    random = rng.integers(info.min, info.max, 56, dtype=TYPES[kind], endpoint=True)
    small = rng.integers(0, 100, 64).astype(TYPES[kind])
    mixed = np.concatenate([np.array(corners, dtype=TYPES[kind]), random, small])
    return mixed[rng.permutation(128)]


def wrap(value: int, kind: str) -> int:
    bits = int(kind[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def towards_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


TWO: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "min": lambda a, b, bits: min(a, b),
    "max": lambda a, b, bits: max(a, b),
    "mul.lo": lambda a, b, bits: a * b,
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "div": lambda a, b, bits: towards_zero(a, b),
    "rem": lambda a, b, bits: a - b * towards_zero(a, b),
}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", TWO)
def test_arithmetic_wraps(name: str, kind: str) -> None:
    a, b = values(kind, 1), values(kind, 2)
    if name in ("div", "rem"):
        b = np.where(b == 0, b.dtype.type(3), b)
    got = evaluate(f"{name}.{kind} %d, %a, %b;", [a, b], TYPES[kind])
    bits = int(kind[1:])
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    assert got.tolist() == [wrap(TWO[name](x, y, bits), kind) for x, y in pairs]


@pytest.mark.parametrize("text", ["min.relu.s16x2", "max.s16x2.relu", "min.s16x2", "max.u16x2"])
def test_packed_extremes_work_in_each_half(text: str) -> None:
    a, b = values("u32", 26), values("u32", 27)
    a[0], b[0] = 0xFFF60005, 0x00010002
    got = evaluate(f"{text} %d, %a, %b;", [a, b], "u4").view("u2")
    dtype = "u2" if "u16" in text else "i2"
    function = min if text.startswith("min") else max
    low = 0 if "relu" in text else -(1 << 15)
    pairs = zip(a.view(dtype).tolist(), b.view(dtype).tolist(), strict=True)
    assert got.tolist() == [max(function(x, y), low) & 0xFFFF for x, y in pairs]


@pytest.mark.parametrize("text", ["min.relu.s32", "max.s32.relu", "max.s32"])
def test_relu_leaves_no_extreme_negative(text: str) -> None:
    a, b = values("s32", 28), values("s32", 29)
    got = evaluate(f"{text} %d, %a, %b;", [a, b], "i4")
    function = min if text.startswith("min") else max
    low = 0 if "relu" in text else -(1 << 31)
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    assert got.tolist() == [max(function(x, y), low) for x, y in pairs]


@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_24_bit_products_wrap_and_saturate(kind: str) -> None:
    a, b, c = values(kind, 33), values(kind, 34), values(kind, 35)
    half = 1 << 23

    def narrow(x: int) -> int:
        return (x + half & 2 * half - 1) - half if kind == "s32" else x & 2 * half - 1

    triples = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    for mode, shift in (("lo", 0), ("hi", 16)):
        exact = [(narrow(x) * narrow(y) >> shift, z) for x, y, z in triples]
        if mode == "lo":
            exact = [(wrap(product, kind), z) for product, z in exact]
        got = evaluate(f"mad24.{mode}.{kind} %d, %a, %b, %c;", [a, b, c], TYPES[kind])
        assert got.tolist() == [wrap(product + z, kind) for product, z in exact]
    if kind == "s32":
        got = evaluate("mad24.hi.sat.s32 %d, %a, %b, %c;", [a, b, c], "i4")
        want = [min(max(product + z, -(1 << 31)), (1 << 31) - 1) for product, z in exact]
        assert got.tolist() == want and want != [wrap(p + z, kind) for p, z in exact]


@pytest.mark.parametrize(
    "text", ["add.relu.s32", "max.sat.s32", "add.sat.u32", "max.relu.u32", "mad24.lo.sat.s32"]
)
def test_modifiers_that_an_instruction_does_not_have_are_refused(text: str) -> None:
    operands = [values("u32", 36)] * (3 if text.startswith("mad") else 2)
    names = ", ".join(["%d", "%a", "%b", "%c"][: len(operands) + 1])
    with pytest.raises(te.PTXError, match="unsupported instruction"):
        evaluate(f"{text} {names};", operands, "u4")


@pytest.mark.parametrize("kind", ["s16", "u16", "s32", "u32"])
def test_wide_products_and_sums(kind: str) -> None:
    wide = kind[0] + str(2 * int(kind[1:]))
    a, b, c = values(kind, 3), values(kind, 4), values(wide, 5)
    pairs = list(zip(a.tolist(), b.tolist(), c.tolist(), strict=True))
    got = evaluate(f"mul.wide.{kind} %d, %a, %b;", [a, b], TYPES[wide])
    assert got.tolist() == [wrap(x * y, wide) for x, y, _ in pairs]
    got = evaluate(f"mad.wide.{kind} %d, %a, %b, %c;", [a, b, c], TYPES[wide])
    assert got.tolist() == [wrap(x * y + z, wide) for x, y, z in pairs]


@pytest.mark.parametrize("kind", TYPES)
def test_shifts_clamp_their_amount(kind: str) -> None:
    bits = int(kind[1:])
    a = values(kind, 6)
    n = np.resize(np.array([0, 1, 5, bits - 1, bits, bits + 1, 200, 2**32 - 1], dtype="u4"), 128)
    pairs = list(zip(a.tolist(), n.tolist(), strict=True))
    got = evaluate(f"shr.{kind} %d, %a, %b;", [a, n], TYPES[kind])
    assert got.tolist() == [x >> min(y, bits) for x, y in pairs]
    got = evaluate(f"shl.b{bits} %d, %a, %b;", [a, n], TYPES[kind])
    assert got.tolist() == [wrap(x << min(y, bits), kind) for x, y in pairs]
    for amount in (0, 3, bits - 1, bits, 200):
        got = evaluate(f"shr.{kind} %d, %a, {amount};", [a], TYPES[kind])
        assert got.tolist() == [x >> min(amount, bits) for x in a.tolist()]
        got = evaluate(f"shl.b{bits} %d, %a, {amount};", [a], TYPES[kind])
        assert got.tolist() == [wrap(x << min(amount, bits), kind) for x in a.tolist()]


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_counting_bits(kind: str) -> None:
    bits = int(kind[1:])
    a = values(kind, 7)
    numbers = a.tolist()
    cases = {
        f"popc.b{bits}": lambda x: x.bit_count(),
        f"clz.b{bits}": lambda x: bits - x.bit_length(),
        f"bfind.u{bits}": lambda x: (x.bit_length() - 1) & 0xFFFFFFFF,
    }
    for name, function in cases.items():
        got = evaluate(f"{name} %d, %a;", [a], "u4")
        assert got.tolist() == [function(x) for x in numbers], name
    got = evaluate(f"brev.b{bits} %d, %a;", [a], TYPES[kind])
    assert got.tolist() == [int(f"{x:0{bits}b}"[::-1], 2) for x in numbers]


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bit_fields(kind: str) -> None:
    bits = int(kind[1:])
    a = values(kind, 8)
    for start, length in [(0, 8), (5, 11), (bits - 4, 4), (3, 0), (bits - 2, 8), (0, bits)]:
        got = evaluate(f"bfe.{kind} %d, %a, {start}, {length};", [a], TYPES[kind])
        inside = min(length, bits - start)
        for x, y in zip(a.tolist(), got.tolist(), strict=True):
            field = (x & ((1 << bits) - 1)) >> start & ((1 << inside) - 1)
            if kind[0] == "s" and length:
                sign = (x >> min(start + length - 1, bits - 1)) & 1
                field -= sign << inside
            assert y == field
    b = values(f"u{bits}", 9)
    got = evaluate(f"bfi.b{bits} %d, %a, %b, 5, 7;", [a, b], f"u{bits // 8}")
    for x, y, z in zip(a.tolist(), b.tolist(), got.tolist(), strict=True):
        assert z == (y & ~(127 << 5)) | (x & 127) << 5


def test_prmt_picks_bytes_and_signs() -> None:
    a, b, c = values("u32", 10), values("u32", 11), values("u32", 12)
    got = evaluate("prmt.b32 %d, %a, %b, %c;", [a, b, c], "u4")
    for x, y, s, z in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        data = x.to_bytes(4, "little") + y.to_bytes(4, "little")
        picked = []
        for i in range(4):
            nibble = s >> 4 * i & 15
            byte = data[nibble & 7]
            picked.append((255 if byte >> 7 else 0) if nibble & 8 else byte)
        assert z == int.from_bytes(bytes(picked), "little")


@pytest.mark.parametrize("table", [0x96, 0xE8, 0x01, 0xD8])
def test_lop3_is_its_truth_table(table: int) -> None:
    a, b, c = values("u32", 13), values("u32", 14), values("u32", 15)
    got = evaluate(f"lop3.b32 %d, %a, %b, %c, {table};", [a, b, c], "u4")
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got.tolist(), strict=True):
        want = 0
        for bit in range(32):
            index = (x >> bit & 1) << 2 | (y >> bit & 1) << 1 | z >> bit & 1
            want |= (table >> index & 1) << bit
        assert r == want


@pytest.mark.parametrize("boolean", ["and", "or"])
def test_lop3_joins_whether_its_result_is_zero_with_a_predicate(boolean: str) -> None:
    a, b = values("u32", 37), values("u32", 38)
    b[::3] = ~a[::3]
    c = np.arange(128, dtype="u4") % 2
    text = f"""{{ .reg .pred r; .reg .b32 t; setp.ne.u32 r, %c, 0;
    lop3.{boolean}.b32 TARGET|%q, %a, %b, 0, 0xc0, r; RESULT }}"""
    want = [x & y for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    joined = [
        (x != 0 and z == 1) if boolean == "and" else (x != 0 or z == 1)
        for x, z in zip(want, c.tolist(), strict=True)
    ]
    value = text.replace("TARGET", "t").replace("RESULT", "mov.u32 %d, t;")
    assert evaluate(value, [a, b, c], "u4").tolist() == want
    sunk = text.replace("TARGET", "_").replace("RESULT", "")
    got = evaluate(sunk, [a, b, c], "u4", predicate=True)
    assert (got != 0).tolist() == joined and 0 < sum(joined) < 128


def test_fns_finds_the_nth_set_bit_from_a_base() -> None:
    mask = values("u32", 39)
    mask[:4] = 0xAAAAAAAA
    base = np.arange(128, dtype="u4") % 32
    offset = (np.arange(128) // 3 % 11 - 5).astype("i4")
    base[:4], offset[:4] = [3, 3, 2, 2], [1, -1, 1, -1]
    got = evaluate("fns.b32 %d, %a, %b, %c;", [mask, base, offset], "u4").tolist()
    assert got[:4] == [3, 3, 3, 1], "the examples of the manual"
    for m, start, n, d in zip(mask.tolist(), base.tolist(), offset.tolist(), got, strict=True):
        above = [i for i in range(start, 32) if m >> i & 1]
        below = [i for i in range(start, -1, -1) if m >> i & 1]
        ways = above if n > 0 else below
        if n == 0:
            assert d == (start if m >> start & 1 else 0xFFFFFFFF)
        else:
            assert d == (ways[abs(n) - 1] if len(ways) >= abs(n) else 0xFFFFFFFF)
    base[5] = 32
    with pytest.raises(te.EmulationError, match="base from 0 to 31"):
        evaluate("fns.b32 %d, %a, %b, %c;", [mask, base, offset], "u4")


@pytest.mark.parametrize("types", ["u32.u32.u32", "s32.s32.s32", "u32.s32.s32", "s32.u32.u32"])
@pytest.mark.parametrize("after", ["", ".sat", ".add"])
def test_vabsdiff4_takes_distances_of_bytes(types: str, after: str) -> None:
    a, b, c = values("u32", 40), values("u32", 41), values("u32", 42)
    got = evaluate(f"vabsdiff4.{types}{after} %d, %a, %b, %c;", [a, b, c], "u4")
    first, second, _ = types.split(".")
    numbers = ["i1" if second == "s32" else "u1"] * 2
    x, y = (v.view(t).reshape(-1, 4).tolist() for v, t in zip((a, b), numbers, strict=True))
    for p, q, z, d in zip(x, y, c.tolist(), got.tolist(), strict=True):
        distances = [abs(u - v) for u, v in zip(p, q, strict=True)]
        if after == ".add":
            assert d == (z + sum(distances)) & 0xFFFFFFFF
            continue
        if after == ".sat" and first == "s32":
            distances = [min(u, 127) for u in distances]
        assert d == int.from_bytes(bytes(distances), "little")


@pytest.mark.parametrize("mode", ["wrap", "clamp"])
@pytest.mark.parametrize("side", ["l", "r"])
def test_funnel_shifts(side: str, mode: str) -> None:
    a, b = values("u32", 16), values("u32", 17)
    n = np.resize(np.array([0, 1, 8, 31, 32, 33, 63, 100], dtype="u4"), 128)
    got = evaluate(f"shf.{side}.{mode}.b32 %d, %a, %b, %c;", [a, b, n], "u4")
    for x, y, s, z in zip(a.tolist(), b.tolist(), n.tolist(), got.tolist(), strict=True):
        count = s & 31 if mode == "wrap" else min(s, 32)
        both = y << 32 | x
        assert z == ((both << count >> 32) if side == "l" else both >> count) & 0xFFFFFFFF


def test_carries_go_through_a_128_bit_sum_and_product() -> None:
    a, b = values("u64", 18), values("u64", 19)
    text = """{ .reg .b32 a0, a1, b0, b1, lo, hi;
    mov.b64 {a0, a1}, %a; mov.b64 {b0, b1}, %b;
    add.cc.u32 lo, a0, b0; addc.u32 hi, a1, b1; mov.b64 %d, {lo, hi}; }"""
    got = evaluate(text, [a, b], "u8")
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert got.tolist() == [(x + y) & (2**64 - 1) for x, y in pairs]
    got = evaluate(text.replace("add", "sub"), [a, b], "u8")
    assert got.tolist() == [(x - y) & (2**64 - 1) for x, y in pairs]
    product = """{ .reg .b32 a0, a1, b0, b1, lo, hi, top;
    mov.b64 {a0, a1}, %a; mov.b64 {b0, b1}, %b;
    mul.lo.u32 lo, a0, b0; mul.hi.u32 hi, a0, b0;
    mad.lo.cc.u32 hi, a0, b1, hi; madc.hi.u32 top, a0, b1, 0;
    mad.lo.cc.u32 hi, a1, b0, hi; madc.hi.u32 top, a1, b0, top;
    mov.b64 %d, {hi, top}; }"""
    got = evaluate(product, [a, b], "u8")
    for (x, y), z in zip(pairs, got.tolist(), strict=True):
        x0, x1, y0, y1 = x & 0xFFFFFFFF, x >> 32, y & 0xFFFFFFFF, y >> 32
        assert z == (x0 * y0 + (x0 * y1 + x1 * y0 << 32)) >> 32 & (2**64 - 1)


def test_dot_products() -> None:
    a, b, c = values("u32", 20), values("u32", 21), values("u32", 22)
    got = evaluate("dp4a.s32.u32 %d, %a, %b, %c;", [a, b, c], "u4")
    x = a.view(np.int8).reshape(-1, 4).astype(np.int64)
    y = b.view(np.uint8).reshape(-1, 4).astype(np.int64)
    want = ((x * y).sum(axis=1) + c.astype(np.int64)) & 0xFFFFFFFF
    np.testing.assert_array_equal(got, want.astype("u4"))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("kind", ["s32", "u32", "f32"])
def test_comparisons_and_their_boolean_operands(name: str, kind: str) -> None:
    import operator

    compare = getattr(operator, name)
    if kind == "f32":
        numbers = np.array([0, -0.0, 1, -1, np.nan, np.inf, 2, 3], dtype="f4")
        a, b = np.repeat(numbers, 8), np.tile(numbers, 8)
        raw = [a.view("u4"), b.view("u4")]
    else:
        a, b = values(kind, 23), values(kind, 24)
        raw = [a, b]
    got = evaluate(f"setp.{name}.{kind} %q, %a, %b;", raw, "u4", predicate=True)
    ordered = ~(np.isnan(a) | np.isnan(b)) if kind == "f32" else np.ones(len(a), dtype=bool)
    want = compare(a, b) & ordered
    np.testing.assert_array_equal(got != 0, want)
    text = f"{{ .reg .pred r, s; setp.ne.u32 r, %a, 0; setp.{name}.and.{kind} %q|s, %a, %b, r; }}"
    got = evaluate(text, raw, "u4", predicate=True)
    np.testing.assert_array_equal(got != 0, want & (raw[0].view("u4") != 0))


@pytest.mark.parametrize("to", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_conversions_extend_truncate_and_saturate(source: str, to: str) -> None:
    a = values(source, 25)
    register = "i2" if to in ("s8", "u8") else f"i{int(to[1:]) // 8}"
    bits = 8 * int(register[1:])
    got = evaluate(f"cvt.{to}.{source} %d, %a;", [a], register)
    assert got.tolist() == [wrap(wrap(x, to), f"s{bits}") for x in a.tolist()]
    low = -(1 << int(to[1:]) - 1) if to[0] == "s" else 0
    high = (1 << int(to[1:]) - (to[0] == "s")) - 1
    got = evaluate(f"cvt.sat.{to}.{source} %d, %a;", [a], register)
    assert got.tolist() == [wrap(min(max(x, low), high), f"s{bits}") for x in a.tolist()]
