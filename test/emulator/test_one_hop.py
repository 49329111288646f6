# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums over a cluster in one hop: what `st.async` and shuffles of loaded values hand over.

Each warp or block sends its sum to every CTA by `st.async`; two sets of slots take turns, and
nothing else orders the rounds. Who sends round k + 2 has received round k + 1, which each CTA sent
after it had read round k.
"""

from __future__ import annotations

import numpy as np
import pytest

import tile_emulator as te

ROUNDS = 5
WARPS = 2

# Each round replaces %x by the sum over the cluster, modulo 2^32.
KERNEL = """.version 8.1
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %q<3>;
  .reg .b32 %x, %lane, %warp, %me, %n, %i, %set, %set4, %phase, %slots, %bar, %bytes;
  .shared .align 16 .b32 slots[64]; .shared .align 8 .b64 bar[2]; .shared .align 4 .b32 part[4];
  mov.u32 %r0, %tid.x; and.b32 %lane, %r0, 31; shr.u32 %warp, %r0, 5;
  mov.u32 %me, %cluster_ctarank; mov.u32 %n, %cluster_nctarank;
  setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %lane, 0; setp.lt.u32 %p2, %lane, %n;
  mov.u32 %bar, bar;
  @%p0 mbarrier.init.shared::cta.b64 [%bar], 1;
  @%p0 mbarrier.init.shared::cta.b64 [%bar+8], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mad.lo.u32 %x, %me, 64, %r0;
  mul.lo.u32 %bytes, %n, BYTES; mov.u32 %i, 0;
ROUND:
  and.b32 %set, %i, 1; shr.u32 %phase, %i, 1; and.b32 %phase, %phase, 1;
  mov.u32 %bar, bar; mad.lo.u32 %bar, %set, 8, %bar;
  mov.u32 %slots, slots; mad.lo.u32 %slots, %set, 128, %slots;
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], %bytes;
  shfl.sync.bfly.b32 %r1, %x, 16, 31, -1; add.u32 %x, %x, %r1;
  shfl.sync.bfly.b32 %r1, %x, 8, 31, -1; add.u32 %x, %x, %r1;
  shfl.sync.bfly.b32 %r1, %x, 4, 31, -1; add.u32 %x, %x, %r1;
  shfl.sync.bfly.b32 %r1, %x, 2, 31, -1; add.u32 %x, %x, %r1;
  shfl.sync.bfly.b32 %r1, %x, 1, 31, -1; add.u32 %x, %x, %r1;
  SEND
  mapa.shared::cluster.u32 %r4, %r3, %lane; mapa.shared::cluster.u32 %r5, %bar, %lane;
  @%p3 st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %x, [%r5];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%bar], %phase;
  @!%p4 bra WAIT;
  mov.u32 %x, 0;
  READ
  add.u32 %i, %i, 1; setp.lt.u32 %p7, %i, ROUNDS; @%p7 bra ROUND;
  ld.param.u64 %q0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x;
  mad.lo.u32 %r0, %r0, %r1, %r2; mad.wide.u32 %q0, %r0, 4, %q0; st.global.u32 [%q0], %x;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}
"""

# A warp's sum goes to slot 2 * rank + warp of every CTA; lane i reads slot i.
BY_WARP = {
    "SEND": "mov.pred %p3, %p2; mad.lo.u32 %r3, %me, 2, %warp; mad.lo.u32 %r3, %r3, 4, %slots;",
    "READ": "shl.b32 %r7, %n, 1; setp.lt.u32 %p5, %lane, %r7; mad.lo.u32 %r6, %lane, 4, %slots;\n"
    "@%p5 ld.shared.u32 %x, [%r6];",
    "BYTES": "8",
}
# The block's sum, by way of shared memory, goes to slot `rank`; every thread reads all slots.
BY_BLOCK = {
    "SEND": """mov.u32 %r3, part; mad.lo.u32 %r3, %set, 8, %r3; mad.lo.u32 %r4, %warp, 4, %r3;
  @%p1 st.shared.u32 [%r4], %x;
  bar.sync 0;
  ld.shared.v2.u32 {%r5, %r6}, [%r3]; add.u32 %x, %r5, %r6;
  setp.eq.u32 %p6, %warp, 0; and.pred %p3, %p2, %p6; mad.lo.u32 %r3, %me, 4, %slots;""",
    "READ": """mov.u32 %r6, 0;
