# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of shared memory: mapped ahead of their use, and named in two state spaces."""

from __future__ import annotations

from typing import Any

import pytest
from test_memory import run

import tile_emulator as te

SCHEDULES = ["eager", "late", "random:1", "random:2"]
CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"

# Every thread writes its word, then reads the word of CTA `rank`, where the guard lets it.
MAPPED = """
  .shared .align 4 .b32 words[32];
  mov.u32 %r0, words; mad.lo.u32 %r0, %t, 4, %r0; mov.u32 %r1, %cluster_ctarank;
  mad.lo.u32 %r2, %r1, 100, %t; st.shared.u32 [%r0], %r2; mov.u32 %d, 7;
  add.u32 %r3, %r1, AHEAD;
  mapa.shared::cluster.u32 %r4, %r0, %r3;
  cvt.u64.u32 %l1, %r0; cvta.shared.u64 %l1, %l1; mapa.u64 %l2, %l1, %r3;
  setp.lt.u32 %p0, %r3, LIMIT;
"""
ENDS = "mad.lo.u32 %r12, %r1, 32, %t; mad.wide.u32 %l0, %r12, 4, %o; st.global.u32 [%l0], %d;"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "load", ["ld.shared::cluster.u32 %d, [%r4];", "ld.u32 %d, [%l2];", "mov.u32 %d, %d;"]
)
@pytest.mark.parametrize("ahead", [1, 255, 256, 0x7FFFFFFF])
def test_a_rank_outside_of_the_cluster_counts_where_the_address_is_used(
    ahead: int, load: str, schedule: str
) -> None:
    text = MAPPED.replace("AHEAD", str(ahead)) + CLUSTER + "@%p0 " + load + CLUSTER + ENDS
    got = run(text.replace("LIMIT", "2"), grid=2, cluster=2, schedule=schedule)
    reads = ahead == 1 and load.startswith("ld")
    assert got.tolist() == [100 + i if reads else 7 for i in range(32)] + [7] * 32
    always = text.replace("LIMIT", "0xffffffff")
    if load.startswith("mov"):
        run(always, grid=2, cluster=2, schedule=schedule)
        return
    with pytest.raises(te.EmulationError) as caught:
        run(always, grid=2, cluster=2, schedule=schedule)
    assert caught.value.kind == "address" and "in a cluster of 2" in str(caught.value)


# CTA 0 writes a word of CTA 1, then raises a flag there; CTA 1 waits for the flag.
FLAG = """
  .shared .align 4 .b32 word; .shared .align 4 .b32 flag;
  mov.u32 %r0, word; mov.u32 %r1, flag; mov.u32 %r2, %cluster_ctarank;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [%r0], 0; @%p0 st.shared.u32 [%r1], 0;
  mapa.shared::cluster.u32 %r3, %r0, 1; mapa.shared::cluster.u32 %r4, %r1, 1;
  cvt.u64.u32 %l1, %r1; cvta.shared.u64 %l1, %l1; mapa.u64 %l2, %l1, 1;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  setp.eq.u32 %p1, %r2, 1; mov.u32 %d, 1;
  @!%p0 bra END; @%p1 bra WAIT;
  st.shared::cluster.u32 [%r3], 42;
  RAISE
  bra END;
WAIT:
  LOOK
  setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
  AFTER
  ld.shared.u32 %d, [%r0];
END:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  and.pred %p1, %p0, %p1; @%p1 st.global.u32 [%o], %d;
"""
RAISE = {
    "shared store": "st.release.cluster.shared::cluster.u32 [%r4], 1;",
    "generic store": "st.release.cluster.u32 [%l2], 1;",
    "generic atomic": "atom.release.cluster.exch.b32 %r6, [%l2], 1;",
    "shared fence": "fence.acq_rel.cluster; st.relaxed.cluster.shared::cluster.u32 [%r4], 1;",
    "generic fence": "fence.acq_rel.cluster; red.relaxed.cluster.or.b32 [%l2], 1;",
}
LOOK: dict[str, tuple[str, str]] = {
    "shared load": ("ld.acquire.cluster.shared.u32 %r5, [%r1];", ""),
    "generic load": ("ld.acquire.cluster.u32 %r5, [%l1];", ""),
    "shared atomic": ("atom.acquire.cluster.shared.add.u32 %r5, [%r1], 0;", ""),
    "generic fence": ("ld.relaxed.cluster.u32 %r5, [%l1];", "fence.acq_rel.cluster;"),
}


def flagged(raised: str, look: tuple[str, str]) -> str:
    text = FLAG.replace("RAISE", raised).replace("LOOK", look[0])
    return text.replace("AFTER", look[1]).replace("bra END; @%p1", "bra END;\n  @%p1")


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("look", LOOK)
@pytest.mark.parametrize("raised", RAISE)
def test_a_flag_is_one_flag_in_whatever_space_it_is_named(
    raised: str, look: str, schedule: str
) -> None:
    options: dict[str, Any] = {"grid": 2, "cluster": 2, "schedule": schedule}
    assert int(run(flagged(RAISE[raised], LOOK[look]), **options)[0]) == 42
    relaxed = RAISE[raised].replace("release", "relaxed").replace("fence.acq_rel.cluster; ", "")
    with pytest.raises(te.EmulationError) as caught:
        run(flagged(relaxed, LOOK[look]), **options)
    assert caught.value.kind == "race"


def test_two_flags_are_not_one() -> None:
    # The release goes to the word of CTA 0 that has the same address there.
    other = RAISE["shared store"] + "st.relaxed.cluster.shared::cluster.u32 [%r4], 1;"
    text = flagged(other, LOOK["generic load"])
    wrong = text.replace("cluster.u32 [%r4], 1;st", "cluster.u32 [%r1], 1; st")
    assert wrong != text
    assert int(run(text, grid=2, cluster=2)[0]) == 42
    with pytest.raises(te.EmulationError) as caught:
        run(wrong, grid=2, cluster=2)
    assert caught.value.kind == "race"
