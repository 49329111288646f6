# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses of bytes beside those of words: each byte has its own writer and readers."""

from __future__ import annotations

import numpy as np
import pytest

import tile_emulator as te

HEADER = ".version 8.1\n.target sm_90\n.address_size 64\n"
SCHEDULES = ["eager", "late", "random:1", "random:2"]


def kernel(body: str) -> str:
    """Return a kernel of 64 threads: `%b` is the address of byte `tid`, `%w` that of word `tid`."""
    return (
        HEADER
        + """.entry k(.param .u64 out) {
  .shared .align 16 .b8 sm[512]; .reg .b32 %t, %s, %b, %w, %x, %y; .reg .b64 %o; .reg .b16 %h;
  mov.u32 %t, %tid.x; mov.u32 %s, sm; add.u32 %b, %s, %t; mad.lo.u32 %w, %t, 4, %s; mov.b32 %x, 0;
"""
        + body
        + """
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; st.global.b32 [%o], %x;
  ret;
}
"""
    )


def run(body: str, schedule: str) -> list[int]:
    out = np.zeros(64, np.uint32)
    te.emulate(te.parse(kernel(body)), "k", [out], block=64, schedule=schedule)
    return out.tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bytes_of_one_word_belong_to_the_threads_that_write_them(schedule: str) -> None:
    own = "st.shared.u8 [%b], %t; ld.shared.u8 %x, [%b];"
    assert run(own, schedule) == list(range(64))
    words = "st.shared.u8 [%b], %t; bar.sync 0; and.b32 %y, %t, 15; mad.lo.u32 %y, %y, 4, %s;"
    values = run(words + "ld.shared.b32 %x, [%y];", schedule)
    assert values == [0x03020100 + 0x04040404 * (t % 16) for t in range(64)]


FAULTS = {
    "a byte that a neighbour writes": """st.shared.u8 [%b], %t; xor.b32 %y, %b, 1;
ld.shared.u8 %x, [%y];""",
    "a word of which others write bytes": """st.shared.u8 [%b], %t; and.b32 %y, %b, -4;
ld.shared.b32 %x, [%y];""",
    "a byte of a word that a neighbour writes": """st.shared.b32 [%w], %t; xor.b32 %y, %w, 4;
st.shared.u8 [%y+3], %t;""",
}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_byte_of_another_thread_is_a_race(fault: str, schedule: str) -> None:
    with pytest.raises(te.EmulationError) as caught:
        run(FAULTS[fault], schedule)
    assert (caught.value.kind, caught.value.ptx_line) == ("race", 8)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_word_that_was_written_in_parts_is_whole_again_after_a_store(schedule: str) -> None:
    """Who wrote the parts, and read them, no longer matters."""
    parts = (
        "mov.b16 %h, 7; st.shared.b16 [%w], %h; st.shared.b16 [%w+2], %h; ld.shared.u8 %y, [%w];"
    )
    whole = "bar.sync 0; xor.b32 %y, %w, 4; st.shared.b32 [%y], %t; bar.sync 0;"
    assert run(parts + whole + "ld.shared.b32 %x, [%w];", schedule) == [t ^ 1 for t in range(64)]
    with pytest.raises(te.EmulationError) as caught:
        run(parts + whole.replace("bar.sync 0; xor", "xor"), schedule)
    assert caught.value.kind == "race"


def test_a_race_names_the_byte() -> None:
    """Two threads write one word alike, but for one byte."""
    body = """
  .reg .pred %p, %q; setp.eq.u32 %p, %t, 0; setp.eq.u32 %q, %t, 40;
  @%p st.shared.b32 [%s], 0; @%q st.shared.b32 [%s], 0x00110000;
"""
    with pytest.raises(te.EmulationError, match="shared byte 2 of CTA rank 0 is written"):
        run(body, "eager")
    run(body.replace("0x00110000", "0"), "eager")
