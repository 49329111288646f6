# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls through pointers: tables, lanes that call different functions, and what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tile_emulator as te

SCHEDULES = ("eager", "late", "random:1", "random:2")
TEXT = """.version 8.1
.target sm_90
.address_size 64
.func (.param .b32 result) next(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 1; st.param.b32 [result], %a; ret; }
.func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [result], %a; ret; }
.func (.param .b32 result) chosen(.param .b32 x) {
  .reg .b32 %a, %b; .reg .pred %p; .reg .b64 %f;
  ld.param.b32 %a, [x]; and.b32 %b, %a, 1; setp.eq.u32 %p, %b, 0;
  mov.u64 %f, twice; @%p mov.u64 %f, next;
  { .param .b32 in; .param .b32 back; st.param.b32 [in], %a;
    call (back), %f, (in), one; ld.param.b32 %a, [back]; }
  st.param.b32 [result], %a; ret;
one: .callprototype (.param .b32 _) _ (.param .b32 _);
}
.func again(.param .b64 f) {
  .reg .b64 %f; ld.param.b64 %f, [f];
  { .param .b64 in; st.param.b64 [in], %f; call %f, (in), two; }
  ret;
two: .callprototype _ (.param .b64 _);
}
.func nothing() { ret; }
.global .u64 table[4] = {next, twice, chosen, nothing};
.entry k(.param .u64 out) {
  .reg .pred %p; .reg .b32 %t, %i, %x; .reg .b64 %f, %q, %out;
  mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mul.wide.u32 %q, %t, 4; add.u64 %out, %out, %q;
  mov.u32 %x, %t;
  BODY
  st.global.u32 [%out], %x;
  ret;
one: .callprototype (.param .b32 _) _ (.param .b32 _);
two: .callprototype _ (.param .b64 _);
}
"""
CALL = """{ .param .b32 in; .param .b32 back; st.param.b32 [in], %x;
  GUARD call (back), %f, (in), one; ld.param.b32 %x, [back]; }
"""
ENTRY = "mul.wide.u32 %q, %i, 8; mov.u64 %f, table; add.u64 %q, %q, %f; ld.global.u64 %f, [%q];\n"


def run(body: str, schedule: str = "eager") -> Any:
    out = np.zeros(32, np.uint32)
    te.emulate(te.parse(TEXT.replace("BODY", body)), "k", [out], block=32, schedule=schedule)
    return out.tolist()


def call(guard: str = "") -> str:
    return CALL.replace("GUARD", guard)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_lanes_call_one_function(schedule: str) -> None:
    assert run("mov.u64 %f, next;" + call(), schedule) == [i + 1 for i in range(32)]
    both = "mov.u64 %f, next;" + call() + "mov.u64 %f, twice;" + call()
    assert run(both, schedule) == [2 * i + 2 for i in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_call_different_functions_of_a_table(schedule: str) -> None:
    body = "rem.u32 %i, %t, 3;" + ENTRY + call()
    wanted = [[i + 1, 2 * i, i + 1 if i % 2 == 0 else 2 * i][i % 3] for i in range(32)]
    assert run(body, schedule) == wanted
    # They meet after the call.
    assert (
        run(body + "bar.warp.sync -1; vote.sync.ballot.b32 %x, 1, -1;", schedule)
        == [0xFFFFFFFF] * 32
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_guard_leaves_lanes_out(schedule: str) -> None:
    body = "setp.lt.u32 %p, %t, 9; and.b32 %i, %t, 1;" + ENTRY
    body += "mov.u32 %x, %t; { .param .b32 in; .param .b32 back; st.param.b32 [in], %x;"
    body += "st.param.b32 [back], 7; @%p call (back), %f, (in), one; ld.param.b32 %x, [back]; }"
    wanted = [[i + 1, 2 * i][i % 2] if i < 9 else 7 for i in range(32)]
    assert run(body, schedule) == wanted


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_function_calls_through_a_pointer_itself(schedule: str) -> None:
    assert run("mov.u64 %f, chosen;" + call(), schedule) == [
        i + 1 if i % 2 == 0 else 2 * i for i in range(32)
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mov.u64 %f, 0;", "a call through 0x0, where there is no function"),
        ("mov.u64 %f, next; add.u64 %f, %f, 8;", "where there is no function"),
        ("mov.u64 %f, table;", "where there is no function"),
        ("mov.u64 %f, nothing;", "a pointer to 'nothing', which has other parameters"),
        ("mov.u64 %f, next; setp.eq.u32 %p, %t, 5; @%p mov.u64 %f, 0;", "there is no function"),
    ],
)
def test_a_call_of_no_function_is_reported(body: str, message: str) -> None:
    for schedule in SCHEDULES:
        with pytest.raises(te.EmulationError, match=message) as caught:
            run(body + call(), schedule)
        assert caught.value.kind == "address"


def test_recursion_is_said_to_be_unsupported() -> None:
    body = "mov.u64 %f, again; { .param .b64 in; st.param.b64 [in], %f; call %f, (in), two; }"
    with pytest.raises(te.PTXError, match="unsupported recursion through 'again' at line 19"):
        run(body)
