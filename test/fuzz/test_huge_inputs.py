# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of absurd size end soon, and in an error that names them where they are wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import inputs
import pytest
from worker import Worker

import mlir_tile as mt
import tile_emulator as te

MANY = 10_000
HUGE = 2**63 - 1


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def ones(count: int) -> str:
    return ", ".join(["1"] * count)


def nested(number: int, depth: int) -> str:
    return "(" * depth + str(number) + ")" * depth


REFUSED_LAYOUTS = {
    "modes": (f"<({ones(MANY)}) : ({ones(MANY)})>", "longest run common"),
    "nested modes": (f"<(({ones(MANY)})) : (({ones(MANY)}))>", "longest run common"),
    "parentheses": (f"<({nested(8, MANY)}) : ({nested(1, MANY)})>", "at most 32 levels"),
    "many parentheses": (f"<({nested(8, 100 * MANY)}) : (1)>", "at most 32 levels"),
    "open parentheses": ("<" + "(" * 100 * MANY, "unbalanced '('"),
    "extent": (f"<({HUGE}) : (1)>", "got 9223372036854775807 elements of 2 bytes"),
    "extent 2^63": (f"<({HUGE + 1}) : (1)>", "integer value too large"),
    "extent 2^62": (f"<({2**62}) : (1)>", "got 4611686018427387904 elements of 2 bytes"),
    "places of one": (f"<({HUGE}) : (0)>", "got 9223372036854775807 elements of 2 bytes"),
    "size": (f"<({2**32}, {2**31}) : (0, 0)>", "fewer than 2^63 elements"),
    "stride": (f"<(8) : ({HUGE})>", "fewer than 2^63 elements (l4)"),
    "stride once": (f"<(2) : ({HUGE - 1})>", "must reach fewer than 2^63 bits"),
    "stride below": (f"<(2) : (-{HUGE + 1})>", "fewer than 2^63 elements (l4)"),
    "strides below": (f"<(2, 2) : (-{HUGE - 9}, -10)>", "fewer than 2^63 elements (l4)"),
    "offset": (f"<(8) : (1), offset = {HUGE}>", "fewer than 2^63 elements (l4)"),
    "offset that fits": (f"<(8) : (1), offset = {HUGE - 8}>", "must reach fewer than 2^63 bits"),
    "offset beyond memory": (f"<(8) : (1), offset = {2**32}>", "must stay within 2^31 bytes"),
    "offset -2^63": (f"<(8) : (1), offset = -{HUGE + 1}>", "offset must be above -2^63 (l4)"),
    "swizzled end": (f"<({HUGE}) : (1), swizzle = <1, 1, 1>>", "fewer than 2^63 elements (l4)"),
    "swizzled block": (f"<({2**29}) : (1), swizzle = <1, 28, 1>>", "at most 1048575 bytes"),
    "swizzled steps": (
        "<(1024, 1024, 1024) : (1, 3, 7), swizzle = <1, 28, 1>>",
        "at most 1048575 bytes",
    ),
}


@pytest.mark.parametrize("name", REFUSED_LAYOUTS)
def test_a_huge_layout_is_refused_at_its_place(name: str, worker: Worker) -> None:
    text, message = REFUSED_LAYOUTS[name]
    outcome = worker.run("layout", f"1 0 {text}".encode())
    assert outcome.status == 1
    errors = [line for line in outcome.stderr.splitlines() if "error: " in line]
    assert errors and message in errors[0] and errors[0].startswith("-:"), outcome.stderr[:2000]


ACCEPTED_LAYOUTS = {
    "modes": f"<(64, {ones(MANY)}) : (1, {ones(MANY)})>",
    "nested modes": f"<((64, {ones(MANY)})) : ((1, {ones(MANY)}))>",
    "levels": f"<({nested(64, 32)}) : ({nested(1, 32)})>",
    "strides of one": f"<(1, 64) : ({HUGE}, 1)>",
    "offset": f"<(64) : (1), offset = {2**20}>",
    "swizzled bytes": "<(1024, 64) : (64, 1), swizzle = <3, 6, 3>>",
}


@pytest.mark.parametrize("name", ACCEPTED_LAYOUTS)
def test_a_long_layout_of_few_bytes_is_compiled(name: str, worker: Worker) -> None:
    outcome = worker.run("layout", f"1 0 {ACCEPTED_LAYOUTS[name]}".encode())
    assert outcome.status == 0, outcome.stderr[:2000]


