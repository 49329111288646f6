# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`vprintf` and `__assertfail`, as nvcc and LLVM call them."""

from __future__ import annotations

import numpy as np
import pytest

import tile_emulator as te

PRINTS = """
.version 8.1
.target sm_90
.address_size 64
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[{size}] = {{{text}}};
.entry kernel(.param .u64 out)
{{
  .local .align 8 .b8 stack[16];
  .reg .b32 %lane, %letter;
  .reg .b64 %stack, %word, %format;
  .reg .f64 %half;
  mov.u32 %lane, %laneid;
  mov.b64 %stack, stack;
  cvta.local.u64 %stack, %stack;
  {arguments}
  mov.b64 %format, text;
  cvta.global.u64 %format, %format;
  {{
    .param .b64 given0;
    .param .b64 given1;
    .param .b32 result;
    st.param.b64 [given0], %format;
    st.param.b64 [given1], %stack;
    call.uni (result), vprintf, (given0{second});
  }}
  ret;
}}
"""

# Each lane's number at 0, and what is printed of it at 8.
NUMBER = "st.local.b32 [stack], %lane;"
HALF = """
  cvt.rn.f64.u32 %half, %lane;
  mul.f64 %half, %half, 0d3FE0000000000000;
  st.local.f64 [stack+8], %half;
"""
# A string of one letter in local memory at 8, and at 0 where it lies.
STRING = """
  add.u32 %letter, %lane, 97;
  st.local.b32 [stack+8], %letter;
  add.u64 %word, %stack, 8;
  st.local.b64 [stack], %word;
"""


def printed(
    capsys: pytest.CaptureFixture[str],
    text: str,
    arguments: str,
    lanes: int = 3,
    second: str = ", given1",
    schedule: str = "eager",
) -> list[str]:
    """Return the lines that `lanes` threads print."""
    data = [*text.encode(), ord("\n"), 0]
    ptx = PRINTS.format(
        size=len(data), text=", ".join(map(str, data)), arguments=arguments, second=second
    )
    out = [np.zeros(1, np.int32)]
    te.emulate(te.parse(ptx), "kernel", out, block=lanes, schedule=schedule)
    return capsys.readouterr().out.splitlines()


def test_variables_stay_when_a_launch_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "%d", NUMBER, lanes=1, schedule="explore:3")
    assert lines == ["0", "0", "0"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("%d.", ["0.", "1.", "2."]),
        ("%-3u|%%", ["0  |%", "1  |%", "2  |%"]),
        ("%03x %f", ["000 0.000000", "001 0.500000", "002 1.000000"]),
        ("%+d %8.2e", ["+0 0.00e+00", "+1 5.00e-01", "+2 1.00e+00"]),
        ("%99999999999d", ["%99999999999d"] * 3),
        ("50%", ["50%"] * 3),
    ],
)
def test_numbers_are_printed_as_c_does(
    text: str, wanted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, text, NUMBER + HALF) == wanted


def test_each_thread_prints_its_own_local_string(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "<%2s>", STRING) == ["< a>", "< b>", "< c>"]


def test_more_arguments_than_are_given_are_outside_of_local_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, "%d %f", NUMBER + HALF, 1) == ["0 0.000000"]
    with pytest.raises(te.EmulationError, match=r"\[address\] 8 bytes at local .* are outside of"):
        printed(capsys, "%d %f" + " %f" * 9, NUMBER + HALF)


def test_a_string_from_nowhere_is_a_wrong_address(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(te.EmulationError, match=r"\[address\] global access of 1 bytes"):
        printed(capsys, "%s", "mov.b64 %word, 64;\n  st.local.b64 [stack], %word;")


def test_a_call_with_too_few_parameters_is_refused_at_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(te.PTXError, match=r"'vprintf' takes 2 parameters, got 1 at line \d+"):
        printed(capsys, "%d", NUMBER, second="")
