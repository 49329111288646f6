# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parser: what it reads, and where it says that it cannot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_copy import run, tile_copy

import tile_emulator as te

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"


def test_a_kernel_knows_its_parameters_and_limits() -> None:
    module = te.parse(
        HEADER
        + """
.visible .entry first(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[24],
                      .param .f32 c)
.maxntid 128, 2, 1
.explicitcluster
.reqnctapercluster 2, 1, 1
{ .shared .align 16 .b8 tile[64]; ret; }
.entry second() .reqntid 64 { ret; }
.func third() { ret; }
"""
    )
    assert list(module.kernels) == ["first", "second"]
    first = module.kernels["first"]
    assert [(p.name, p.size, p.align) for p in first.params] == [
        ("a", 8, 8),
        ("b", 24, 8),
        ("c", 4, 4),
    ]
    assert first.maxntid == (128, 2, 1) and first.reqnctapercluster == (2, 1, 1)
    assert [(v.name, v.size, v.align) for v in first.shared] == [("tile", 64, 16)]
    assert module.kernels["second"].reqntid == (64, 1, 1)
    assert module.version == "8.1" and module.target == "sm_90"


def entry(body: str) -> str:
    return HEADER + ".entry k() {\n.reg .b32 %r<4>; .reg .pred %p<2>;\n" + body + "\nret;\n}\n"


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("add.s32 %r0, %r1 %r2;", "expected ';', got '%r2'", 6),
        ("mov.u32 %r0, ;", "expected an operand, got ';'", 6),
        ("\n\n? add;", "expected an instruction, got '?'", 8),
        ("@%r9 bra L;", "expected a predicate register", 6),
        (".frob 3;", "unsupported directive '.frob'", 6),
        ("mov.u32 %r0, `;", "unexpected character '`'", 6),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(body: str, message: str, line: int) -> None:
    with pytest.raises(te.PTXError, match="at line") as caught:
        te.parse(entry(body))
    assert message in str(caught.value)
    assert caught.value.line == line and caught.value.column >= 1


@pytest.mark.parametrize(
    "body",
    [
        "add.frob.s32 %r0, %r1, %r2;",
        "bra NOWHERE;",
        "mov.u32 %r0, nothing;",
        "ld.shared.b32 %r0, %r1;",
        "mbarrier.frob.b64 [%r0];",
        "add.s32 5, %r1, %r2;",
        "add.s32 %r0, %r1;",
        "fma.rn.f32 %r0, %r1, %r2;",
        "call.uni missing, ();",
    ],
)
def test_what_cannot_be_decoded_is_reported_at_launch_with_its_line(body: str) -> None:
    with pytest.raises(te.PTXError) as caught:
        te.emulate(te.parse(entry(body)), "k")
    assert caught.value.line == 6


def test_an_instruction_that_is_not_known_stops_only_the_kernels_that_reach_it() -> None:
    module = te.parse(
        HEADER
        + """
.func helper() { tcgen05.mma.cta_group::1.kind::f16 {%a, %b}, [x+1], {1}; ret; }
.entry direct() { frobnicate.b32 [a, {b, c}], d|e, -1; ret; }
.entry calls() { call helper, (); ret; }
.entry plain() { ret; }
"""
    )
    te.emulate(module, "plain")
    for name, opcode, line in [("direct", "frobnicate.b32", 6), ("calls", "tcgen05.mma", 5)]:
        with pytest.raises(te.PTXError, match=f"unsupported instruction '{opcode}") as caught:
            te.emulate(module, name)
        assert caught.value.line == line


