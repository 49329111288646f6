# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of a warp: fragments are where PTX's manual says, and products are exact.

The places of elements are written after the manual's formulas, one for each shape, and products are
found with Python's fractions. All values are such that no order of additions changes a sum.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from matrix_fragments import FORMATS, Shape, fragment_a, fragment_b, fragment_c, product, values

import tile_emulator as te

HEADER = ".version 8.8\n.target sm_90a\n.address_size 64\n"
SCHEDULES = ("eager", "late", "random:1", "random:2")


def mma(shape: Shape, to: str, a: str, b: str, c: str, suffix: str = "", mode: str = "") -> str:
    """Return a kernel in which each lane has the words of its fragments one after another."""
    m, n, k = shape
    wide = 8 if a == "f64" else 4
    counts = [m * k * FORMATS[a].bits, n * k * FORMATS[b].bits]
    counts += [m * n * FORMATS[c].bits, m * n * FORMATS[to].bits]
    words = [count // (32 * 8 * wide) for count in counts]
    kind = f"b{8 * wide}"
    body = ""
    for name, count in zip("abc", words[:3], strict=True):
        body += f"ld.param.u64 %q0, [{name}]; mad.wide.u32 %q0, %t, {count * wide}, %q0;\n"
        body += "".join(f"ld.global.{kind} %{name}{i}, [%q0+{i * wide}];" for i in range(count))
    vectors = [
        "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"
        for name, count in zip("abcd", words, strict=True)
    ]
    shape_name = f"m{m}n{n}k{k}"
    body += f"\nmma.sync.aligned.{shape_name}.row.col{mode}.{to}.{a}.{b}.{c}{suffix} "
    body += f"{vectors[3]}, {vectors[0]}, {vectors[1]}, {vectors[2]};\n"
    body += f"ld.param.u64 %q0, [d]; mad.wide.u32 %q0, %t, {words[3] * wide}, %q0;\n"
    body += "".join(f"st.global.{kind} [%q0+{i * wide}], %d{i};" for i in range(words[3]))
    return (
        HEADER + ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {\n"
        f".reg .{kind} %a<9>, %b<9>, %c<9>, %d<9>; .reg .b32 %t; .reg .b64 %q<1>;\n"
        f"mov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    )


def all_forms() -> list[tuple[Shape, str, str, str, str]]:
    """All that PTX has for sm_90, but the old m8n8k4 of f16 and sparse ones."""
    forms = [((16, 8, k), to, "f16", "f16", to) for k in (8, 16) for to in ("f16", "f32")]
    forms += [((16, 8, k), "f32", "bf16", "bf16", "f32") for k in (8, 16)]
    forms += [((16, 8, k), "f32", "tf32", "tf32", "f32") for k in (4, 8)]
    forms += [((m, 8, k), "f64", "f64", "f64", "f64") for m, k in
              ((8, 4), (16, 4), (16, 8), (16, 16))]  # fmt: skip
    for kinds, shapes in (
        (("s8", "u8"), ((8, 8, 16), (16, 8, 16), (16, 8, 32))),
        (("s4", "u4"), ((8, 8, 32), (16, 8, 32), (16, 8, 64))),
    ):
        forms += [(shape, "s32", a, b, "s32") for shape in shapes
                  for a, b in itertools.product(kinds, kinds)]  # fmt: skip
    forms += [(shape, to, a, b, to) for shape in ((16, 8, 16), (16, 8, 32))
              for a, b in itertools.product(("e4m3", "e5m2"), repeat=2)
              for to in ("f16", "f32")]  # fmt: skip
    return forms


def run(text: str, a: Any, b: Any, c: Any, out: Any, schedule: str = "eager") -> None:
    te.emulate(te.parse(text), "k", [a, b, c, out], block=32, schedule=schedule)


@pytest.mark.parametrize("form", all_forms(), ids=lambda form: "-".join(map(str, form)))
def test_a_product_is_what_the_manual_says(form: tuple[Shape, str, str, str, str]) -> None:
    shape, to, a_kind, b_kind, c_kind = form
    m, n, k = shape
    a, b, c = values(a_kind, (m, k), 1), values(b_kind, (k, n), 2), values(c_kind, (m, n), 3)
    out = np.zeros_like(fragment_c(shape, to, c))
    run(
        mma(shape, to, a_kind, b_kind, c_kind),
        fragment_a(shape, a_kind, a), fragment_b(shape, b_kind, b), fragment_c(shape, c_kind, c),
        out,
    )  # fmt: skip
    wanted = fragment_c(shape, to, product(a, b, c))
    assert (out == wanted).all()
    assert len(set(wanted.tolist())) > 8


@pytest.mark.parametrize("op", ["xor", "and"])
@pytest.mark.parametrize("shape", [(8, 8, 128), (16, 8, 128), (16, 8, 256)])
def test_a_product_of_bits_counts_them(shape: Shape, op: str) -> None:
    m, n, k = shape
    a, b, c = values("b1", (m, k), 1), values("b1", (k, n), 2), values("s32", (m, n), 3)
    out = np.zeros(m * n, np.uint32)
    run(
        mma(shape, "s32", "b1", "b1", "s32", f".{op}.popc"),
        fragment_a(shape, "b1", a), fragment_b(shape, "b1", b), fragment_c(shape, "s32", c), out,
    )  # fmt: skip
    counted = [
        [sum((x ^ y) if op == "xor" else (x & y) for x, y in zip(row, column, strict=True))
         for column in zip(*b, strict=True)]
        for row in a
    ]  # fmt: skip
    total = [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(counted, c, strict=True)]
    assert (out == fragment_c(shape, "s32", total)).all()


@pytest.mark.parametrize("saturates", [False, True])
def test_sums_of_integers_wrap_or_saturate(saturates: bool) -> None:
    shape = (16, 8, 16)
    a, b = [[-128] * 16] * 16, [[-128] * 8] * 16
    out = np.zeros(128, np.uint32)
    start = [[2**31 - 1] * 8] * 16
    run(
        mma(shape, "s32", "s8", "s8", "s32", mode=".satfinite" if saturates else ""),
        fragment_a(shape, "s8", a), fragment_b(shape, "s8", b), fragment_c(shape, "s32", start),
        out,
    )  # fmt: skip
    assert set(out.tolist()) == {2**31 - 1 if saturates else 2**31 - 1 + 16 * 128**2}


def test_the_low_bits_of_tf32_do_not_count() -> None:
    shape = (16, 8, 4)
    a, b, c = values("tf32", (16, 4), 1), values("tf32", (4, 8), 2), values("f32", (16, 8), 3)
    words = fragment_a(shape, "tf32", a)
    results = []
    for low in (0, 0x1FFF):
        out = np.zeros(128, np.uint32)
        run(
            mma(shape, "f32", "tf32", "tf32", "f32"), words | np.uint32(low),
            fragment_b(shape, "tf32", b), fragment_c(shape, "f32", c), out,
        )  # fmt: skip
        results.append(out)
    assert (results[0] == results[1]).all()


def test_sums_are_rounded_once() -> None:
    """2048 + 1 + 1 is 2050 in f16, although 2048 + 1 is 2048."""
    shape = (16, 8, 8)
    a = [[2048, 1, 1, 0, 0, 0, 0, 0]] * 16
    b = [[1] * 8] * 8
    out = np.zeros(64, np.uint32)
    zeros = [[0] * 8] * 16
    run(
        mma(shape, "f16", "f16", "f16", "f16"),
        fragment_a(shape, "f16", a), fragment_b(shape, "f16", b), fragment_c(shape, "f16", zeros),
        out,
    )  # fmt: skip
    assert set(out.view(np.float16).tolist()) == {2050.0}


def test_a_fused_product_of_f64_is_rounded_after_each_term() -> None:
    shape = (8, 8, 4)
    tiny = Fraction(1, 2**60)
    a = [[1 + Fraction(1, 2**30), -1, tiny, 0]] * 8
    b = [[1 - Fraction(1, 2**30)] * 8, [1] * 8, [1] * 8, [0] * 8]
    out = np.zeros(64, np.uint64)
    zeros = [[0] * 8] * 8
    run(
        mma(shape, "f64", "f64", "f64", "f64"),
        fragment_a(shape, "f64", a), fragment_b(shape, "f64", b), fragment_c(shape, "f64", zeros),
        out,
    )  # fmt: skip
    exact = float((1 + Fraction(1, 2**30)) * (1 - Fraction(1, 2**30)))
    assert set(out.view(np.float64).tolist()) == {(exact - 1.0) + float(tiny)}


# Matrices in shared memory

TRANSPOSE = """
.visible .entry k(.param .u64 in, .param .u64 out) {{
  .reg .b32 %t, %r<8>, %x<4>; .reg .b64 %q<4>; .reg .pred %p;
  .shared .align 128 .b8 from[512]; .shared .align 128 .b8 into[512];
  mov.u32 %t, %tid.x; shl.b32 %r0, %t, 4; mov.u32 %r1, from; add.u32 %r2, %r1, %r0;
  ld.param.u64 %q0, [in]; cvt.u64.u32 %q1, %r0; add.u64 %q0, %q0, %q1;
  ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%q0]; st.shared.v4.b32 [%r2], {{%x0, %x1, %x2, %x3}};
  mov.u32 %r3, into; add.u32 %r4, %r3, %r0; cvt.u64.u32 %q2, %r2; cvta.shared.u64 %q2, %q2;
  mov.b32 %x0, 0; mov.b32 %x1, 0; mov.b32 %x2, 0; mov.b32 %x3, 0;
  st.shared.v4.b32 [%r4], {{%x0, %x1, %x2, %x3}};
  bar.warp.sync -1;
  {body}
  bar.warp.sync -1;
  ld.shared.v4.b32 {{%x0, %x1, %x2, %x3}}, [%r4];
  ld.param.u64 %q0, [out]; add.u64 %q0, %q0, %q1;
  st.global.v4.b32 [%q0], {{%x0, %x1, %x2, %x3}};
  ret;
}}
"""
LIST = {1: "{%x0}", 2: "{%x0, %x1}", 4: "{%x0, %x1, %x2, %x3}"}


def through(body: str, schedule: str = "eager", checks: str = "default") -> Any:
    source, out = np.arange(256, dtype=np.uint16), np.zeros(256, np.uint16)
    text = HEADER + TRANSPOSE.format(body=body)
    te.emulate(te.parse(text), "k", [source, out], block=32, schedule=schedule, checks=checks)
    return source.reshape(4, 8, 8), out.reshape(4, 8, 8)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("space", [".shared", ""])
def test_matrices_are_loaded_and_stored(count: int, space: str, schedule: str) -> None:
    at = "%r2" if space else "%q2"
    form = f"m8n8.x{count}"
    for load, store in itertools.product(("", ".trans"), repeat=2):
        source, out = through(
            f"ldmatrix.sync.aligned.{form}{load}{space}.b16 {LIST[count]}, [{at}];\n"
            f"stmatrix.sync.aligned.{form}{store}.shared.b16 [%r4], {LIST[count]};",
            schedule,
        )
        wanted = source if load == store else source.transpose(0, 2, 1)
        assert (out[:count] == wanted[:count]).all()
        assert (out[count:] == 0).all()


def test_each_lane_has_two_neighbours_of_a_row() -> None:
    """The manual's picture: lane 4 * i + j has the elements 2 * j and 2 * j + 1 of row i."""
    load = "ldmatrix.sync.aligned.m8n8.x1{}.shared.b16 {{%x0}}, [%r2]; "
    own = "shl.b32 %r5, %t, 2; add.u32 %r5, %r5, %r3; st.shared.b32 [%r5], %x0;"
    source, out = through(load.format("") + own)
    assert (out.reshape(-1)[:64].reshape(32, 2) == source[0].reshape(32, 2)).all()
    source, out = through(load.format(".trans") + own)
    assert (out.reshape(-1)[:64].reshape(32, 2) == source[0].T.reshape(32, 2)).all()


def test_a_matrix_of_registers_is_transposed() -> None:
    source, out = through(
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%x0}, [%r2];\n"
        "movmatrix.sync.aligned.m8n8.trans.b16 %x0, %x0;\n"
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r4], {%x0};"
    )
    assert (out[0] == source[0].T).all()


LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%x0, %x1, %x2, %x3}, [%r2];\n"
STORE = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r4], {%x0, %x1, %x2, %x3};\n"
SWAP = "xor.b32 %r6, %t, 7; shl.b32 %r6, %r6, 4; add.u32 %r6, %r6, "
MATRIX_FAULTS = {
    "a row is not aligned": (
        "address", "add.u32 %r2, %r2, 8;\n" + LOAD, LOAD),
    "a row is outside": (
        "address", "add.u32 %r2, %r2, 8192;\n" + LOAD, LOAD),
    "a generic address of global memory": (
        "address", LOAD.replace(".shared", "").replace("%r2", "%q0"), LOAD),
    "half of the warp is elsewhere": (
        "divergence",
        "setp.lt.u32 %p, %t, 16; @!%p bra SKIP;\n" + LOAD + "SKIP:", "SKIP:" + LOAD),
    "rows are written before another lane's stmatrix is ordered": (
        "race", STORE + SWAP + "%r3; st.shared.b32 [%r6], 7;",
        STORE + "bar.warp.sync -1;" + SWAP + "%r3; st.shared.b32 [%r6], 7; bar.warp.sync -1;"),
    "rows are read before they are ordered after their stores": (
        "race", "st.shared.b32 [%r2], %t;" + SWAP + "%r1;" + LOAD.replace("%r2", "%r6"),
        "st.shared.b32 [%r2], %t; bar.warp.sync -1;" + SWAP + "%r1;" + LOAD.replace("%r2", "%r6")),
    "nothing was written there": (
        "uninitialised-read", LOAD.replace("[%r2]", "[%r2+2048]"), LOAD),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", MATRIX_FAULTS)
def test_a_fault_at_a_matrix_is_reported(name: str, schedule: str) -> None:
    kind, wrong, right = MATRIX_FAULTS[name]
    through(right, schedule)
    text = HEADER + TRANSPOSE.format(body=wrong).replace(".b8 into[512]", ".b8 into[4096]")
    with pytest.raises(te.EmulationError) as caught:
        te.emulate(
            te.parse(text), "k", [np.zeros(256, np.uint16), np.zeros(256, np.uint16)],
            block=32, schedule=schedule,
        )  # fmt: skip
    assert caught.value.kind == kind, str(caught.value)


def test_what_a_matrix_load_gave_may_be_overwritten_at_once() -> None:
    """Who has the elements knows that the loads are over, as after a shuffle of loaded values."""
    body = LOAD + SWAP + "%r1; st.shared.b32 [%r6], %t;"
    through(body)
    with pytest.raises(te.EmulationError, match="race"):
        through(body, checks="strict")


def test_a_warp_must_be_whole() -> None:
    text = HEADER + TRANSPOSE.format(body=LOAD)
    with pytest.raises(te.EmulationError) as caught:
        te.emulate(te.parse(text), "k", [np.zeros(256, np.uint16)] * 2, block=16)
    assert caught.value.kind == "divergence"


@pytest.mark.parametrize(
    "text",
    [
        "ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%x0}, [%r2];",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%x0}, [%r2];",
        "mma.sync.aligned.m16n8k16.row.col.f16.bf16.bf16.f16 {%x0, %x1}, {%x0, %x1, %x2, %x3},"
        " {%x0, %x1}, {%x0, %x1};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 {%x0, %x1, %x2, %x3},"
        " {%x0, %x1, %x2, %x3}, {%x0, %x1}, {%x0, %x1, %x2, %x3};",
        "mma.sync.aligned.m16n8k16.row.row.f16.f16.f16.f16 {%x0, %x1}, {%x0, %x1, %x2, %x3},"
        " {%x0, %x1}, {%x0, %x1};",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%x0, %x1}, {%x0, %x1},"
        " {%x0, %x1}, {%x0, %x1};",
    ],
)
def test_other_forms_are_no_instructions_of_sm_90(text: str) -> None:
    with pytest.raises(te.PTXError):
        through(text)


