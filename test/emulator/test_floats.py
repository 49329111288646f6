# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating point against exact fractions, in each format and rounding mode."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from one_instruction import as_float, evaluate, fraction, interesting, round_exactly

import tile_emulator as te

COUNT = 512


def check(got: np.ndarray, want: list[float], kind: str) -> None:
    """Compare values; zeros may have either sign here."""
    values = as_float(got, kind)
    wrong = [i for i, (g, w) in enumerate(zip(values, want, strict=True)) if float(g) != w]
    assert not wrong, [(values[i], want[i]) for i in wrong[:4]]


ARITHMETIC = [
    ("f16", "rn"),
    ("bf16", "rn"),
    *[("f32", mode) for mode in ("rn", "rz", "rm", "rp")],
    *[("f64", mode) for mode in ("rn", "rz", "rm", "rp")],
]


@pytest.mark.parametrize(("kind", "mode"), ARITHMETIC)
@pytest.mark.parametrize("operation", ["add", "sub", "mul"])
def test_sums_and_products_are_rounded_once(operation: str, kind: str, mode: str) -> None:
    a, b = interesting(kind, COUNT, 1), interesting(kind, COUNT, 2)
    got = evaluate(f"{operation}.{mode}.{kind} %d, %a, %b;", [a, b], a.dtype)
    function = {"add": Fraction.__add__, "sub": Fraction.__sub__, "mul": Fraction.__mul__}[
        operation
    ]
    pairs = zip(as_float(a, kind), as_float(b, kind), strict=True)
    want = [round_exactly(function(fraction(x), fraction(y)), kind, mode) for x, y in pairs]
    check(got, want, kind)


@pytest.mark.parametrize(("kind", "mode"), ARITHMETIC)
def test_fma_is_rounded_once(kind: str, mode: str) -> None:
    a, b, c = (interesting(kind, COUNT, seed) for seed in (3, 4, 5))
    # Make half of the sums cancel, where a double rounding would show.
    with np.errstate(over="ignore"):
        near = as_float(a, kind) * as_float(b, kind)
    if kind == "f32":
        half = np.arange(COUNT) % 2 == 0
        with np.errstate(over="ignore"):
            c = np.where(half, (-near).astype(np.float32).view(np.uint32), c)
        c = np.where(np.isfinite(c.view(np.float32)), c, 0).astype(np.uint32)
    got = evaluate(f"fma.{mode}.{kind} %d, %a, %b, %c;", [a, b, c], a.dtype)
    triples = zip(*(as_float(v, kind) for v in (a, b, c)), strict=True)
    want = [
        round_exactly(fraction(x) * fraction(y) + fraction(z), kind, mode) for x, y, z in triples
    ]
    check(got, want, kind)