WRONG = {
    "copysign.b32 %r1, %r2, %r3;": "unsupported instruction 'copysign.b32'",
    "dp4a.b32 %r1, %r2, %r3, %r0;": "unsupported instruction 'dp4a.b32'",
    "min.f32 %r1;": "'min.f32' takes 3 to 4 operands, got 1",
    "add.s32 %r1, %r2, %r3, %r0;": "'add.s32' takes 3 operands, got 4",
    "bra;": "'bra' takes 1 operand, got 0",
    "atom.shared.add.u32 %r1, [%r0];": "'atom.shared.add.u32' takes 3 to 5 operands, got 2",
    "atom.shared.cas.b32 %r1, [%r0], 1;": "'atom.shared.cas.b32' takes 4 operands, got 3",
    "mov.b32 %r1, %envreg2;": "unsupported special register '%envreg2'",
    "mov.b32 %r1, %pm7;": "unsupported special register '%pm7'",
    "mov.b32 %r1, %neither;": "undefined name '%neither'",
    ".reg .b128 %q; .reg .b64 %d; mov.b128 %q, {%d, %d};": "unsupported instruction 'mov.b128'",
}


@pytest.mark.parametrize("body", WRONG)
def test_a_wrong_or_unsupported_instruction_is_named_at_its_line(body: str) -> None:
    module = te.parse(entry(body) + ".entry plain() { .reg .b128 %q; ret; }")
    te.emulate(module, "plain")
    with pytest.raises(te.PTXError) as caught:
        te.emulate(module, "k")
    assert str(caught.value) == f"{WRONG[body]} at line 6"


def test_memory_that_no_device_has_is_an_error_of_the_launch() -> None:
    huge = f"[{2**63 - 1}]"
    with pytest.raises(
        te.LaunchError, match=r"bytes of local memory a thread, the limit is 524288"
    ):
        te.emulate(te.parse(entry(f".local .b8 l{huge};")), "k")
    with pytest.raises(te.LaunchError, match=r"bytes of shared memory, the limit is 232448"):
        te.emulate(te.parse(entry(f".shared .b8 s{huge};")), "k")
    with pytest.raises(te.Error, match=rf"no memory for variable 'g' of {2**63 - 1} bytes"):
        te.emulate(te.parse(f"{HEADER}.global .b8 g{huge};\n.entry k() {{ ret; }}"), "k")
    with pytest.raises(te.LaunchError, match="bytes of parameters, the limit is 32764"):
        te.emulate(
            te.parse(f"{HEADER}.entry k(.param .b8 p[40000]) {{ ret; }}"), "k", [bytes(40000)]
        )
    te.emulate(te.parse(entry(".local .b8 l[1024];")), "k")


@pytest.mark.parametrize(
    "signature", ["(.reg .u32 r) half(.param .u32 a)", "half(.reg .pred a)", "half(.reg.b32 a)"]
)
def test_parameters_in_registers_are_named_as_unsupported(signature: str) -> None:
    module = te.parse(
        f"{HEADER}.func {signature} {{ ret; }}\n"
        ".entry calls() { call half, (%a); ret; }\n.entry plain() { ret; }"
    )
    te.emulate(module, "plain")
    with pytest.raises(te.PTXError, match=r"unsupported \.reg parameter '[ar]' of function 'half'"):
        te.emulate(module, "calls")


@pytest.mark.parametrize("files_first", [True, False])
def test_source_lines_come_with_the_report(files_first: bool) -> None:
    files, kernel = '.file 1 "kernel.mlir"\n', ".entry k() {\n.loc 1 42 7\ntrap;\nret;\n}\n"
    text = HEADER + (files + kernel if files_first else kernel + files)
    with pytest.raises(te.EmulationError) as caught:
        te.emulate(te.parse(text), "k")
    assert caught.value.source == ("kernel.mlir", 42)
    assert "source: kernel.mlir:42" in str(caught.value)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_text_runs_or_gives_an_error_of_ours(data: st.DataObject) -> None:
    text = tile_copy()
    start = data.draw(st.integers(0, len(text) - 1))
    stop = data.draw(st.integers(start, min(len(text), start + 12)))
    new = data.draw(st.text(alphabet='{}[]();:,.@%!+-r0 \nabx"', max_size=6))
    try:
        run(text[:start] + new + text[stop:], max_steps=20000)
    except te.PTXError as error:
        assert error.line >= 1
    except te.Error:
        pass