# 8-bit floats

EIGHTS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def convert(text: str, source: Any, dtype: Any) -> Any:
    """Run a conversion of `%a` (and `%b`, its neighbour) to `%d` for each element."""
    width, out = source.dtype.itemsize, np.zeros(len(source), dtype)
    ptx = (
        f"{HEADER}.visible .entry k(.param .u64 in, .param .u64 out) {{\n"
        f".reg .b32 %i, %n, %t, %j; .reg .b64 %p; .reg .b{8 * width} %a, %b;"
        f".reg .b{8 * out.itemsize} %d;\nmov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x;"
        "mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, %n, %t; xor.b32 %j, %i, 1;\n"
        f"ld.param.u64 %p, [in]; mad.wide.u32 %p, %i, {width}, %p; ld.global.b{8 * width} %a, [%p];"
        f"ld.param.u64 %p, [in]; mad.wide.u32 %p, %j, {width}, %p; ld.global.b{8 * width} %b, [%p];"
        f"\n{text}\nld.param.u64 %p, [out]; mad.wide.u32 %p, %i, {out.itemsize}, %p;"
        f"st.global.b{8 * out.itemsize} [%p], %d;\nret;\n}}\n"
    )
    te.emulate(te.parse(ptx), "k", [source, out], grid=len(source) // 128, block=128)
    return out


def nearest(kind: str, number: float, relu: bool) -> int:
    """Round to an 8-bit format by the definition: the nearest number, of two the even one."""
    if number != number:
        return 0x7F
    if relu and (number < 0 or str(number) == "-0.0"):
        return 0
    codes = [c for c in range(128) if np.isfinite(np.uint8(c).view(EIGHTS[kind]))]
    size = min(abs(Fraction(number)), Fraction(float(np.uint8(codes[-1]).view(EIGHTS[kind])))) if (
        abs(number) != float("inf")
    ) else Fraction(float(np.uint8(codes[-1]).view(EIGHTS[kind])))  # fmt: skip
    best = min(
        codes, key=lambda c: (abs(Fraction(float(np.uint8(c).view(EIGHTS[kind]))) - size), c & 1)
    )
    return best | (0x80 if np.signbit(number) else 0)


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", EIGHTS)
def test_floats_are_rounded_to_eight_bits(kind: str, relu: bool) -> None:
    rng = np.random.default_rng(4)
    every = np.arange(256, dtype=np.uint8).view(EIGHTS[kind]).astype(np.float32)
    finite = np.sort(every[np.isfinite(every)])
    ties = (finite[1:] + finite[:-1]) / 2
    drawn = (rng.standard_normal(512) * np.exp2(rng.integers(-20, 20, 512))).astype(np.float32)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 448, 464, 480], np.float32)
    source = np.concatenate([every, ties, drawn, special, np.float32(ties * 1.001)])
    source = np.resize(source, len(source) // 128 * 128 + 128).astype(np.float32)
    mode = ".relu" if relu else ""
    text = f"cvt.rn.satfinite{mode}.{kind}x2.f32 %d, %a, %b;"
    got = convert(text, source, np.uint16)
    own = [nearest(kind, float(x), relu) for x in source]
    assert (got >> 8).tolist() == own
    assert (got & 0xFF).tolist() == [own[i ^ 1] for i in range(len(own))]
    with np.errstate(over="ignore"):
        halves = source.astype(np.float16)
    words = halves.view(np.uint32)
    words = np.resize(words, len(words) // 128 * 128)
    got = convert(f"cvt.rn.satfinite{mode}.{kind}x2.f16x2 %d, %a;", words, np.uint16)
    own = [nearest(kind, float(x), relu) for x in halves[: 2 * len(words)]]
    assert got.view(np.uint8).tolist() == own


@pytest.mark.parametrize("kind", EIGHTS)
def test_eight_bits_are_widened(kind: str) -> None:
    source = np.arange(256, dtype=np.uint8)
    every = source.view(EIGHTS[kind]).astype(np.float16)
    want = np.where(np.isnan(every), np.uint16(0x7FFF), every.view(np.uint16))
    got = convert(f"cvt.rn.f16x2.{kind}x2 %d, %a;", source.view(np.uint16), np.uint32)
    assert got.view(np.uint16).tolist() == want.tolist()
    got = convert(f"cvt.rn.relu.f16x2.{kind}x2 %d, %a;", source.view(np.uint16), np.uint32)
    want = np.where(np.signbit(every) & ~np.isnan(every), np.uint16(0), want)
    assert got.view(np.uint16).tolist() == want.tolist()