@pytest.mark.parametrize(("mode", "cancelled"), [("rn", 0), ("rz", 0), ("rm", 1), ("rp", 0)])
@pytest.mark.parametrize(("kind", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_signs_of_zero_sums_follow_ieee(mode: str, cancelled: int, kind: str, dtype: type) -> None:
    """Zeros of one sign keep it; other sums that cancel are -0 only where rounding is down."""
    unsigned = {"f32": np.uint32, "f64": np.uint64}[kind]
    a = np.array([1.5, 0.0, -0.0, 0.0, -0.0], dtype)
    b = np.array([-1.5, -0.0, 0.0, 0.0, -0.0], dtype)
    negative = [cancelled, cancelled, cancelled, 0, 1]
    one = np.ones(5, dtype)
    bits = [v.view(unsigned) for v in (a, b, one, -b)]
    for text, operands in (
        (f"add.{mode}.{kind} %d, %a, %b;", bits[:2]),
        (f"sub.{mode}.{kind} %d, %a, %b;", [bits[0], bits[3]]),
        (f"fma.{mode}.{kind} %d, %a, %b, %c;", [bits[0], bits[2], bits[1]]),
    ):
        got = as_float(evaluate(text, operands, unsigned), kind)
        assert (got == 0).all()
        assert np.signbit(got).tolist() == [bool(n) for n in negative], text


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_a_product_beyond_the_range_does_not_beat_an_infinite_summand(mode: str) -> None:
    a, c = np.array([1e300, 1e300, 1e300]), np.array([-np.inf, np.inf, -1e308])
    bits = [v.view(np.uint64) for v in (a, a, c)]
    got = as_float(evaluate(f"fma.{mode}.f64 %d, %a, %b, %c;", bits, np.uint64), "f64")
    greatest = np.inf if mode in ("rn", "rp") else np.finfo(np.float64).max
    assert got.tolist() == [-np.inf, np.inf, greatest]


def test_a_nan_of_f64_is_that_of_the_first_operand_that_is_one() -> None:
    """A product comes before what is added to it; one that is invalid is a NaN of its own."""
    quiet, signalling, other = 0x7FF8000000000012, 0x7FF0000000000034, 0xFFF8000000000056
    infinity, one = 0x7FF << 52, 0x3FF << 52
    a = np.array([quiet, signalling, one, infinity, one], np.uint64)
    b = np.array([other, other, signalling, 0, one], np.uint64)
    c = np.array([one, one, one, quiet, other], np.uint64)
    got = evaluate("fma.rn.f64 %d, %a, %b, %c;", [a, b, c], np.uint64)
    made_quiet = signalling | 1 << 51
    assert got.tolist() == [quiet, made_quiet, made_quiet, 0xFFF8 << 48, other]
    got = evaluate("max.f64 %d, %a, %b;", [a[:3], b[:3]], np.uint64)
    assert got.tolist() == [quiet, signalling, one]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_and_reciprocal_are_rounded_once(kind: str, mode: str) -> None:
    a, b = interesting(kind, COUNT, 6), interesting(kind, COUNT, 7)
    b = np.where(as_float(b, kind) == 0, a.dtype.type(1), b)
    x, y = as_float(a, kind), as_float(b, kind)
    got = evaluate(f"div.{mode}.{kind} %d, %a, %b;", [a, b], a.dtype)
    pairs = zip(x, y, strict=True)
    check(got, [round_exactly(fraction(p) / fraction(q), kind, mode) for p, q in pairs], kind)
    got = evaluate(f"rcp.{mode}.{kind} %d, %a;", [b], a.dtype)
    check(got, [round_exactly(1 / fraction(q), kind, mode) for q in y], kind)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_square_roots_lie_between_their_neighbours(kind: str, mode: str) -> None:
    a = interesting(kind, COUNT, 8) & np.array((1 << {"f32": 31, "f64": 63}[kind]) - 1).astype(
        {"f32": np.uint32, "f64": np.uint64}[kind]
    )
    got = evaluate(f"sqrt.{mode}.{kind} %d, %a;", [a], a.dtype)
    view = got.view({"f32": np.float32, "f64": np.float64}[kind])
    for x, y, above, below in zip(
        as_float(a, kind), view, np.nextafter(view, np.inf), np.nextafter(view, 0), strict=True
    ):
        exact, root = fraction(x), fraction(y)
        if mode in ("rz", "rm"):
            assert root**2 <= exact < fraction(above) ** 2
        elif mode == "rp":
            assert exact <= root**2 and (root == 0 or fraction(below) ** 2 < exact)
        else:
            assert ((root + fraction(below)) / 2) ** 2 <= exact
            assert exact <= ((root + fraction(above)) / 2) ** 2


_DIRECTED = {("f32", "f16"), ("f64", "f32"), ("f64", "f16")}
CONVERSIONS = [
    (a, b, mode)
    for a, b in [
        ("f32", "f16"),
        ("f32", "bf16"),
        ("f64", "f32"),
        ("f64", "f16"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f64"),
    ]
    for mode in (
        ["rn", "rz", "rm", "rp"] if b in ("f16", "f32") and a in ("f32", "f64") else ["rn"]
    )
    if not (b == "bf16" and mode in ("rm", "rp"))
]


@pytest.mark.parametrize(("source", "to", "mode"), CONVERSIONS)
def test_conversions_between_floats(source: str, to: str, mode: str) -> None:
    a = interesting(source, COUNT, 9)
    narrows = (source, to) not in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"))
    dtype = {"f16": "u2", "bf16": "u2", "f32": "u4", "f64": "u8"}[to]
    got = evaluate(f"cvt.{mode + '.' if narrows else ''}{to}.{source} %d, %a;", [a], dtype)
    want = [round_exactly(fraction(x), to, mode) for x in as_float(a, source)]
    check(got, want, to)


def test_bf16_conversion_agrees_with_ml_dtypes_bit_for_bit() -> None:
    a = interesting("f32", 1024, 10)
    got = evaluate("cvt.rn.bf16.f32 %d, %a;", [a], "u2")
    want = a.view(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(got, want)


def test_packed_conversion_puts_the_first_operand_into_the_upper_half() -> None:
    a = np.array([1.0, 2.0, 65536.0, -0.0], dtype=np.float32)
    b = np.array([3.0, -4.0, 0.1, 2.0**-25], dtype=np.float32)
    got = evaluate("cvt.rn.f16x2.f32 %d, %a, %b;", [a, b], "u4")
    with np.errstate(over="ignore"):
        upper = a.astype(np.float16).view(np.uint16).astype(np.uint32)
        lower = b.astype(np.float16).view(np.uint16).astype(np.uint32)
    np.testing.assert_array_equal(got, upper << 16 | lower)


INTEGERS = {"s8": "i1", "u8": "u1", "s16": "i2", "u16": "u2", "s32": "i4", "u32": "u4"}
INTEGERS |= {"s64": "i8", "u64": "u8"}


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["f16", "f32", "f64"])
def test_integers_to_floats(source: str, to: str, mode: str) -> None:
    info = np.iinfo(INTEGERS[source])
    rng = np.random.default_rng(11)
    values = [info.min, info.max, info.max - 1, 0, 1, 2**24 + 1, 65519, 65520]
    values += [int(v) for v in rng.integers(info.min, info.max, 56, dtype=INTEGERS[source])]
    values += [v >> s for s in (3, 9) for v in values[:32]]
    a = np.array(values, dtype=INTEGERS[source])
    dtype = {"f16": "u2", "f32": "u4", "f64": "u8"}[to]
    got = evaluate(f"cvt.{mode}.{to}.{source} %d, %a;", [a], dtype)
    check(got, [round_exactly(Fraction(v), to, mode) for v in values], to)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("to", ["s16", "u16", "s32", "u32", "s64", "u64"])
def test_floats_to_integers_are_clamped(source: str, to: str, mode: str) -> None:
    a = interesting(source, 256, 12)
    halves = np.arange(-8, 8) / 2
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[source]
    a[:16] = halves.astype(dtype).view(a.dtype)
    info = np.iinfo(INTEGERS[to])
    got = evaluate(f"cvt.{mode}.{to}.{source} %d, %a;", [a], INTEGERS[to])
    function = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    want = [min(max(function(fraction(x)), info.min), info.max) for x in as_float(a, source)]
    assert got.tolist() == want


def test_nan_becomes_zero_or_the_lowest_value() -> None:
    nan = np.full(32, np.nan, dtype=np.float32)
    assert set(evaluate("cvt.rzi.s32.f32 %d, %a;", [nan], "i4")) == {0}
    assert set(evaluate("cvt.rzi.s64.f32 %d, %a;", [nan], "i8")) == {-(2**63)}


def test_results_that_are_nan_have_the_bits_of_the_hardware() -> None:
    inf = np.full(32, np.inf, dtype=np.float32)
    assert set(evaluate("sub.f32 %d, %a, %a;", [inf], "u4")) == {0x7FFFFFFF}


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_prefer_numbers_and_order_zeros(name: str) -> None:
    a = np.array([np.nan, 1, -0.0, 0.0, 2, -1, np.nan, np.inf], dtype=np.float32)
    b = np.array([1, np.nan, 0.0, -0.0, 1, -2, np.nan, 3], dtype=np.float32)
    got = evaluate(f"{name}.f32 %d, %a, %b;", [a, b], "u4").view(np.float32)
    low = [1, 1, -0.0, -0.0, 1, -2, np.nan, 3]
    high = [1, 1, 0.0, 0.0, 2, -1, np.nan, np.inf]
    want = np.array(low if name == "min" else high, dtype=np.float32)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[2:4]), np.signbit(want[2:4]))
    got = evaluate(f"{name}.NaN.f32 %d, %a, %b;", [a, b], "u4").view(np.float32)
    assert np.isnan(got[[0, 1, 6]]).all() and not np.isnan(got[[2, 3, 4, 5, 7]]).any()


def test_sat_and_ftz() -> None:
    a = np.array([-1, 0.25, 7, np.nan], dtype=np.float32)
    got = evaluate("add.sat.f32 %d, %a, %a;", [a], "u4").view(np.float32)
    np.testing.assert_array_equal(got, np.array([0, 0.5, 1, 0], dtype=np.float32))
    tiny = np.array([1e-39, -1e-39, 2e-38, 1.0], dtype=np.float32)
    got = evaluate("add.ftz.f32 %d, %a, %a;", [tiny], "u4").view(np.float32)
    np.testing.assert_array_equal(got, np.array([0, 0, 4e-38, 2], dtype=np.float32))


@pytest.mark.parametrize(
    ("name", "function", "bound"),
    [
        ("ex2.approx.f32", np.exp2, 2e-7),
        ("lg2.approx.f32", np.log2, 2e-7),
        ("rsqrt.approx.f32", lambda x: 1 / np.sqrt(x), 2e-7),
        ("rcp.approx.f32", lambda x: 1 / x, 2e-7),
        ("sqrt.approx.f32", np.sqrt, 2e-7),
        ("sin.approx.f32", np.sin, 1e-6),
        ("cos.approx.f32", np.cos, 1e-6),
        ("tanh.approx.f32", np.tanh, 1e-6),
    ],
)
def test_approximate_functions_are_near(name: str, function: object, bound: float) -> None:
    a = np.linspace(0.01, 3, 128).astype(np.float32)
    got = evaluate(f"{name} %d, %a;", [a], "u4").view(np.float32)
    want = function(a.astype(np.float64))  # type: ignore[operator]
    assert np.max(np.abs(got - want) / np.maximum(np.abs(want), 0.1)) < bound


def test_packed_halves_work_lane_by_lane() -> None:
    a, b, c = (interesting("f16", 256, seed).view(np.uint32) for seed in (13, 14, 15))
    got = evaluate("fma.rn.f16x2 %d, %a, %b, %c;", [a, b, c], "u4").view(np.uint16)
    triples = zip(*(as_float(v.view(np.uint16), "f16") for v in (a, b, c)), strict=True)
    want = [
        round_exactly(fraction(x) * fraction(y) + fraction(z), "f16", "rn") for x, y, z in triples
    ]
    check(got, want, "f16")


GREATEST = {"f16": 0x7BFF, "bf16": 0x7F7F}


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
@pytest.mark.parametrize("flags", ["", ".relu", ".satfinite", ".relu.satfinite"])
def test_conversions_clamp_to_finite_and_positive_numbers(kind: str, mode: str, flags: str) -> None:
    specials = np.array([0x7E000000, 0x7F7FFFFF, 0x7F800000, 0x477FF000], dtype="u4")
    specials = np.concatenate([specials, specials | np.uint32(1 << 31)])
    a = np.concatenate([interesting("f32", 120, 17), specials])
    got = evaluate(f"cvt.{mode}{flags}.{kind}.f32 %d, %a;", [a], "u2")
    want = []
    for bits, x in zip(a.tolist(), as_float(a, "f32").tolist(), strict=True):
        value = x if math.isinf(x) else round_exactly(fraction(x), kind, mode)
        negative = bits >> 31
        if "relu" in flags and negative:
            value = 0.0
        elif math.isinf(value) and "satfinite" in flags:
            word = np.array([GREATEST[kind] | negative << 15], dtype="u2")
            value = float(as_float(word, kind)[0])
        want.append(value)
    check(got, want, kind)
    b = np.roll(a, 1)
    pair = evaluate(f"cvt.{mode}{flags}.{kind}x2.f32 %d, %a, %b;", [a, b], "u4").view("u2")
    check(pair[1::2], want, kind)
    check(pair[0::2], [want[-1], *want[:-1]], kind)


def test_nan_stays_nan_where_numbers_are_clamped() -> None:
    nan = np.full(32, 0x7FC00000, dtype="u4")
    assert set(evaluate("cvt.rn.satfinite.f16.f32 %d, %a;", [nan], "u2")) == {0x7FFF}
    assert set(evaluate("cvt.rn.relu.satfinite.bf16.f32 %d, %a;", [nan], "u2")) == {0x7FFF}
    assert set(evaluate("cvt.rn.relu.tf32.f32 %d, %a;", [nan], "u4")) == {0x7FFFFFFF}


def tf32(x: float, mode: str) -> float:
    """Round to 11 bits of precision by the definition; ties to even or away from zero."""
    if math.isinf(x) or x == 0:
        return x
    quantum = Fraction(2) ** (max(math.frexp(x)[1] - 1, -126) - 10)
    steps = abs(Fraction(x)) / quantum
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    tie = mode == "rna" or whole % 2 == 1
    up = mode != "rz" and (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and tie))
    value = (whole + up) * quantum
    size = math.inf if value >= Fraction(2) ** 128 else float(value)
    return math.copysign(size, x)