def test_a_deep_or_endless_tuple_is_no_layout(worker: Worker) -> None:
    import mlir_tile as mt
    from mlir_tile.dialects.tile import LayoutAttr

    endless: list[object] = []
    endless.append(endless)
    with mt.context():
        with pytest.raises(ValueError, match="nested deeper"):
            LayoutAttr.get((endless,), (endless,))
        with pytest.raises(ValueError, match="fit 64 bits"):
            LayoutAttr.get((2**63,), (1,))
        with pytest.raises(ValueError, match=r"above -2\^63"):
            LayoutAttr.get((8,), (1,), offset=-(2**63))
        with pytest.raises(IndexError, match="got 18446744073709551616"):
            LayoutAttr.get((8,), (1,))(2**64)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (f"{2**62}xf16", "must have at most 1048575 bytes"),
        (f"{2**62}x4xf16", "fewer than 2^63 elements"),
        (f"8x64xf16, strided<[{2**62}, 1]>", "must reach fewer than 2^63 bits"),
        (f"8x64xf16, strided<[{HUGE}, {HUGE}]>", "must reach fewer than 2^63 bits"),
        (f"8x64xf16, strided<[64, 1], offset: {HUGE}>", "must reach fewer than 2^63 bits"),
        (f"8xvector<{2**61}xf64>", "element type must be"),
        (f"8xvector<{2**56}xf64>", "got 8 elements of"),
    ],
)
def test_a_memref_beyond_memory_is_refused(buffer: str, message: str, worker: Worker) -> None:
    text = inputs.COPY.replace("{shape}{element}, {layout}", buffer)
    outcome = worker.run("program", text.format(attributes="").encode())
    assert outcome.status == 1 and "error: " in outcome.stderr
    assert message in outcome.stderr, outcome.stderr[:2000]


WIDE = f"memref<{2**32}x{2**32}xf16>"
# On each of these upstream's verifiers would end the process.
USES = {
    "subview": f"%x = memref.subview %a[0, 0] [4, 4] [1, 1] : {WIDE} to "
    f"memref<4x4xf16, strided<[{2**32}, 1]>>",
    "collapse": f"%x = memref.collapse_shape %a [[0, 1]] : {WIDE} into memref<?xf16>",
    "transpose": f"%x = memref.transpose %a (i, j) -> (j, i) : {WIDE} to "
    f"memref<{2**32}x{2**32}xf16, strided<[1, {2**32}]>>",
    "vector": f"%x = vector.load %a[%i, %i] : {WIDE}, vector<4xf16>",
    "metadata": f"%x:6 = memref.extract_strided_metadata %a : {WIDE} "
    "-> memref<f16>, index, index, index, index, index",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_huge_memref_is_refused_before_its_uses_are_verified(use: str, worker: Worker) -> None:
    text = f"func.func @f(%a: {WIDE}, %i: index) {{\n  {use}\n  return\n}}\n"
    outcome = worker.run("program", text.encode())
    assert outcome.status == 1, outcome.stderr[:2000]
    assert (
        ":1:1: error: 'func.func' op must have types of fewer than 2^63 elements" in outcome.stderr
    )


@pytest.mark.parametrize(
    "text", [f"// {WIDE}", f'module attributes {{llvm.note = "{WIDE}"}} {{}}', "module {}"]
)
def test_a_type_that_is_only_spoken_of_is_none(text: str, worker: Worker) -> None:
    outcome = worker.run("program", text.encode())
    assert outcome.status == 0, outcome.stderr[:2000]


GLOBAL = """
memref.global "private" @table : memref<2xf16, #tile.layout<(2) : ({stride})>> = dense<[1.0, 2.0]>
"""


@pytest.mark.parametrize(("stride", "status"), [(2**40, 1), (2**10, 0)])
def test_an_initial_value_is_not_spread_over_all_memory(
    stride: int, status: int, worker: Worker
) -> None:
    outcome = worker.run("program", GLOBAL.format(stride=stride).encode())
    assert outcome.status == status, outcome.stderr[:2000]
    assert ("laid out over at most" in outcome.stderr) == bool(status)


@pytest.mark.parametrize(
    "text",
    [
        "zeros:99999999999999xf16",
        "iota:99999999999999xf16",
        "random:99999999999999xf16",
        f"zeros:{2**63}xf16",
        f"zeros:0x{2**63}xf16",
        f"zeros:{'9' * 5000}xf16",
        f"zeros:{'2x' * 70}i8",
        f"random:{'7' * 5000}:8xf16",
        "9" * 5000,
    ],
)
def test_an_argument_beyond_memory_is_refused(text: str, worker: Worker) -> None:
    outcome = worker.run("argument", text.encode())
    assert outcome.status == 1 and outcome.stderr.count("error: ") >= 1
    assert "Traceback" not in outcome.stderr


DEPTH = 1000


@pytest.mark.parametrize("depth", [DEPTH - 10, 10 * DEPTH])
@pytest.mark.parametrize(
    ("begin", "opened", "closed", "end"),
    [
        ("", "module {", "}", ""),
        ("func.func @f(%c: i1) {", "scf.if %c {", "}", "return }"),
        ("func.func private @f(", "tuple<", ">", ")"),
        ("module attributes {a.b = ", "[", "]", "} {}"),
    ],
)
def test_nesting_is_read_as_deep_as_it_can_be(
    begin: str, opened: str, closed: str, end: str, depth: int
) -> None:
    text = f"{begin}\n// {'{' * 10 * DEPTH}\n{opened * depth}{closed * depth}{end}"
    with mt.context() as context:
        context.allow_unregistered_dialects = True
        if depth < DEPTH:
            mt.parse(text)
            return
        with pytest.raises(mt.CompileError, match=r"^-:3:\d+: error: nesting must be at most 1000"):
            mt.parse(text)


PTX = ".version 8.1\n.target sm_90\n.address_size 64\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{" * 100_000, "scopes are nested too deeply"),
        ("mov.b64 {" * 1 + "{" * 100_000 + ";", "nested too deeply"),
        ("@!" * 100_000, "expected"),
        (f".reg .b32 %r<{10**12}>;", "at most"),
        (f".shared .align 16 .b8 tile[{10**30}];", ""),
        (f"mov.u32 %r0, {'9' * 5000};", "too long"),
    ],
)
def test_a_huge_kernel_is_refused_at_its_line(body: str, message: str, worker: Worker) -> None:
    outcome = worker.run("ptx", f"{PTX}.entry k() {{\n{body}\nret;\n}}\n".encode())
    assert outcome.status == 1, outcome.stderr
    assert "error: " in outcome.stderr and message in outcome.stderr, outcome.stderr[:2000]


