# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the targets: drawn from grammars, and damaged ones from the test suite's own files."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import math
import re
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

TREE = Path(__file__).parents[2]

EDGES = [0, 1, 2, 3, 8, 16, 2**20, 2**30, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1, 2**63]
NUMBERS = st.one_of(
    st.integers(0, 64),
    st.sampled_from(EDGES),
    st.builds(lambda edge, by: edge + by, st.sampled_from(EDGES), st.integers(-2, 2)),
    st.sampled_from([-1, -2, -(2**31), -(2**62), -(2**63), 2**64, 10**30]),
)
EXTENTS = st.one_of(st.sampled_from([1, 2, 4, 8, 16, 64]), st.integers(1, 40), NUMBERS)


def bracketed(values: list[str]) -> str:
    return "(" + ", ".join(values) + ")"


@st.composite
def layout_texts(draw: st.DrawFn) -> str:
    """Draw `<shape : strides, offset = o, swizzle = <b, m, s>>`, often one that is a layout."""
    compact = draw(st.booleans())
    shape: list[str] = []
    strides: list[str] = []
    gathered = 1
    for _ in range(draw(st.integers(0, 4))):
        modes = draw(st.lists(EXTENTS, min_size=1, max_size=3))
        steps = []
        for extent in modes:
            steps.append(gathered if compact else draw(NUMBERS))
            gathered = gathered * max(extent, 1) + (draw(st.integers(0, 16)) if compact else 0)
        nested = len(modes) > 1 or draw(st.integers(0, 9)) == 0
        shape.append(bracketed([*map(str, modes)]) if nested else str(modes[0]))
        strides.append(bracketed([*map(str, steps)]) if nested else str(steps[0]))
    text = f"<{bracketed(shape)} : {bracketed(strides)}"
    if draw(st.booleans()):
        text += f", offset = {draw(st.one_of(NUMBERS.map(str), st.just('?')))}"
    if draw(st.booleans()):
        swizzle = st.one_of(st.integers(0, 15), st.integers(0, 30), NUMBERS)
        bits, base = draw(st.integers(1, 4)), draw(swizzle)
        shift = draw(st.one_of(st.just(bits), swizzle))
        text += f", swizzle = <{bits}, {base}, {shift}>"
    return text + ">"


def shape_of(layout: str) -> list[str]:
    """Return the extents of a memref with that layout, as far as the text can be understood."""
    head = layout.split(":")[0].strip("<> ")
    extents, depth, entry = [], 0, ""
    for char in head[1:-1] + ",":
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            factors = [int(number) for number in re.findall(r"\d+", entry)]
            extents.append(str(min(math.prod(factors), 2**63 - 1)))
            entry = ""
        else:
            entry += char
    return extents if re.search(r"\d", head) else []


COPY = """
!tile = memref<{shape}{element}, {layout}, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
gpu.module @kernels {{
  gpu.func @send(%rank: i32, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
      attributes {{known_block_size = array<i32: 64, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create -> !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]){attributes}
        : !tile to !tile, !bars
    gpu.return
  }}
}}
"""
ISSUES = ["", " issue(warp)", " issue(cta)", ' issue(cta) {variant = "st_async"}']


def program_of_layout(data: bytes) -> bytes:
    """Wrap `ELEMENT ISSUE LAYOUT`, the first two by number, in a kernel."""
    text = data.decode(errors="replace")
    match = re.match(r"(\d) (\d) ", text)
    layout = text[match.end() :] if match else text
    element = ["i8", "f16", "f32", "i4", "i64", "i1", "index", "vector<4xf32>", "f64", "i128"][
        int(match[1]) if match else 1
    ]
    issue = ISSUES[int(match[2]) % len(ISSUES)] if match else ""
    shape = "".join(extent + "x" for extent in shape_of(layout))
    return COPY.format(
        shape=shape, element=element, layout=f"#tile.layout{layout}", attributes=issue
    ).encode()


