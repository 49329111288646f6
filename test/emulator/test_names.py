# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports call shared memory what the author of the kernel calls it, where a table says so."""

from __future__ import annotations

import pytest

import tile_emulator as te

# `sm` lies at shared offset 0, `bars` at 512, dynamic memory at 528.
KERNEL = """.version 8.1
.target sm_90a
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k() {
  .reg .b32 %t, %r<9>; .reg .pred %p<3>;
  .shared .align 16 .b8 sm[512]; .shared .align 8 .b64 bars[2];
  mov.u32 %t, %tid.x; mov.u32 %r0, sm; mov.u32 %r1, bars; mov.u32 %r2, dynamic;
  BODY
  ret;
}
"""
NAMES = [
    te.SharedName("%tile", "sm", 0, 256, (8, 8), (32, 4)),
    te.SharedName("%swizzled", "sm", 256, 256),
    te.SharedName("%full", "bars", 0, 16, (2,), (8,)),
    te.SharedName("%moved", "dynamic", 64, 64, (16,), (4,)),
    te.SharedName("%elsewhere", "other", 0, 1 << 20, (4,), (4,)),
]


def report(body: str, names: list[te.SharedName] | None = None) -> te.EmulationError:
    device = te.Device(names={"k": NAMES if names is None else names, "another": []})
    with pytest.raises(te.EmulationError) as caught:
        device.launch(te.parse(KERNEL.replace("BODY", body)), "k", block=32, smem=256)
    return caught.value


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("%r0", "shared byte 0 of CTA rank 0 (%tile[0, 0]) is read"),
        ("%r0+44", "shared byte 44 of CTA rank 0 (%tile[1, 3]) is read"),
        ("%r0+252", "shared byte 252 of CTA rank 0 (%tile[7, 7]) is read"),
        ("%r0+260", "shared byte 260 of CTA rank 0 (%swizzled, byte 4) is read"),
        ("%r2+48", "shared byte 576 of CTA rank 0 is read"),
        ("%r2+68", "shared byte 596 of CTA rank 0 (%moved[1]) is read"),
        ("%r2+132", "shared byte 660 of CTA rank 0 is read"),
    ],
)
def test_a_byte_is_named_with_its_element(place: str, text: str) -> None:
    body = f"ld.shared.u32 %r3, [{place}];"
    assert report(body).message.startswith(text)
    offset = text.partition(" (")[0].partition(" is read")[0]
    assert report(body, []).message.startswith(f"{offset} is read")


def test_a_barrier_is_named_where_it_is_waited_for_and_where_there_is_none() -> None:
    wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r1+8], 0; @!%p0 bra W;"
    init = "setp.eq.u32 %p1, %t, 0; @%p1 mbarrier.init.shared::cta.b64 [%r1+8], 1; bar.sync 0;\n"
    text = "the mbarrier at shared offset 520 of CTA rank 0 (%full[1])"
    assert report(init + wait).message.startswith(f"the wait for phase 0 of {text} never ends")
    assert any(text in note for note in report(init + wait).notes)
    error = report(wait)
    assert error.message.endswith("mbarrier at shared offset 520 of CTA rank 0 (%full[1])")


def test_padding_between_rows_belongs_to_no_element() -> None:
    padded = [te.SharedName("%rows", "sm", 0, 512, (4, 4), (32, 4))]
    assert "(%rows[1, 3])" in report("ld.shared.u32 %r3, [%r0+44];", padded).message
    assert "(%rows, byte 48)" in report("ld.shared.u32 %r3, [%r0+48];", padded).message
