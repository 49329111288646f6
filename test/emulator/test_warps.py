# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control flow and the instructions in which lanes take part together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tile_emulator as te

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"
SCHEDULES = ["eager", "random:1", "random:2"]


def lanes(body: str, threads: int = 32, before: str = "", **options: Any) -> Any:
    """Run `body` in one CTA, with `%t` the thread; returns what it leaves in `%d`."""
    out = np.zeros(threads, dtype=np.uint32)
    ptx = f"""{HEADER}{before}
.visible .entry k(.param .u64 out) {{
  .reg .b32 %t, %d, %r<16>; .reg .pred %p<8>; .reg .b64 %o, %l<8>;
  mov.u32 %t, %tid.x; mov.u32 %d, 0;
{body}
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %d;
  ret;
}}
"""
    te.emulate(te.parse(ptx), "k", [out], block=threads, **options)
    return out


@pytest.mark.parametrize(
    ("mode", "offset", "clamp", "source"),
    [
        ("up", 3, 0, lambda i: i - 3 if i >= 3 else i),
        ("down", 5, 31, lambda i: i + 5 if i + 5 < 32 else i),
        ("bfly", 16, 31, lambda i: i ^ 16),
        ("idx", 7, 31, lambda i: 7),
        ("bfly", 4, 0x181F, lambda i: i ^ 4),
        ("idx", 2, 0x181F, lambda i: (i & 24) + 2),
        ("down", 6, 0x181F, lambda i: i + 6 if (i & 7) + 6 < 8 else i),
    ],
)
def test_shuffles_take_from_the_lane_of_the_definition(
    mode: str, offset: int, clamp: int, source: Any
) -> None:
    got = lanes(f"mad.lo.u32 %r0, %t, 10, 3; shfl.sync.{mode}.b32 %d, %r0, {offset}, {clamp}, -1;")
    assert got.tolist() == [10 * source(i) + 3 for i in range(32)]


def test_shuffle_predicate_says_whether_the_lane_is_in_range() -> None:
    got = lanes("shfl.sync.down.b32 %r0|%p0, %t, 30, 31, -1; selp.u32 %d, 1, 0, %p0;")
    assert got.tolist() == [1, 1] + [0] * 30


def test_votes_matches_and_reductions() -> None:
    odd = "and.b32 %r0, %t, 1; setp.ne.u32 %p0, %r0, 0;\n"
    assert set(lanes(odd + "vote.sync.ballot.b32 %d, %p0, -1;")) == {0xAAAAAAAA}
    for mode, want in {"all": 0, "any": 1, "uni": 0}.items():
        text = f"vote.sync.{mode}.pred %p1, %p0, -1; selp.u32 %d, 1, 0, %p1;"
        assert set(lanes(odd + text)) == {want}
    got = lanes("and.b32 %r0, %t, 3; match.any.sync.b32 %d, %r0, -1;")
    assert got.tolist() == [0x11111111 << (i & 3) for i in range(32)]
    assert set(lanes("redux.sync.add.u32 %d, %t, -1;")) == {496}
    assert set(lanes("sub.u32 %r0, %t, 5; redux.sync.min.s32 %d, %r0, -1;")) == {2**32 - 5}


def test_a_vote_may_name_its_mode_before_sync() -> None:
    odd = "and.b32 %r0, %t, 1; setp.ne.u32 %p0, %r0, 0;\n"
    assert set(lanes(odd + "vote.ballot.sync.b32 %d, %p0, -1;")) == {0xAAAAAAAA}
    assert set(lanes(odd + "vote.any.sync.pred %p1, %p0, -1; selp.u32 %d, 9, 0, %p1;")) == {9}


def test_elect_takes_the_lowest_lane_of_the_mask() -> None:
    got = lanes("elect.sync %r0|%p0, -1; selp.u32 %d, 1, 0, %p0;", threads=64)
    assert got.tolist() == ([1] + [0] * 31) * 2


LOOP = """
  mov.u32 %r0, 0;
AGAIN:
  setp.ge.u32 %p0, %r0, %t;
  @%p0 bra OUT;
  and.b32 %r1, %r0, 1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra EVEN;
  add.u32 %d, %d, 100;
  bra NEXT;
EVEN:
  add.u32 %d, %d, 1;
NEXT:
  add.u32 %r0, %r0, 1;
  bra AGAIN;
OUT:
  activemask.b32 %r2;
  bar.warp.sync -1;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_leave_a_loop_at_different_times_and_meet_again(schedule: str) -> None:
    got = lanes(LOOP, schedule=schedule)
    assert got.tolist() == [(i + 1) // 2 + 100 * (i // 2) for i in range(32)]
    got = lanes(LOOP + "mov.u32 %d, %r2;", schedule=schedule)
    assert set(got) == {0xFFFFFFFF}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_may_exit_early_while_others_go_on(schedule: str) -> None:
    body = "setp.ge.u32 %p0, %t, 40; @%p0 exit; bar.sync 0; add.u32 %d, %t, 1;"
    assert lanes(body, threads=64, schedule=schedule).tolist() == list(range(1, 41)) + [0] * 24


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_side_of_a_branch_may_wait_for_the_other(schedule: str) -> None:
    body = """
  .shared .align 8 .b64 bar;
  mov.u32 %r0, bar;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r0], 31;
  bar.warp.sync -1;
  @!%p0 bra OTHERS;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0;
  @!%p1 bra WAIT;
  bra DONE;