def layouts() -> st.SearchStrategy[bytes]:
    """Draw layouts, some of them damaged."""
    head = st.builds("{} {} ".format, st.integers(0, 9), st.integers(0, 3))
    damaged = layout_texts().flatmap(lambda text: damages(text, LAYOUT_WORDS))
    body = st.one_of(layout_texts(), layout_texts(), damaged)
    return st.builds(lambda start, rest: (start + rest).encode(), head, body)


LAYOUT_WORDS = ["(", ")", "<", ">", ":", ",", "?", "offset", "swizzle", "=", "-", "((", "0x10", " "]


@st.composite
def plan_texts(draw: st.DrawFn) -> str:
    """Draw `<variant, chunk = c, ...>`, often one that agrees with itself."""
    tame = draw(st.booleans())
    numbers = st.sampled_from([0, 16, 64, 4096, -16, 2**20]) if tame else NUMBERS
    loops = draw(st.lists(st.integers(2, 9) if tame else EXTENTS, max_size=4))
    steps = st.lists(numbers, min_size=len(loops), max_size=len(loops))
    count = math.prod(loops) if tame else draw(st.one_of(st.just(math.prod(loops)), NUMBERS))
    text = f"<{draw(st.sampled_from(['bulk', 'st_async']))}"
    text += f", chunk = {draw(st.sampled_from([4, 8, 16, 256]) if tame else NUMBERS)}"
    text += f", count = {count}, loops = {loops}"
    for side in ("src", "dst"):
        text += f", {side} = <start = {draw(numbers)}, steps = {draw(steps)}"
        if draw(st.integers(0, 3)) == 0:
            text += (
                f", swizzle = {draw(st.lists(st.one_of(st.integers(1, 9), NUMBERS), max_size=3))}"
            )
        if side == "src" and draw(st.integers(0, 3)) == 0:
            text += f", gather = {draw(st.lists(numbers, min_size=2, max_size=4))}"
        text += ">"
    if draw(st.booleans()):
        text += f", threads = {draw(st.one_of(st.sampled_from([1, 32, 64]), NUMBERS))}"
        text += f", cycles = {draw(numbers)}"
    return text + ">"


def program_of_plan(data: bytes) -> bytes:
    """Wrap a plan in a kernel."""
    plan = data.decode(errors="replace")
    issue = " issue(cta)" if "st_async" in plan or "threads" in plan else ""
    return COPY.format(
        shape="128x64x",
        element="f16",
        layout="strided<[64, 1]>",
        attributes=f"{issue} {{plan = #tile.copy_plan{plan}}}",
    ).encode()


def plans() -> st.SearchStrategy[bytes]:
    """Draw plans, some of them damaged."""
    damaged = plan_texts().flatmap(lambda text: damages(text, ["[", "]", "{", "}", ",", "=", "-"]))
    return st.one_of(plan_texts(), damaged).map(str.encode)


@st.composite
def damages(draw: st.DrawFn, text: str, words: list[str]) -> str:
    """Damage `text` at a few places: cut, double, or put in words, numbers and anything else."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 5, 20, 100])))
        new = draw(
            st.one_of(
                st.sampled_from(words),
                st.just(text[start:stop] * 2),
                st.just(""),
                NUMBERS.map(str),
                st.text(max_size=3),
            )
        )
        numbers = [match.span() for match in re.finditer(r"\d+", text)]
        if numbers and draw(st.integers(0, 2)) == 0:
            start, stop = draw(st.sampled_from(numbers))
            new = str(draw(NUMBERS))
        text = text[:start] + new + text[stop:]
    return text


@functools.cache
def module_texts() -> list[str]:
    """Return the modules of the examples and of the lit tests, one by one."""
    files = sorted((TREE / "examples").glob("*.mlir")) + sorted((TREE / "test").glob("*/*.mlir"))
    texts = [part for file in files for part in file.read_text().split("// -----")]
    bare = [re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE).strip() + "\n" for text in texts]
    return [text for text in bare if "tile." in text and len(text) < 6000]


def damaged_texts(seeds: list[str]) -> st.SearchStrategy[bytes]:
    """Damage one of `seeds`, with words of all of them."""
    words = sorted({word for text in seeds for word in re.findall(r"[#!%@.\w$]+|[^\w\s]", text)})
    return (
        st.sampled_from(seeds)
        .flatmap(lambda text: damages(text, words))
        .map(lambda text: text.encode(errors="replace"))
    )


def programs() -> st.SearchStrategy[bytes]:
    """Damage modules."""
    return st.deferred(lambda: damaged_texts(module_texts()))


@functools.cache
def ptx_texts() -> list[str]:
    """Return the small PTX files of the emulator's tests, without their comments."""
    files = sorted((TREE / "test" / "emulator").glob("*/*.ptx"))
    texts = [re.sub(r"//[^\n]*", "", file.read_text()) for file in files]
    return [text for text in texts if len(text) < 8000]


