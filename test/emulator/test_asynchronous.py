# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`st.async` and `cp.async`: where they may go, and how their completion is learnt."""

from __future__ import annotations

import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

TO_ALL = (
    INIT
    + CLUSTER_SYNC
    + """@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 8;
setp.lt.u32 %p0, %tid, 2; mad.lo.u32 %r0, %rank, 4, %sm; @!%p0 bra SENT;
mapa.shared::cluster.u32 %r1, %r0, %tid; mapa.shared::cluster.u32 %r2, %bar, %tid;
add.u32 %r3, %rank, 5;
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r3, [%r2];
SENT:
"""
)
READ_BOTH = """ld.shared.u32 %r4, [%sm]; ld.shared.u32 %r5, [%sm+4]; add.u32 %r4, %r4, %r5;
mad.wide.u32 %q0, %rank, 4, %out; st.global.u32 [%q0], %r4;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_st_async_reaches_every_cta_the_own_one_among_them(schedule: str) -> None:
    assert run(TO_ALL + wait("WAIT") + READ_BOTH, schedule)[:2].tolist() == [11, 11]
    reported("in-flight", TO_ALL + READ_BOTH, schedule)


SEND_AND_LEAVE = (
    INIT
    + CLUSTER_SYNC
    + """@%rank1 bra RECEIVE;
mapa.shared::cluster.u32 %r1, %sm, 1; mapa.shared::cluster.u32 %r2, %bar, 1;
@%first st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], 7, [%r2];
bra LEFT;
RECEIVE:
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 4;
"""
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_sender_of_st_async_may_leave_but_not_the_receiver(schedule: str) -> None:
    received = wait("WAIT") + "ld.shared.u32 %r4, [%sm]; st.global.u32 [%out], %r4;\nLEFT:\n"
    assert run(SEND_AND_LEAVE + received, schedule, tail="")[0] == 7
    reported("early-exit", SEND_AND_LEAVE + "LEFT:\n", schedule, tail="")


COPY = """mad.wide.u32 %q0, %tid, 16, %in; mad.lo.u32 %r0, %tid, 16, %sm;
cp.async.ca.shared.global [%r0], [%q0], 16;
"""
TRACK = "cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];\n"
INIT_32 = "@%first mbarrier.init.shared::cta.b64 [%bar], 32; bar.sync 0;\n"
OWN = "ld.shared.u32 %r1, [%r0]; mad.wide.u32 %q1, %tid, 4, %out; st.global.u32 [%q1], %r1;\n"
OTHER = "xor.b32 %r0, %r0, 16;\n" + OWN


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_tracked_cp_async_still_belongs_to_its_group(schedule: str) -> None:
    start = INIT_32 + COPY + TRACK
    own = [4 * i for i in range(32)]
    other = [4 * (i ^ 1) for i in range(32)]
    alone = {"cluster": 1}
    assert run(start + "cp.async.wait_all;\n" + OWN, schedule, **alone)[:32].tolist() == own
    assert run(start + wait("W") + OTHER, schedule, **alone)[:32].tolist() == other
    group = start + "cp.async.commit_group; cp.async.wait_group 0;\n"
    assert run(group + OWN, schedule, **alone)[:32].tolist() == own
    error = reported("in-flight", start + OWN, schedule, **alone)
    assert error.advice is not None and "wait_all" in error.advice
    reported("in-flight", start + "cp.async.wait_all;\n" + OTHER, schedule, **alone)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tracking_a_copy_closes_no_group(schedule: str) -> None:
    second = COPY.replace("[%r0]", "[%r0+1024]")
    body = INIT_32 + COPY + TRACK + second + "cp.async.commit_group; cp.async.wait_group LEAVE;\n"
    alone = {"cluster": 1}
    run(body.replace("LEAVE", "0") + OWN, schedule, **alone)
    reported("in-flight", body.replace("LEAVE", "1") + OWN, schedule, **alone)