OTHERS:
  mbarrier.arrive.shared::cta.b64 _, [%r0];
DONE:
  mov.u32 %d, 7;
"""
    assert set(lanes(body, schedule=schedule)) == {7}


def test_a_sync_instruction_that_lanes_miss_is_reported() -> None:
    body = "setp.lt.u32 %p0, %t, 16; @!%p0 bra L; shfl.sync.idx.b32 %d, %t, 0, 31, -1;\nL:"
    with pytest.raises(te.EmulationError) as caught:
        lanes(body + " bar.sync 0;")
    assert caught.value.kind == "divergence"
    assert set(lanes(body.replace("31, -1", "31, 0xffff") + " bar.sync 0;")) == {0}
    # Nobody waits for lanes that exit.
    assert set(lanes(body)) == {0}


def test_a_sync_instruction_waits_for_lanes_that_come_later() -> None:
    body = """
  setp.lt.u32 %p0, %t, 16;
  @%p0 bra LOW;
  bar.warp.sync -1;
  bra JOIN;
LOW:
  bar.warp.sync -1;
JOIN:
  mov.u32 %d, 1;
"""
    assert set(lanes(body)) == {1}


FUNCTION = """
.func (.param .b32 result) twice_plus(.param .b32 a, .param .align 8 .b8 pair[8]) {
  .reg .b32 %x, %y, %z; .reg .pred %q;
  ld.param.u32 %x, [a]; ld.param.u32 %y, [pair]; ld.param.u32 %z, [pair+4];
  setp.gt.u32 %q, %x, 9;
  @%q bra BIG;
  mad.lo.u32 %x, %x, 2, %y;
  st.param.b32 [result+0], %x;
  ret;
BIG:
  st.param.b32 [result+0], %z;
  ret;
}
"""
CALL = """
  { .param .b32 p0; .param .align 8 .b8 p1[8]; .param .b32 r0;
    st.param.b32 [p0+0], %t; st.param.b32 [p1+0], 5; st.param.b32 [p1+4], 77;
    GUARD call.uni (r0), twice_plus, (p0, p1);
    ld.param.b32 %r1, [r0+0]; GUARD mov.u32 %d, %r1; }
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_device_functions_return_where_they_were_called(schedule: str) -> None:
    got = lanes(CALL.replace("GUARD", ""), before=FUNCTION, schedule=schedule)
    assert got.tolist() == [2 * i + 5 if i <= 9 else 77 for i in range(32)]
    guarded = "setp.lt.u32 %p0, %t, 4;" + CALL.replace("GUARD", "@%p0").replace(".uni", "")
    got = lanes(guarded, before=FUNCTION, schedule=schedule)
    assert got.tolist() == [5, 7, 9, 11] + [0] * 28


def test_a_function_may_be_called_by_its_alias() -> None:
    other = ".func (.param .b32 result) other(.param .b32 a, .param .align 8 .b8 pair[8]);\n"
    before = f"{other}{FUNCTION}.alias other, twice_plus;\n"
    called = CALL.replace("GUARD", "").replace("twice_plus", "other")
    got = lanes(called, before=before)
    assert got.tolist() == [2 * i + 5 if i <= 9 else 77 for i in range(32)]
    with pytest.raises(te.PTXError, match="no function 'missing' to give an alias at line 4"):
        lanes("", before=".alias other, missing;\n")


def test_jump_tables() -> None:
    body = """
  and.b32 %r0, %t, 3;
  ts: .branchtargets A, B, C, A;
  brx.idx %r0, ts;
A: mov.u32 %d, 10; bra E;
B: mov.u32 %d, 20; bra E;
C: mov.u32 %d, 30;
E:
"""
    assert lanes(body).tolist() == [10, 20, 30, 10] * 8


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("guard", "jumps"), [("@%p0 ", {0, 1}), ("@!%p0 ", {*range(2, 32)})])
def test_lanes_whose_guard_is_false_go_past_a_jump_table(
    guard: str, jumps: set[int], schedule: str
) -> None:
    body = f"""
  setp.lt.u32 %p0, %t, 2; and.b32 %r0, %t, 1;
  ts: .branchtargets A, B;
  {guard}brx.idx %r0, ts;
  add.u32 %d, %d, 50;
A: add.u32 %d, %d, 1;
B: add.u32 %d, %d, 7;
"""
    want = [(50 if i not in jumps else 0) + (i not in jumps or i % 2 == 0) + 7 for i in range(32)]
    assert lanes(body, schedule=schedule).tolist() == want