def ptx() -> st.SearchStrategy[bytes]:
    """Damage PTX."""
    return st.deferred(lambda: damaged_texts(ptx_texts()))


def parameter_count(data: bytes, kernel: str) -> int:
    """Return about how many parameters a kernel has."""
    text = data.decode(errors="replace")
    match = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(([^)]*)\)", text) if kernel else None
    return min(match[1].count(".param"), 12) if match else 0


def block_size(data: bytes) -> str:
    """Return the threads of a CTA that the first kernel asks for."""
    match = re.search(rb"\.(?:req|max)ntid (\d{1,3})\b", data)
    return match[1].decode() if match and int(match[1]) else "64"


ELEMENTS = [
    *("i1", "i8", "i16", "i32", "i64", "ui8", "si32", "index"),
    *("f16", "f32", "f64", "bf16", "f8E5M2", "f7", "x"),
]


def arguments() -> st.SearchStrategy[bytes]:
    """Draw argument forms and what looks like them."""
    shape = st.lists(st.one_of(st.integers(0, 8), NUMBERS), max_size=4)
    element = st.sampled_from(ELEMENTS)
    shaped = st.builds(lambda s, e: "x".join([*map(str, s), e]), shape, element)
    form = st.sampled_from(["zeros", "iota", "random", "random:7", "random:x", "hex", "i32", "f16"])
    texts = st.builds("{}:{}".format, form, shaped)
    numbers = st.one_of(
        NUMBERS.map(str), st.floats().map(str), st.sampled_from(["0x", "1e999", "_"])
    )
    typed = st.builds("{}:{}".format, element, numbers)
    words = [":", "x", "zeros", "iota", "random", ".npy", "-", "0x", "\0", "٣"]
    damaged = texts.flatmap(lambda text: damages(text, words))
    return st.one_of(texts, damaged, typed, numbers, st.text(max_size=8)).map(
        lambda text: text.encode(errors="replace")
    )


@functools.cache
def npy_seeds() -> list[bytes]:
    """Return a few files as NumPy writes them."""
    arrays = [
        np.arange(6, dtype=np.float16).reshape(2, 3),
        np.zeros((), np.int64),
        np.zeros((0, 3), np.uint8),
        np.asfortranarray(np.ones((2, 2), ">f4")),
        np.zeros(2, [("a", "i4"), ("b", "f8")]),
    ]
    files = []
    for array in arrays:
        file = io.BytesIO()
        np.save(file, array)
        files.append(file.getvalue())
    return files


def npy_files() -> st.SearchStrategy[bytes]:
    """Damage .npy files: mostly their header, whose length stays right."""
    words = ["True", "None", "'O'", "'|V8'", "(", ")", "descr", "{", "}", "'", "-", "**", "L", "[]"]

    def with_header(seed: bytes) -> st.SearchStrategy[bytes]:
        length = int.from_bytes(seed[8:10], "little")
        header, rest = seed[10 : 10 + length].decode().rstrip(), seed[10 + length :]
        return damages(header, words).map(
            lambda text: (
                seed[:8]
                + (len(text.encode(errors="replace")) % 2**16).to_bytes(2, "little")
                + text.encode(errors="replace")
                + rest
            )
        )

    def with_bytes(seed: bytes) -> st.SearchStrategy[bytes]:
        return damages(seed.decode("latin-1"), ["\0", "\xff", "NUMPY"]).map(
            lambda text: text.encode("latin-1", errors="replace")
        )

    seeds = st.sampled_from(npy_seeds())
    headers = seeds.flatmap(with_header)
    return st.one_of(headers, headers, seeds.flatmap(with_bytes))