ADD: mad.lo.u32 %r7, %r6, 4, %slots; ld.shared.u32 %r8, [%r7]; add.u32 %x, %x, %r8;
  add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, %n; @%p5 bra ADD;""",
    "BYTES": "4",
}
FORMS = {"by_warp": BY_WARP, "by_block": BY_BLOCK}


def text(form: str, *edits: tuple[str, str]) -> str:
    """Fill in the kernel, and replace what stands exactly once."""
    ptx = KERNEL.replace("ROUNDS", str(ROUNDS))
    for name, piece in FORMS[form].items():
        ptx = ptx.replace(name, piece)
    for old, new in edits:
        assert ptx.count(old) == 1, old
        ptx = ptx.replace(old, new)
    return ptx


def expected(form: str, cluster: int) -> int:
    """Add up by the definition; from the second round on each lane or thread brings a share."""
    x = [np.arange(64, dtype=np.uint64) + 64 * rank for rank in range(cluster)]
    total = sum(int(values.sum()) for values in x)
    # By warp, the 32 lanes hold the slots, so that a warp's next sum is the whole total.
    factor = cluster * WARPS * (1 if form == "by_warp" else 32)
    for _ in range(ROUNDS - 1):
        total *= factor
    return total % 2**32


def sums(ptx: str, cluster: int, schedule: str, checks: str = "default") -> np.ndarray:
    out = np.zeros(64 * cluster, np.uint32)
    te.emulate(
        te.parse(ptx), "k", [out], grid=cluster, block=64, cluster=cluster, schedule=schedule,
        checks=checks,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize("cluster", [2, 3, 4, 16])
@pytest.mark.parametrize("form", FORMS)
def test_two_sets_of_slots_are_enough(form: str, cluster: int, schedule: str) -> None:
    got = sums(text(form), cluster, schedule)
    if form == "by_warp":  # the lanes hold parts of the sum, the first ones a slot each
        got = got.reshape(-1, 32).sum(axis=1, dtype=np.uint32)
    assert set(got.tolist()) == {expected(form, cluster)}


FAULTS = {
    "one set of slots": (
        "in-flight", ("and.b32 %set, %i, 1; shr.u32 %phase, %i, 1; and.b32 %phase, %phase, 1;",
                      "mov.u32 %set, 0; and.b32 %phase, %i, 1;"),
    ),
    "one set of slots on two barriers": ("in-flight", ("%set, 128, %slots", "%set, 0, %slots")),
    "no wait": ("in-flight", ("@!%p4 bra WAIT;", "")),
    "the other parity": ("in-flight", ("[%bar], %phase;", "[%bar], %set;")),
    "too many bytes": ("deadlock", ("[%bar], %bytes;", "[%bar], 256;")),
    "too few bytes": ("arrivals", ("[%bar], %bytes;", "[%bar], 4;")),
    "two warps in one slot": ("in-flight", ("%me, 2, %warp", "%me, 2, 0")),
    "no cluster barrier": (
        "not-started",
        ("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n  mad", "bar.sync 0; mad"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_one_hop_by_warp_is_reported(name: str, schedule: str) -> None:
    kind, edit = FAULTS[name]
    with pytest.raises(te.EmulationError) as caught:
        sums(text("by_warp", edit), 4, schedule)
    assert caught.value.kind == kind, str(caught.value)


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("race", ("bar.sync 0;\n  ld", "ld")),
        ("in-flight", ("%set, 128, %slots", "%set, 0, %slots")),
        ("in-flight", ("and.pred %p3, %p2, %p6", "mov.pred %p3, %p2")),
    ],
)
def test_a_fault_in_one_hop_by_block_is_reported(
    kind: str, edit: tuple[str, str], schedule: str
) -> None:
    with pytest.raises(te.EmulationError) as caught:
        sums(text("by_block", edit), 4, schedule)
    assert caught.value.kind == kind, str(caught.value)


@pytest.mark.parametrize("form", FORMS)
def test_strict_checks_want_more_than_an_argument(form: str) -> None:
    wide = ("try_wait.parity.", "try_wait.parity.acquire.cluster.")
    with pytest.raises(te.EmulationError) as caught:
        sums(text(form, wide), 4, "eager", checks="strict")
    assert caught.value.kind == "in-flight"


# Lane 0 overwrites what its warp has read; BETWEEN is all that comes in between.
OVERWRITTEN = """.version 8.1
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %q<3>; .shared .align 4 .b32 sm[32];
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r1, sm; mad.lo.u32 %r1, %r0, 4, %r1;
  st.shared.u32 [%r1], %r0; bar.sync 0; LOAD setp.gt.u32 %p1, %r2, 3;
  BETWEEN
  @%p0 st.shared.u32 [sm+124], 5;
  ld.param.u64 %q0, [out]; st.global.u32 [%q0], %r3;
  ret;
}
"""
LOAD = "ld.shared.u32 %r2, [%r1];"
EXCHANGES = [
    "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;",
    "add.u32 %r4, %r2, 1; xor.b32 %r4, %r4, %r0; shfl.sync.idx.b32 %r3, %r4, 31, 31, -1;",
    "redux.sync.add.u32 %r3, %r2, -1;",
    "vote.sync.ballot.b32 %r3, %p1, -1;",
    "match.any.sync.b32 %r3, %r2, -1;",
]


def overwrite(between: str, load: str = LOAD, checks: str = "default") -> None:
    ptx = OVERWRITTEN.replace("BETWEEN", between).replace("LOAD", load)
    te.emulate(te.parse(ptx), "k", [np.zeros(1, np.uint32)], block=32, checks=checks)


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_who_gets_a_loaded_value_knows_that_the_load_is_over(exchange: str) -> None:
    overwrite(exchange)
    overwrite("bar.warp.sync -1;", checks="strict")
    for between, checks in (("", "default"), (exchange, "strict")):
        with pytest.raises(te.EmulationError, match="is written, unordered with its read"):
            overwrite(between, checks=checks)


@pytest.mark.parametrize(
    "between",
    [
        "shfl.sync.bfly.b32 %r3, %r0, 1, 31, -1;",
        "activemask.b32 %r3;",
        "elect.sync %r3|%p2, -1;",
        "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; " + LOAD,
    ],
)
def test_other_values_tell_nothing_of_a_load(between: str) -> None:
    with pytest.raises(te.EmulationError, match="is written, unordered with its read"):
        overwrite(between)


def test_an_exchange_of_loaded_values_shows_no_stores() -> None:
    load = "ld.shared.u32 %r2, [%r1]; bar.warp.sync -1; st.shared.u32 [%r1], 9;"
    overwrite("bar.warp.sync -1;", load)
    with pytest.raises(te.EmulationError, match="is written, unordered with a write"):
        overwrite("shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;", load)


# Threads of CTA 0 load each other's words of a source and send them; CTA 1 acknowledges the bytes,
# and CTA 0 fills the source again.
REUSED = """.version 8.1
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b32 %src, %dst, %full, %free; .reg .b64 %q<3>;
  .shared .align 16 .b32 src[32]; .shared .align 16 .b32 dst[32]; .shared .align 8 .b64 bar[2];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; shl.b32 %r2, %r0, 2; xor.b32 %r3, %r2, 4;
  mov.u32 %src, src; mov.u32 %dst, dst; mov.u32 %full, bar; add.u32 %free, %full, 8;
  setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 1; mov.u32 %r9, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%full], 1; @%p0 mbarrier.init.shared::cta.b64 [%free], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%p1 bra RECEIVE;
  mapa.shared::cluster.u32 %r4, %dst, 1; mapa.shared::cluster.u32 %r5, %full, 1;
  add.u32 %r4, %r4, %r2; add.u32 %r6, %src, %r2; add.u32 %r7, %src, %r3;