def test_a_jump_table_index_counts_only_where_the_guard_is_true() -> None:
    body = """
  setp.lt.u32 %p0, %t, 2;
  ts: .branchtargets A;
  GUARD brx.idx %t, ts;
A: mov.u32 %d, 1;
"""
    with pytest.raises(te.EmulationError) as caught:
        lanes(body.replace("GUARD", "@%p0"))
    assert caught.value.kind == "address" and caught.value.thread == (1, 0, 0)
    only_zero = body.replace("%t, 2", "%t, 1").replace("GUARD", "@%p0")
    assert set(lanes(only_zero)) == {1}


def test_labels_and_registers_of_inner_scopes_are_their_own() -> None:
    one = "{ .reg .pred q; setp.gt.u32 q, %t, LIMIT; @q bra SKIP; add.u32 %d, %d, 1; SKIP: }\n"
    got = lanes(one.replace("LIMIT", "3") + one.replace("LIMIT", "7"))
    assert got.tolist() == [2] * 4 + [1] * 4 + [0] * 24


@pytest.mark.parametrize("space", [" ", ""])
def test_directives_and_types_need_no_space_between_them(space: str) -> None:
    # As the inline assembly of cuda_fp16.h writes it.
    body = """{.reg_.b16 low, high;
  .reg_.b32 word; .shared_.align 8 .b8 buffer[256];
  cvt.u16.u32 low, %t; mov.u16 high, 3;
  mov.b32 word, {low, high}; mov.u32 %d, word; }"""
    got = lanes(body.replace("_", space), before=f".global{space}.align 4 .u32 count = 5;")
    assert got.tolist() == [3 << 16 | i for i in range(32)]


def test_special_registers() -> None:
    out = np.zeros((4, 64, 6), dtype=np.uint32)
    names = ["%tid.y", "%ctaid.x", "%cluster_ctarank", "%laneid", "%nclusterid.x", "%warpid"]
    reads = "".join(
        f"mov.u32 %r, {n}; st.global.u32 [%o+{4 * i}], %r;\n" for i, n in enumerate(names)
    )
    ptx = f"""{HEADER}.visible .entry k(.param .u64 out) {{
  .reg .b32 %r, %t, %n; .reg .b64 %o;
  mov.u32 %t, %tid.y; mad.lo.u32 %t, %t, 16, 0; mov.u32 %r, %tid.x; add.u32 %t, %t, %r;
  mov.u32 %n, %ctaid.x; mad.lo.u32 %t, %n, 64, %t;
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 24, %o;
  {reads} ret; }}"""
    te.emulate(te.parse(ptx), "k", [out], grid=4, block=(16, 4), cluster=2)
    thread = np.arange(64)
    for cta in range(4):
        np.testing.assert_array_equal(out[cta, :, 0], thread // 16)
        assert set(out[cta, :, 1]) == {cta} and set(out[cta, :, 2]) == {cta % 2}
        np.testing.assert_array_equal(out[cta, :, 3], thread % 32)
        assert set(out[cta, :, 4]) == {2}
        np.testing.assert_array_equal(out[cta, :, 5], thread // 32)


def test_barrier_reductions_count_votes() -> None:
    body = "setp.lt.u32 %p0, %t, 40; bar.red.popc.u32 %d, 0, %p0;"
    assert set(lanes(body, threads=64)) == {40}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("threads", [64, 48])
@pytest.mark.parametrize(("first", "second"), [("", ", 64"), (", 64", ""), (", 64", ", 64")])
def test_a_barrier_without_a_count_is_one_for_all_threads(
    first: str, second: str, threads: int, schedule: str
) -> None:
    body = f"""
  .shared .align 4 .b32 words[64];
  mov.u32 %r0, words; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r1], %t;
  setp.lt.u32 %p0, %t, 32;
  @%p0 bra LOW;
  bar.sync 1{second};
  bra JOIN;
LOW:
  bar.sync 1{first};
JOIN:
  xor.b32 %r2, %t, 32; setp.lt.u32 %p1, %r2, {threads};
  mad.lo.u32 %r1, %r2, 4, %r0; @%p1 ld.shared.u32 %d, [%r1];
"""
    got = lanes(body, threads=threads, schedule=schedule)
    assert got.tolist() == [i ^ 32 if i ^ 32 < threads else 0 for i in range(threads)]
    with pytest.raises(te.EmulationError) as caught:
        lanes(body.replace(", 64", ", 32"), threads=threads, schedule=schedule)
    assert caught.value.kind in ("arrivals", "race")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_endless_loops_end_at_the_step_limit(schedule: str) -> None:
    with pytest.raises(te.EmulationError) as caught:
        lanes("L: bra L;", schedule=schedule, max_steps=20000)
    assert caught.value.kind == "step-limit"


def test_traps_and_failed_assertions_are_reported() -> None:
    with pytest.raises(te.EmulationError) as caught:
        lanes("setp.eq.u32 %p0, %t, 5; @%p0 trap;")
    assert caught.value.kind == "trap" and caught.value.thread == (5, 0, 0)