@st.composite
def notation_texts(draw: st.DrawFn) -> str:
    """Draw a layout as `tile-layout` takes it: plain, as the attribute, or as a memref."""
    text = draw(layout_texts())
    element = draw(st.sampled_from(["f16", "f32", "i8", "i4", "i1", "index", "vector<2xf16>", ""]))
    form = draw(st.sampled_from(["plain", "attribute", "attribute", "memref"]))
    if form == "attribute":
        return f"#tile.layout{text} {element}"
    if form == "memref":
        shape = "".join(extent + "x" for extent in shape_of(text))
        return f"memref<{shape}{element or 'f16'}, #tile.layout{text}>"
    plain = text[1:-1].replace(" : ", ":").split(", offset")[0].split(", swizzle")[0]
    return f"{plain} {element}"


def notations() -> st.SearchStrategy[bytes]:
    """Draw the arguments of `tile-layout`, one a line."""
    words = [*LAYOUT_WORDS, "memref<", "#tile.layout<", "f16", "x", "strided<[1]>", "\0", "٣", "\t"]
    text = st.one_of(
        notation_texts(),
        notation_texts(),
        notation_texts().flatmap(lambda text: damages(text, words)),
        st.text(max_size=8),
    ).map(lambda text: text.replace("\n", " "))
    option = st.sampled_from(["color=phase", "color=chunk", "issue=cta", "svg=-", "html=-"])
    number = st.builds("{}={}".format, st.sampled_from(["at", "rows", "columns"]), EXTENTS)
    options = st.one_of(option, number).map("--{}".format)
    return st.builds(
        lambda first, second, given: "\n".join([*given, first, *second]).encode(errors="replace"),
        text,
        st.lists(text, max_size=1),
        st.lists(options, max_size=2),
    )


@functools.cache
def saved_program() -> bytes:
    """Return a small program as it is saved."""
    import mlir_tile as mt
    from mlir_tile.runtime import saved

    with mt.context():
        module = mt.parse("func.func @main(%a: memref<4xf32>) { return }")
        return saved.to_bytes(mt.compile(module))


def saved_programs() -> st.SearchStrategy[bytes]:
    """Damage a saved program: any byte, or its header under a digest that fits.

    The payload stays as it was saved where the digest fits: a program is trusted as a library is.
    """
    words = ['"', "{", "}", "[", "]", ":", ",", "null", "true", "1e999", "memref<", '"ptx"', "\\u"]

    def sealed(text: str) -> bytes:
        from mlir_tile.runtime.saved import FORMAT, MAGIC

        whole = saved_program()
        lengths = len(MAGIC) + hashlib.sha256().digest_size
        size = int.from_bytes(whole[lengths + 4 : lengths + 8], "little")
        header = text.encode(errors="replace")
        content = FORMAT.to_bytes(4, "little") + len(header).to_bytes(4, "little") + header
        content += whole[lengths + 8 + size :]
        return MAGIC + hashlib.sha256(content).digest() + content

    def header() -> str:
        from mlir_tile.runtime import saved

        return json.dumps(saved.header_of(saved_program()))

    def damaged() -> st.SearchStrategy[bytes]:
        headers = damages(header(), words).map(sealed)
        whole = damages(saved_program().decode("latin-1"), ["\0", "\xff"]).map(
            lambda text: text.encode("latin-1", errors="replace")
        )
        return st.one_of(headers, headers, whole, st.just(sealed(header())))

    return st.deferred(damaged)