SEND: st.shared.u32 [%r6], %r9; bar.warp.sync -1;
  ld.shared.u32 %r8, [%r7];
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r8, [%r5];
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%free], %r9;
  @!%p2 bra FREE;
  add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 2; @%p3 bra SEND; bra DONE;
RECEIVE: mapa.shared::cluster.u32 %r5, %free, 0;
NEXT: @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 128;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%full], %r9;
  @!%p2 bra FULL;
  add.u32 %r4, %dst, %r2; ld.shared.u32 %r8, [%r4];
  ld.param.u64 %q0, [out]; mad.lo.u32 %r6, %r9, 128, %r2; cvt.u64.u32 %q1, %r6;
  add.u64 %q0, %q0, %q1; st.global.u32 [%q0], %r8; bar.warp.sync -1;
  @%p0 mbarrier.arrive.shared::cluster.b64 _, [%r5];
  add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 2; @%p3 bra NEXT;
DONE: bar.warp.sync -1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}
"""


def reuse(ptx: str, schedule: str) -> list[int]:
    out = np.zeros(64, np.uint32)
    te.emulate(te.parse(ptx), "k", [out], grid=2, block=32, cluster=2, schedule=schedule)
    return list(out)


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1", "random:2"])
def test_an_acknowledged_store_frees_the_source_that_was_loaded(schedule: str) -> None:
    assert reuse(REUSED, schedule) == 32 * [0] + 32 * [1]
    faults = [
        ("race", "  @!%p2 bra FREE;\n", ""),
        ("in-flight", "%r8; bar.warp.sync -1;\n  @%p0 mbarrier", "%r8;\n  @%p0 mbarrier"),
    ]
    for kind, old, new in faults:
        assert REUSED.count(old) == 1
        with pytest.raises(te.EmulationError) as caught:
            reuse(REUSED.replace(old, new), schedule)
        assert caught.value.kind == kind, str(caught.value)
