# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of mbarriers that need more than one barrier, phase or thread to show."""

from __future__ import annotations

import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

ONE_CTA = {"cluster": 1, "block": 64}

# Lane 1 of warp 0 waits for `bar2`, and frees lane 0, which waits for `bar`.
TWO_BARRIERS = """@%first mbarrier.init.shared::cta.b64 [%bar], 1;
@%first mbarrier.init.shared::cta.b64 [%bar2], 1; bar.sync 0;
@%warp1 bra OTHER; setp.ge.u32 %p0, %tid, 2; @%p0 bra END;
setp.eq.u32 %p1, %tid, 1; selp.b32 %r0, %bar2, %bar, %p1;
AGAIN: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0], 0; and.pred %p3, %p2, %p1;
@%p3 mbarrier.arrive.shared::cta.b64 _, [%bar]; @!%p2 bra AGAIN; bra END;
OTHER: mbarrier.arrive.shared::cta.b64 _, [%bar2];
END:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_of_a_warp_may_wait_for_different_barriers(schedule: str) -> None:
    run(TWO_BARRIERS, schedule, **ONE_CTA)
    without = TWO_BARRIERS.replace("OTHER: mbarrier.arrive.shared::cta.b64 _, [%bar2];", "OTHER:")
    reported("deadlock", without, schedule, **ONE_CTA)


# Thread 0 completes four phases; thread 32 waits for each, and may acknowledge on `bar2`.
INIT_BOTH = """@%first mbarrier.init.shared::cta.b64 [%bar], 1;
@%first mbarrier.init.shared::cta.b64 [%bar2], 1; bar.sync 0;
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [%bar];\n"
ACKNOWLEDGE = "mbarrier.arrive.shared::cta.b64 _, [%bar2];\n"


def phases(count: int, acknowledged: bool) -> str:
    """Return a producer that is or is not held back by its consumer."""
    producer, consumer = "", ""
    for i in range(count):
        producer += ARRIVE + (wait(f"P{i}", i % 2, "%bar2") if acknowledged else "")
        consumer += wait(f"C{i}", i % 2) + (ACKNOWLEDGE if acknowledged else "")
    start = INIT_BOTH + "@%warp1 bra CONSUMER; @!%first bra END;\n"
    return f"{start}{producer}bra END;\nCONSUMER:\n{consumer}END:\n"


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("count", [2, 4, 7])
def test_a_producer_must_not_run_two_phases_ahead_of_a_wait(count: int, schedule: str) -> None:
    run(phases(count, True), schedule, **ONE_CTA)
    error = reported("arrivals", phases(count, False), schedule, **ONE_CTA)
    assert "next phase of its parity" in str(error)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_phase_may_complete_before_anyone_waits_for_it(schedule: str) -> None:
    run(phases(1, False), schedule, **ONE_CTA)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_thread_may_complete_many_phases_that_nobody_waits_for(schedule: str) -> None:
    run(INIT_BOTH + f"@%first {ARRIVE}" * 9, schedule, **ONE_CTA)


REMOTE_ARRIVALS = (
    INIT
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r0, %bar, 1; @!%first bra END; @%rank1 bra CONSUMER;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0]; SECOND bra END;
CONSUMER:
"""
    + wait("C0", 0, how=".acquire.cluster")
    + "END:\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_peer_must_not_run_two_phases_ahead_either(schedule: str) -> None:
    run(REMOTE_ARRIVALS.replace("SECOND", ""), schedule)
    again = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0];"
    reported("arrivals", REMOTE_ARRIVALS.replace("SECOND", again), schedule)


OLD_TOKEN = """@%first mbarrier.init.shared::cta.b64 [%bar], 1; @!%first bra END;
mbarrier.arrive.shared::cta.b64 %q0, [%bar];
AGAIN mbarrier.test_wait.shared::cta.b64 %p0, [%bar], %q0; selp.b32 %r0, 1, 0, %p0;
st.global.u32 [%out], %r0;
END:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_state_is_good_until_the_next_phase_completes(schedule: str) -> None:
    run(OLD_TOKEN.replace("AGAIN", ""), schedule, **ONE_CTA)
    reported("arrivals", OLD_TOKEN.replace("AGAIN", ARRIVE * 2), schedule, **ONE_CTA)


# Thread 0 counts the bytes that its CTA, or the peer, is armed for.
COUNTED = (
    INIT
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r0, %bar, %peer;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 48;
@%first mbarrier.complete_tx{} 16;
@%first mbarrier.complete_tx{} 32;
"""
    + wait("WAIT")
    + "@%first st.global.u32 [%out], 1;\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "where",
    [
        ".shared::cta.b64 [%bar],",
        ".relaxed.cta.shared::cta.b64 [%bar],",
        ".relaxed.cluster.shared::cluster.b64 [%r0],",
        ".shared::cluster.relaxed.cluster.b64 [%r0],",
    ],
)
def test_a_thread_may_count_bytes_itself(where: str, schedule: str) -> None:
    assert run(COUNTED.format(where, where), schedule)[0] == 1
    for nbytes, kind in (("16;", "deadlock"), ("40;", "arrivals")):
        reported(kind, COUNTED.format(where, where).replace("32;", nbytes), schedule)
