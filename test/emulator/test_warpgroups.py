# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of warpgroups: what `wgmma` computes, and what is wrong around it.

Where elements are in shared memory is written after PTX's canonical layouts, and products are found
with Python's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from matrix_fragments import FORMATS, Matrix, fragment_a, fragment_c, product, values

import tile_emulator as te

HEADER = ".version 8.8\n.target sm_90a\n.address_size 64\n"
SCHEDULES = ("eager", "late", "random:1", "random:2", "random:3")
MODES = {0: 0, 128: 1, 64: 2, 32: 3}


@dataclass(frozen=True)
class Tile:
    """A factor in shared memory: `rows` rows (of the result) and `length` elements of the sum."""

    kind: str
    rows: int
    length: int
    swizzle: int = 0
    across: bool = False

    @property
    def bits(self) -> int:
        return FORMATS[self.kind].bits

    @property
    def offsets(self) -> tuple[int, int]:
        """Leading and stride dimension byte offset."""
        blocks = self.rows // 8
        if not self.swizzle:
            return 128 * blocks, 128
        if self.across:
            return self.swizzle * self.length, 8 * self.swizzle
        return 16, 8 * self.swizzle

    def place(self, row: int, k: int) -> tuple[int, int]:
        """Return byte and bit of an element: PTX's canonical layouts, in bytes."""
        leading, stride = self.offsets
        inside = k * self.bits
        if self.across:
            unit = (self.swizzle or 16) * 8 // self.bits
            along, panel = row % unit * self.bits // 8, row // unit
            groups = (leading, stride) if self.swizzle else (stride, leading)
            at = along + panel * groups[0] + k % 8 * (self.swizzle or 16) + k // 8 * groups[1]
        else:
            chunk, byte = divmod(inside // 8, 16)
            at = row % 8 * (self.swizzle or 16) + row // 8 * stride + byte
            at += chunk * (16 if self.swizzle else leading)
        if self.swizzle:
            at ^= (at // 128 % (self.swizzle // 16)) * 16
        return at, inside % 8 if self.bits < 8 else 0

    def image(self, matrix: Matrix) -> bytes:
        """Return the bytes of shared memory."""
        content = bytearray(self.rows * self.length * self.bits // 8)
        for row in range(self.rows):
            for k in range(self.length):
                at, bit = self.place(row, k)
                code = FORMATS[self.kind].encode(matrix[row][k])
                for i in range(max(1, self.bits // 8)):
                    content[at + i] |= code >> 8 * i & 0xFF if self.bits >= 8 else code << bit
        return bytes(content)

    def descriptor(self, base: int) -> int:
        """Return the descriptor without the start address, which is `base` on."""
        leading, stride = self.offsets
        return leading >> 4 << 16 | stride >> 4 << 32 | MODES[self.swizzle] << 62 | base >> 4


@dataclass(frozen=True)
class Form:
    """A product of 64 rows."""

    to: str
    a: Tile
    b: Tile
    in_registers: bool = False
    accumulates: bool = True
    scales: tuple[int, int] = (1, 1)
    mode: str = ""
    suffix: str = ""

    @property
    def columns(self) -> int:
        return self.b.rows


def fence() -> str:
    return "wgmma.fence.sync.aligned;\n"


COMMIT = "wgmma.commit_group.sync.aligned;\n"
WAIT = "wgmma.wait_group.sync.aligned 0;\n"
FILL = """
  mov.u32 %r0, SOURCE; ld.param.u64 %q0, [PARAM]; mov.u32 %r1, %t;
FILL_PARAM: setp.ge.u32 %p0, %r1, WORDS; @%p0 bra FILLED_PARAM;
  mul.wide.u32 %q1, %r1, 4; add.u64 %q1, %q1, %q0; ld.global.b32 %r2, [%q1];
  shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r0; st.shared.b32 [%r3], %r2;
  add.u32 %r1, %r1, 128; bra FILL_PARAM;
FILLED_PARAM:
"""
HEAD = """.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{
  .reg .pred %p<4>; .reg .b32 %r<8>, %t, %a<8>, %d<130>; .reg .b64 %q<8>, %da, %db;
  .shared .align 1024 .b8 left[A_BYTES]; .shared .align 1024 .b8 right[B_BYTES];
  mov.u32 %t, %tid.x;
"""


@cache
def kernel(form: Form) -> str:
    """Return a kernel that multiplies, in as many steps of 32 bytes as the factors have."""
    a_bytes = form.a.rows * form.a.length * form.a.bits // 8
    b_bytes = form.b.rows * form.b.length * form.b.bits // 8
    count = form.columns // (4 if form.to == "f16" else 2)
    steps = form.a.length * form.a.bits // 8 // 32
    text = HEADER + HEAD.replace("A_BYTES", str(a_bytes)).replace("B_BYTES", str(b_bytes))
    for source, param, size in (("left", "a", a_bytes), ("right", "b", b_bytes)):
        if param == "b" or not form.in_registers:
            text += (
                FILL.replace("SOURCE", source)
                .replace("PARAM", param)
                .replace("WORDS", str(size // 4))
            )
    for name, given in (("a", form.a), ("b", form.b)):
        symbol = "left" if name == "a" else "right"
        text += f"mov.b64 %q2, {symbol}; and.b64 %q2, %q2, 0x3ffff; shr.u64 %q2, %q2, 4;\n"
        text += f"mov.b64 %d{name}, {given.descriptor(0)}; or.b64 %d{name}, %d{name}, %q2;\n"
    registers = 4 * steps if form.in_registers else 0
    if registers:
        text += f"ld.param.u64 %q0, [a]; mad.wide.u32 %q0, %t, {4 * registers}, %q0;\n"
        text += "".join(f"ld.global.b32 %a{i}, [%q0+{4 * i}];\n" for i in range(registers))
    text += f"ld.param.u64 %q0, [c]; mad.wide.u32 %q0, %t, {4 * count}, %q0;\n"
    text += "".join(f"ld.global.b32 %d{i}, [%q0+{4 * i}];\n" for i in range(count))
    text += "fence.proxy.async.shared::cta; bar.sync 0;\n" + fence()
    length = 256 // form.a.bits
    shape = f"m64n{form.columns}k{length}"
    result = "{" + ", ".join(f"%d{i}" for i in range(count)) + "}"
    transpositions = ""
    if form.a.kind in ("f16", "bf16"):
        flags = [form.b.across] if form.in_registers else [form.a.across, form.b.across]
        transpositions = "".join(f", {int(flag)}" for flag in flags)
    scales = "" if form.to == "s32" else f", {form.scales[0]}, {form.scales[1]}"
    for step in range(steps):
        first = "%da"
        if form.in_registers:
            first = "{" + ", ".join(f"%a{4 * step + i}" for i in range(4)) + "}"
        text += f"setp.ne.b32 %p1, {int(form.accumulates or step > 0)}, 0;\n"
        text += f"wgmma.mma_async.sync.aligned.{shape}{form.mode}.{form.to}.{form.a.kind}."
        text += f"{form.b.kind}{form.suffix} {result}, {first}, %db, %p1{scales}{transpositions};\n"
        text += "add.u64 %da, %da, 2; add.u64 %db, %db, 2;\n"
    text += COMMIT + WAIT
    text += f"ld.param.u64 %q0, [d]; mad.wide.u32 %q0, %t, {4 * count}, %q0;\n"
    text += "".join(f"st.global.b32 [%q0+{4 * i}], %d{i};\n" for i in range(count))
    return text + "ret;\n}\n"


def fragments(form: Form, matrix: Matrix) -> Any:
    """Return the registers of a result of all four warps, each of 16 rows."""
    shape = (16, form.columns, 0)
    parts = [fragment_c(shape, form.to, matrix[16 * i : 16 * i + 16]) for i in range(4)]
    return np.concatenate(parts)


@cache
def data(form: Form) -> tuple[Any, Any, Any, Any]:
    """Return what the kernel reads, and what it must write."""
    a = values(form.a.kind, (64, form.a.length), 1)
    b = values(form.b.kind, (form.columns, form.b.length), 2)
    c = values("s32" if form.to == "s32" else "f16", (64, form.columns), 3)
    scale = form.scales[0] * form.scales[1]
    start = c if form.accumulates else [[0] * form.columns] * 64
    signed = [[scale * value for value in row] for row in a]
    total = product(signed, [list(column) for column in zip(*b, strict=True)], start)
    left = np.frombuffer(form.a.image(a), np.uint32)
    if form.in_registers:
        shape = (16, 8, 256 // form.a.bits)
        steps = [
            [fragment_a(shape, form.a.kind, [row[k : k + shape[2]] for row in a[i : i + 16]])
             .reshape(32, 4) for k in range(0, form.a.length, shape[2])]
            for i in range(0, 64, 16)
        ]  # fmt: skip
        left = np.concatenate([np.concatenate(warp, axis=1) for warp in steps]).reshape(-1)
    right = np.frombuffer(form.b.image(b), np.uint32)
    return left, right, fragments(form, c), fragments(form, total)


def tiles(
    kind: str, columns: int, length: int, a: tuple[int, bool], b: tuple[int, bool]
) -> tuple[Tile, Tile]:
    return Tile(kind, 64, length, *a), Tile(kind, columns, length, *b)


ALONG = [(0, False), (32, False), (64, False), (128, False)]
ACROSS = [(0, True), (32, True), (64, True), (128, True)]


def all_forms() -> list[Form]:
    forms = [Form("f32", *tiles("f16", 64, 16, a, b)) for a in ALONG[:2] + ACROSS
             for b in ALONG[:2] + ACROSS]  # fmt: skip
    forms += [Form("f32", *tiles("bf16", n, s // 2, (s, False), (s, False)))
              for s in (32, 64, 128) for n in (8, 24, 64)]  # fmt: skip
    forms += [Form("f16", *tiles("f16", n, 16, (32, False), (32, False))) for n in (8, 16, 256)]
    forms += [Form("f32", *tiles("f16", 16, 16, (32, False), (32, False)), scales=s)
              for s in ((-1, 1), (1, -1), (-1, -1))]  # fmt: skip
    forms += [Form("f32", *tiles("bf16", 40, 16, (0, False), (0, False)), accumulates=False)]
    forms += [Form("f32", *tiles("tf32", 16, s // 4, (s, False), (s, False))) for s in (32, 128)]
    forms += [
        Form(to, Tile(a, 64, 64, 64), Tile(b, 32, 64, 64))
        for to in ("f16", "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")
    ]  # fmt: skip
    forms += [Form("s32", Tile(a, 64, 128, 128), Tile(b, 48, 128, 128))
              for a in ("s8", "u8") for b in ("s8", "u8")]  # fmt: skip
    forms += [Form("s32", Tile("b1", 64, 256), Tile("b1", 16, 256), suffix=".and.popc")]
    forms += [
        Form("f32", *tiles(kind, 24, length, (0, False), b), in_registers=True)
        for kind, length, b in (
            ("f16", 16, (32, False)), ("f16", 32, (64, False)), ("bf16", 16, (0, False)),
            ("tf32", 8, (32, False)), ("e4m3", 64, (64, False)),
        )
    ]  # fmt: skip
    forms += [Form("f32", *tiles("f16", 64, 16, (0, False), (128, True)), in_registers=True)]
    return forms


def name_of(form: Form) -> str:
    sides = [f"{t.kind}-{t.swizzle}{'t' if t.across else ''}" for t in (form.a, form.b)]
    if form.in_registers:
        sides[0] = f"{form.a.kind}-registers"
    return f"n{form.columns}k{form.a.length}-{form.to}-{'-'.join(sides)}{form.scales}"


def run(text: str, form: Form, schedule: str, checks: str = "default") -> Any:
    left, right, start, wanted = data(form)
    out = np.zeros_like(wanted)
    te.emulate(
        te.parse(text), "k", [left, right, start, out], block=128, schedule=schedule, checks=checks
    )
    return out


@pytest.mark.parametrize("form", all_forms(), ids=name_of)
def test_a_product_is_what_the_manual_says(form: Form) -> None:
    wanted = data(form)[3]
    schedule = SCHEDULES[len(name_of(form)) % len(SCHEDULES)]
    assert (run(kernel(form), form, schedule) == wanted).all()
    assert len(set(wanted.tolist())) > 16


GOOD = Form("f32", *tiles("bf16", 16, 64, (128, False), (128, False)))
IN_REGISTERS = Form("f32", *tiles("f16", 16, 16, (0, False), (32, False)), in_registers=True)
BARRIER = "fence.proxy.async.shared::cta; bar.sync 0;\n"
NEXT = "add.u64 %da, %da, 2; add.u64 %db, %db, 2;\n"
FIRST = "setp.ne.b32 %p1, 1, 0;\nwgmma"


def edited(form: Form, *changes: tuple[str, str]) -> str:
    text = kernel(form)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


FAULTS = {
    "no fence": ("in-flight", GOOD, (fence(), "")),
    "an accumulator is set after the fence": (
        "in-flight", GOOD, (fence(), fence() + "add.u32 %d3, %d3, 0;\n")),
    "a factor is set after the fence": (
        "in-flight", IN_REGISTERS, (fence(), fence() + "add.u32 %a1, %a1, 0;\n")),
    "an accumulator is read before the wait": (
        "in-flight", GOOD, (COMMIT, COMMIT + "add.u32 %r7, %d2, 1;\n")),
    "an accumulator is written before the wait": (
        "in-flight", GOOD, (COMMIT, COMMIT + "mov.b32 %d2, 0;\n")),
    "a factor in registers is written before the wait": (
        "in-flight", IN_REGISTERS, (COMMIT, COMMIT + "mov.b32 %a1, 0;\n")),
    "an accumulator is read between products": (
        "in-flight", GOOD, (NEXT, NEXT + "add.u32 %r7, %d2, 1;\n")),
    "no wait": ("in-flight", GOOD, (WAIT, "")),
    "no group": ("in-flight", GOOD, (COMMIT, "")),
    "the wait leaves the group": ("in-flight", GOOD, (WAIT, WAIT.replace(" 0", " 1"))),
    "nothing waits, and nothing is used": (
        "early-exit", GOOD, (COMMIT + WAIT, COMMIT + "ret;\n")),
    "a tile is overwritten before the wait": (
        "in-flight", GOOD, (WAIT, "st.shared.b32 [left], 0;\n" + WAIT)),
    "another thread overwrites a tile before the wait": (
        "in-flight", GOOD,
        (WAIT, "setp.eq.u32 %p3, %t, 99; @%p3 st.shared.b32 [right], 0;\n" + WAIT)),
    "another warp overwrites a tile after its own wait": (
        "in-flight", GOOD,
        (WAIT, WAIT + "setp.eq.u32 %p3, %t, 99; @%p3 st.shared.b32 [right], 0;\n")),
    "no proxy fence": (
        "proxy-fence", GOOD, (BARRIER, "bar.sync 0;\n")),
    "no barrier": ("in-flight", GOOD, (BARRIER, "fence.proxy.async.shared::cta;\n")),
    "a tile was never written": (
        "uninitialised-read", GOOD, ("mov.u32 %r0, right;", "mov.u32 %r0, left;")),
    "a descriptor is outside": (
        "address", GOOD, (BARRIER, BARRIER + "add.u64 %db, %db, 4096;\n")),
    "a stride is too large": (
        "address", GOOD, (BARRIER, BARRIER + "or.b64 %da, %da, 0x200000000000;\n")),
    "a base offset": (
        "address", GOOD, (BARRIER, BARRIER + "or.b64 %da, %da, 0x2000000000000;\n")),
    "a warp has another descriptor": (
        "divergence", GOOD,
        (BARRIER, BARRIER + "setp.eq.u32 %p3, %t, 64; @%p3 add.u64 %da, %da, 64;\n")),
    "all lanes of a warp have another descriptor": (
        "divergence", GOOD,
        (BARRIER, BARRIER + "setp.ge.u32 %p3, %t, 96; @%p3 add.u64 %da, %da, 64;\n")),
    "a warp does not take part": (
        "divergence", GOOD,
        (BARRIER, BARRIER + "setp.ge.u32 %p3, %t, 96; @%p3 bra OUT;\n"),
        ("ret;\n}", "OUT: ret;\n}")),
    "half of a warp does not take part": (
        "divergence", GOOD,
        (BARRIER, BARRIER + "setp.ge.u32 %p3, %t, 112; @%p3 bra OUT;\n"),
        ("ret;\n}", "OUT: ret;\n}")),
    "lanes differ in scale-d": (
        "divergence", GOOD, (FIRST, "setp.ne.b32 %p1, %t, 5;\nwgmma")),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", [GOOD, IN_REGISTERS], ids=["tiles", "registers"])
def test_a_correct_kernel_is_not_reported(form: Form, schedule: str) -> None:
    for checks in ("default", "strict"):
        assert (run(kernel(form), form, schedule, checks) == data(form)[3]).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_reported_under_its_kind(name: str, schedule: str) -> None:
    kind, form, *changes = FAULTS[name]
    with pytest.raises(te.EmulationError) as caught:
        run(edited(form, *changes), form, schedule)
    assert caught.value.kind == kind, str(caught.value)


TWINS = {
    "a fence after the accumulator is set": (
        GOOD, (fence(), "mov.b32 %r7, %d3; mov.b32 %d3, %r7;\n" + fence())),
    "a fence between products does no harm": (GOOD, (NEXT, NEXT + fence())),
    "each product has a group": (GOOD, (NEXT, NEXT + COMMIT)),
    "a later group is left": (
        GOOD, (WAIT, COMMIT + WAIT.replace(" 0", " 1"))),
    "a tile is overwritten after the wait and a barrier": (
        GOOD, (WAIT, WAIT + "bar.sync 0; st.shared.b32 [left], 0;\n")),
    "a constant that a compiler puts into a register where it is needed": (
        GOOD, ("ld.global.b32 %d3, [%q0+12];", ""),
        (fence(), "ld.global.b32 %r7, [%q0+12];\n" + fence() + "mov.b32 %d3, %r7;"
         "mov.b32 %d2, {%h0, %h1};\n"),
        ("ld.global.b32 %d2, [%q0+8];", "ld.global.v2.b16 {%h0, %h1}, [%q0+8];"),
        (".reg .b32 %r<8>", ".reg .b16 %h<2>; .reg .b32 %r<8>")),
    "a copy of an accumulator that assemblers take away": (
        GOOD, (COMMIT, COMMIT + "mov.b32 %r7, %d2;\n")),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", TWINS)
def test_what_is_right_is_not_reported(name: str, schedule: str) -> None:
    form, *changes = TWINS[name]
    assert (run(edited(form, *changes), form, schedule) == data(form)[3]).all()


@pytest.mark.parametrize("name", [name for name in TWINS if "compiler" in name or "copy" in name])
def test_moves_are_reported_by_strict_checks(name: str) -> None:
    form, *changes = TWINS[name]
    with pytest.raises(te.EmulationError, match=r"of register %d[23]|is used at PTX line"):
        run(edited(form, *changes), form, "eager", "strict")


def test_a_report_names_the_register_and_the_line() -> None:
    text = edited(GOOD, (COMMIT, COMMIT + "add.u32 %r7, %d2, 1;\n"))
    line = text[: text.index("add.u32 %r7, %d2")].count("\n") + 1
    with pytest.raises(te.EmulationError, match=rf"register %d2 is used at PTX line {line} before"):
        run(text, GOOD, "eager")


def test_a_warpgroup_is_whole() -> None:
    left, right, start, wanted = data(GOOD)
    with pytest.raises(te.EmulationError) as caught:
        te.emulate(
            te.parse(kernel(GOOD)), "k", [left, right, start, np.zeros_like(wanted)], block=96
        )
    assert caught.value.kind == "divergence"


@pytest.mark.parametrize(
    "change",
    [
        ("m64n16k16", "m64n20k16"),
        ("m64n16k16", "m64n264k16"),
        ("m64n16k16", "m64n16k8"),
        ("m64n16k16.f32", "m64n16k16.f16"),
        (", 1, 1, 0, 0;", ", 2, 1, 0, 0;"),
        (", 1, 1, 0, 0;", ", 1, 1, 0;"),
        ("%d6, %d7}", "%d6}"),
        ("wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned %r0"),
    ],
    ids=str,
)
def test_other_forms_are_no_instructions(change: tuple[str, str]) -> None:
    with pytest.raises(te.PTXError):
        run(edited(GOOD, change), GOOD, "eager")


BOXES = """.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128],
  .param .u64 c, .param .u64 d)
{
  .reg .pred %p<4>; .reg .b32 %t, %d<8>; .reg .b64 %q<3>, %da, %db, %m, %n;
  .shared .align 1024 .b8 left[8192]; .shared .align 1024 .b8 right[2048];
  .shared .align 8 .b64 bar;
  mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 0;
  mov.b64 %m, a; cvta.param.u64 %m, %m; mov.b64 %n, b; cvta.param.u64 %n, %n;
  @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
  bar.sync 0;
  @!%p0 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 10240;
  LOAD [left], [%m, {0, 0}], [bar];
  LOAD [right], [%n, {0, 0}], [bar];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0; @!%p2 bra WAIT;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_boxes_of_tensors_are_multiplied(schedule: str) -> None:
    """A swizzle of 128 bytes means the same to tensor maps and to matrix descriptors."""
    load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
    text, product_part = HEADER + BOXES.replace("LOAD", load), kernel(GOOD)
    start = product_part.index("mov.b64 %q2, left;")
    text += product_part[start:].replace(BARRIER, "")
    a, b = values("bf16", (64, 64), 1), values("bf16", (16, 64), 2)
    device = te.Device(schedule=schedule)
    pointers = []
    for matrix in (a, b):
        words = np.array([[FORMATS["bf16"].encode(x) for x in row] for row in matrix], np.uint16)
        pointers.append(device.alloc(words.nbytes))
        device.write(pointers[-1], words)
    maps = [
        te.encode_tiled("bfloat16", 2, at, (64, rows), (128,), (64, rows), swizzle="128B")
        for at, rows in zip(pointers, (64, 16), strict=True)
    ]
    _, _, first, wanted = data(GOOD)
    places = [device.alloc(first.nbytes), device.alloc(first.nbytes)]
    device.write(places[0], first)
    arguments = [*maps, *(place.to_bytes(8, "little") for place in places)]
    device.launch(te.parse(text), "k", 1, 128, args=arguments)
    got = np.frombuffer(device.read(places[1], wanted.nbytes), np.uint32)
    assert (got == wanted).all()


RING = """.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128],
  .param .u64 c, .param .u64 d)
{
  .reg .pred %p<6>; .reg .b32 %t, %i, %s, %parity, %at, %bar, %k, %r<8>, %d<8>;
  .reg .b64 %q<6>, %da, %db, %m, %n;
  .shared .align 1024 .b8 left[16384]; .shared .align 1024 .b8 right[4096];
  .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
  mov.u32 %t, %tid.x; setp.eq.u32 %p0, %t, 128; mov.u32 %i, 0;
  mov.b64 %m, a; cvta.param.u64 %m, %m; mov.b64 %n, b; cvta.param.u64 %n, %n;
  @%p0 mbarrier.init.shared::cta.b64 [full], 1; @%p0 mbarrier.init.shared::cta.b64 [full+8], 1;
  @%p0 mbarrier.init.shared::cta.b64 [empty], 128;
  @%p0 mbarrier.init.shared::cta.b64 [empty+8], 128;
  bar.sync 0;
  setp.lt.u32 %p1, %t, 128; @%p1 bra CONSUMER;
  @!%p0 bra DONE;
PRODUCE:
  and.b32 %s, %i, 1; shl.b32 %r0, %s, 3; mov.u32 %bar, empty; add.u32 %bar, %bar, %r0;
  shr.u32 %parity, %i, 1; xor.b32 %parity, %parity, 1; and.b32 %parity, %parity, 1;
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%bar], %parity; @!%p2 bra FREE;
  mov.u32 %bar, full; add.u32 %bar, %bar, %r0;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 10240;
  shl.b32 %k, %i, 6; shl.b32 %r1, %s, 13; mov.u32 %at, left; add.u32 %at, %at, %r1;
  LOAD [%at], [%m, {%k, 0}], [%bar];
  shl.b32 %r1, %s, 11; mov.u32 %at, right; add.u32 %at, %at, %r1;
  LOAD [%at], [%n, {%k, 0}], [%bar];
  add.u32 %i, %i, 1; setp.lt.u32 %p3, %i, 4; @%p3 bra PRODUCE;
  bra DONE;
CONSUMER:
  and.b32 %s, %i, 1; shl.b32 %r0, %s, 3; mov.u32 %bar, full; add.u32 %bar, %bar, %r0;
  shr.u32 %parity, %i, 1; and.b32 %parity, %parity, 1;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%bar], %parity; @!%p2 bra FULL;
  mov.b64 %q0, left; shr.u64 %q0, %q0, 4; mul.wide.u32 %q1, %s, 512; add.u64 %q0, %q0, %q1;
  mov.b64 %q2, right; shr.u64 %q2, %q2, 4; mul.wide.u32 %q3, %s, 128; add.u64 %q2, %q2, %q3;
  or.b64 %da, %q0, HIGH; or.b64 %db, %q2, HIGH;
  wgmma.fence.sync.aligned;
PRODUCTS
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  mov.u32 %bar, empty; add.u32 %bar, %bar, %r0;
  mbarrier.arrive.shared::cta.b64 _, [%bar];
  add.u32 %i, %i, 1; setp.lt.u32 %p3, %i, 4; @%p3 bra CONSUMER;
  ld.param.u64 %q0, [d]; mad.wide.u32 %q0, %t, 32, %q0;
  st.global.v4.b32 [%q0], {%d0, %d1, %d2, %d3}; st.global.v4.b32 [%q0+16], {%d4, %d5, %d6, %d7};
DONE: ret;
}
"""
STEP = """  setp.ne.u32 %p4, %i, 0; SET
  wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7},
    %da, %db, %p4, 1, 1, 0, 0; add.u64 %da, %da, 2; add.u64 %db, %db, 2;
"""
RELEASE = "  mov.u32 %bar, empty; add.u32 %bar, %bar, %r0;\n" + (
    "  mbarrier.arrive.shared::cta.b64 _, [%bar];\n"
)
WAIT_RING = "  wgmma.wait_group.sync.aligned 0;\n"
RING_FAULTS = {
    "a stage is freed before its products were waited for": (
        "in-flight", (WAIT_RING + RELEASE, RELEASE + WAIT_RING)),
    "a stage is filled again although it is in use": (
        "arrivals", ("@!%p2 bra FREE;", "")),
    "a stage is multiplied before it is full": ("in-flight", ("@!%p2 bra FULL;", "")),
    "a stage is never freed": ("deadlock", (RELEASE, "")),
    "a stage is freed by three warps": (
        "deadlock",
        ("  mbarrier.arrive.shared", "  setp.lt.u32 %p5, %t, 96; @%p5 mbarrier.arrive.shared")),
    "the results are used before the last wait": (
        "in-flight", (WAIT_RING, WAIT_RING.replace(" 0", " 1"))),
}  # fmt: skip


def ring(*changes: tuple[str, str]) -> str:
    load = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
    products = STEP.replace("SET", "") + 3 * STEP.replace("SET", "setp.eq.u32 %p4, %i, %i;")
    text = RING.replace("LOAD", load).replace("PRODUCTS", products)
    text = text.replace("HIGH", str(GOOD.a.descriptor(0)))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return HEADER + text


@cache
def ring_data() -> tuple[list[Any], Any]:
    """Return both factors in bf16, and what their product is."""
    a, b = values("bf16", (64, 256), 1), values("bf16", (16, 256), 2)
    columns = [list(column) for column in zip(*b, strict=True)]
    words = [
        np.array([[FORMATS["bf16"].encode(x) for x in row] for row in matrix], np.uint16)
        for matrix in (a, b)
    ]
    return words, fragments(GOOD, product(a, columns, [[0] * 16] * 64))


def run_ring(text: str, schedule: str, checks: str = "default") -> tuple[Any, Any]:
    factors, wanted = ring_data()
    device = te.Device(schedule=schedule, checks=checks, max_seconds=600)
    maps = []
    for words in factors:
        at, rows = device.alloc(words.nbytes), len(words)
        device.write(at, words)
        maps.append(
            te.encode_tiled("bfloat16", 2, at, (256, rows), (512,), (64, rows), swizzle="128B")
        )
    out = device.alloc(4096)
    device.launch(te.parse(text), "k", 1, 160, args=[*maps, bytes(8), out.to_bytes(8, "little")])
    return np.frombuffer(device.read(out, 4096), np.uint32), wanted


@pytest.mark.parametrize("checks", ["default", "strict"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_ring_of_stages_is_multiplied(schedule: str, checks: str) -> None:
    got, wanted = run_ring(ring(), schedule, checks)
    assert (got == wanted).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", RING_FAULTS)
def test_a_fault_of_a_ring_is_reported(name: str, schedule: str) -> None:
    kind, *changes = RING_FAULTS[name]
    with pytest.raises(te.EmulationError) as caught:
        run_ring(ring(*changes), schedule)
    assert caught.value.kind == kind, str(caught.value)
