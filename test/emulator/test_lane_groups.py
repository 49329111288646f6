# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`.sync` instructions: masks of groups of lanes, who may be read, and what is ordered."""

from __future__ import annotations

import pytest
from test_warps import SCHEDULES, lanes

import tile_emulator as te

HALVES = "and.b32 %r0, %t, 16; shl.b32 %r1, 0xffff, %r0;\n"
# The lanes that are equal modulo 3.
THIRDS = "rem.u32 %r0, %t, 3; match.any.sync.b32 %r1, %r0, -1;\n"


def third(lane: int) -> list[int]:
    return list(range(lane % 3, 32, 3))


def kind_of(body: str, schedule: str = "eager", threads: int = 32) -> tuple[str, str]:
    with pytest.raises(te.EmulationError) as caught:
        lanes(body, threads=threads, schedule=schedule)
    return caught.value.kind, str(caught.value)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_groups_with_their_own_masks_execute_one_instruction_together(schedule: str) -> None:
    body = HALVES + "mov.u32 %d, %t;\n"
    for offset in (8, 4, 2, 1):
        body += f"shfl.sync.bfly.b32 %r2, %d, {offset}, 0x101f, %r1; add.u32 %d, %d, %r2;\n"
    got = lanes(body, threads=64, schedule=schedule)
    assert got.tolist() == [sum(range(i // 16 * 16, i // 16 * 16 + 16)) for i in range(64)]
    got = lanes(THIRDS + "redux.sync.add.u32 %d, %t, %r1;", schedule=schedule)
    assert got.tolist() == [sum(third(i)) for i in range(32)]
    got = lanes(
        THIRDS + "setp.gt.u32 %p0, %t, 15; vote.sync.ballot.b32 %d, %p0, %r1;", schedule=schedule
    )
    assert got.tolist() == [sum(1 << j for j in third(i) if j > 15) for i in range(32)]
    got = lanes(THIRDS + "shr.u32 %r3, %t, 2; match.any.sync.b32 %d, %r3, %r1;", schedule=schedule)
    assert got.tolist() == [sum(1 << j for j in third(i) if j // 4 == i // 4) for i in range(32)]
    got = lanes(THIRDS + "elect.sync %d|%p0, %r1;", schedule=schedule)
    assert got.tolist() == [i % 3 for i in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_of_one_group_may_come_later_than_the_other_group(schedule: str) -> None:
    # The way out that they never take keeps the others from waiting for them in front of MEET.
    body = (
        HALVES
        + """
  setp.lt.u32 %p1, %t, 24;
  @%p1 bra MEET;
  mov.u32 %r5, 0;
AGAIN:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, %t;
  @%p2 bra AGAIN;
  setp.LATE.u32 %p3, %t, 99;
  @%p3 bra END;
MEET:
  redux.sync.add.u32 %d, %t, %r1;
  add.u32 %d, %d, 1;
END:
  bar.warp.sync -1;
"""
    )
    come = body.replace("LATE", "gt")
    assert lanes(come, schedule=schedule).tolist() == [121] * 16 + [377] * 16
    kind, text = kind_of(body.replace("LATE", "lt"), schedule)
    assert kind == "divergence" and "mask 0xffff0000" in text and "missing 0xff000000" in text


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_that_exit_are_no_longer_waited_for(schedule: str) -> None:
    body = """
  setp.lt.u32 %p0, %t, 20;
  @%p0 bra MEET;
  exit;
MEET:
  redux.sync.add.u32 %d, %t, -1;
"""
    assert lanes(body, schedule=schedule).tolist() == [190] * 20 + [0] * 12


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "instruction",
    [
        "bar.warp.sync %r1;",
        "redux.sync.add.u32 %d, %t, %r1;",
        "shfl.sync.idx.b32 %d, %t, 31, 31, %r1;",
        "vote.sync.ballot.b32 %d, %p0, %r1;",
    ],
)
def test_masks_must_agree_and_contain_their_lanes(instruction: str, schedule: str) -> None:
    choose = "setp.lt.u32 %p0, %t, 16; selp.b32 %r1, {low}, {high}, %p0;\n"
    lanes(choose.format(low=0xFFFF, high=0xFFFF0000).replace("%t, 16", "%t, 32")
          .replace("65535", "-1") + instruction, schedule=schedule)  # fmt: skip
    overlap = choose.format(low=0xFFFFFFFF, high=0xFFFF0000)
    kind, text = kind_of(overlap + instruction, schedule)
    assert kind == "divergence" and "the same mask" in text
    outside = choose.format(low=0xFFFF, high=0xFFFE0000)
    kind, text = kind_of(outside + instruction, schedule)
    assert kind == "divergence" and "contains the lanes" in text


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_shuffle_must_not_read_a_lane_that_takes_no_part(schedule: str) -> None:
    body = "setp.lt.u32 %p0, %t, 16; @!%p0 bra E; shfl.sync.MODE.b32 %d, %t, ARG, 0xffff;\nE:"

    def of(mode: str, arguments: str) -> str:
        return body.replace("MODE", mode).replace("ARG", arguments)

    assert lanes(of("idx", "12, 31"), schedule=schedule).tolist() == [12] * 16 + [0] * 16
    for mode, arguments in [("idx", "20, 31"), ("down", "8, 31"), ("bfly", "16, 31")]:
        kind, text = kind_of(of(mode, arguments), schedule)
        assert kind == "divergence" and "does not take part" in text
    # In segments of 16 lanes a lane without a partner keeps its own value.
    got = lanes(of("down", "8, 0x101f"), schedule=schedule).tolist()
    assert got == [*range(8, 16), *range(8, 16)] + [0] * 16
    missing = "shfl.sync.idx.b32 %d, %t, 20, 31, -1;"
    assert kind_of(missing, schedule, threads=16)[0] == "divergence"
    assert set(lanes(missing, schedule=schedule)) == {20}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "instruction",
    [
        "shfl.sync.idx.b32 %r2, %t, 0, 31, -1;",
        "vote.sync.ballot.b32 %r2, %p0, -1;",
        "match.any.sync.b32 %r2, %t, -1;",
        "redux.sync.add.u32 %r2, %t, -1;",
        "elect.sync %r2|%p0, -1;",
    ],
)
def test_only_the_warp_barrier_orders_memory(instruction: str, schedule: str) -> None:
    body = """
  .shared .align 4 .b8 sm[128];
  mov.u32 %r0, sm; mad.lo.u32 %r0, %t, 4, %r0; xor.b32 %r1, %r0, 4;
  setp.eq.u32 %p0, %t, 3;
  st.shared.u32 [%r0], %t;
  HERE
  ld.shared.u32 %d, [%r1];
"""
    assert kind_of(body.replace("HERE", instruction), schedule)[0] == "race"
    got = lanes(body.replace("HERE", instruction + "bar.warp.sync -1;"), schedule=schedule)
    assert got.tolist() == [i ^ 1 for i in range(32)]