def test_offsets_of_many_paths_are_read_once(worker: Worker) -> None:
    """Each value is used four times by the next: 4^30 ways lead to the first."""
    map_ = "affine_map<(a, b, c, d) -> (a + b + c + d)>"
    chain = "\n".join(
        f"%a{i + 1} = affine.apply {map_}(%a{i}, %a{i}, %a{i}, %a{i})" for i in range(30)
    )
    outcome = worker.run(
        "program",
        f"""
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!src = memref<1024xf32, #gpu.address_space<workgroup>>
!dst = memref<16xf32, #gpu.address_space<workgroup>>
!part = memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
gpu.module @kernels {{
  gpu.func @k(%rank: i32, %a0: index, %bars: !bars) workgroup(%src: !src, %dst: !dst) kernel {{
    %c0 = arith.constant 0 : index
    {chain}
    %part = memref.subview %src[%a30] [16] [1] : !src to !part
    tile.copy_async %part to %dst cta(%rank) mbarrier(%bars[%c0]) : !part to !dst, !bars
    gpu.return
  }}
}}
""".encode(),
    )
    assert outcome.status == 1, outcome.stderr
    assert "a run-time offset that is a multiple of 4 bytes" in outcome.stderr


def test_ptx_without_an_end_is_refused(tmp_path: Path) -> None:
    line = "add.s32 %r0, %r1, %r2;\n"
    text = f"{PTX}.entry k() {{\n.reg .b32 %r<4>;\n{line * (50_000_000 // len(line))}ret;\n}}\n"
    file = tmp_path / "long.ptx"
    file.write_text(text)
    with pytest.raises(te.PTXError, match="at most 16777216 are read at line 1"):
        te.parse(text)
    for name in (str(file), "/dev/zero"):
        done = subprocess.run(
            [sys.executable, "-m", "tile_emulator", name],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 1 and "at most 16777216 are read" in done.stderr, done.stderr


def test_ptx_of_a_megabyte_is_read() -> None:
    line = "add.s32 %r0, %r1, %r2;\n"
    count = 1_000_000 // len(line)
    module = te.parse(f"{PTX}.entry k() {{\n.reg .b32 %r<4>;\n{line * count}ret;\n}}\n")
    assert len(module.kernels["k"].body or ()) == count + 1