@pytest.mark.parametrize(
    "text", ["rna", "rna.satfinite", "rn", "rn.relu", "rz", "rn.satfinite.relu", "rn.satfinite"]
)
def test_tf32_keeps_11_bits_and_clamps(text: str) -> None:
    a = np.concatenate([interesting("f32", 248, 18), np.zeros(8, dtype="u4")])
    a[-8:] = [0x3F801000, 0x3F803000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0xBF800000, 0]
    greatest = (2 - 2.0**-10) * 2.0**127
    want = []
    for x in as_float(a, "f32").tolist():
        value = tf32(x, text.partition(".")[0])
        if "satfinite" in text:
            value = min(max(value, -greatest), greatest)
        want.append(max(value, 0.0) if "relu" in text else value)
    check(evaluate(f"cvt.{text}.tf32.f32 %d, %a;", [a], "u4"), want, "f32")


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("cvt.rna.relu.tf32.f32", "u4"),
        ("cvt.rn.satfinite.f32.f64", "u4"),
        ("cvt.rzi.relu.s32.f32", "u4"),
    ],
)
def test_conversions_without_a_meaning_are_refused(text: str, width: str) -> None:
    a = interesting("f64" if text.endswith("f64") else "f32", 32, 19)
    with pytest.raises(te.PTXError, match="unsupported instruction"):
        evaluate(f"{text} %d, %a;", [a], width)
