# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who goes on while others wait: threads of one warp, bounded polls, and real deadlocks."""

from __future__ import annotations

import pytest
from two_ctas import SCHEDULES, reported, run, wait

ONE_WARP = {"cluster": 1}

# Thread t waits for t-1, and lets t+1 go on.
TURNS = """POLL: ld.volatile.global.u32 %r0, [%in]; setp.ne.u32 %p0, %r0, TURN; @%p0 bra POLL;
mad.wide.u32 %q0, %tid, 4, %out; mul.lo.u32 %r1, %tid, 3; st.global.u32 [%q0], %r1;
membar.gl; add.u32 %r2, %tid, 1; st.volatile.global.u32 [%in], %r2;
END
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("end", ["", "bar.sync 0;", "bar.warp.sync -1;"])
def test_threads_of_a_warp_take_turns(end: str, schedule: str) -> None:
    body = TURNS.replace("TURN", "%tid").replace("END", end)
    assert run(body, schedule, **ONE_WARP)[:32].tolist() == [3 * i for i in range(32)]
    never = TURNS.replace("TURN", "77").replace("END", end)
    reported("deadlock", never, schedule, **ONE_WARP)


LOCK = """.shared .align 4 .b32 lock; .shared .align 4 .b32 sum;
@%first st.shared.u32 [lock], 0; @%first st.shared.u32 [sum], 0; bar.sync 0;
and.b32 %r3, %tid, 31; setp.ge.u32 %p1, %r3, 3; @%p1 bra OUT;
SPIN: atom.acquire.cta.shared.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra SPIN;
ld.shared.u32 %r1, [sum]; add.u32 %r1, %r1, %tid; st.shared.u32 [sum], %r1;
FREE
OUT: bar.sync 0; @%first ld.shared.u32 %r2, [sum]; @%first st.global.u32 [%out], %r2;
"""
FREE = "atom.release.cta.shared.exch.b32 %r0, [lock], 0;"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_of_a_warp_share_a_lock(schedule: str) -> None:
    two_warps = {"cluster": 1, "block": 64}
    assert run(LOCK.replace("FREE", FREE), schedule, **two_warps)[0] == 0 + 1 + 2 + 32 + 33 + 34


@pytest.mark.parametrize("schedule", ["eager", "random:1"])
def test_a_lock_that_nobody_frees_is_a_deadlock(schedule: str) -> None:
    reported("deadlock", LOCK.replace("FREE", ""), schedule, **ONE_WARP)


CHAIN = (
    "mad.lo.u32 %r0, %tid, 8, %sm; mbarrier.init.shared::cta.b64 [%r0], 1; bar.sync 0;\n"
    "sub.u32 %r1, %r0, 8; @%first bra PASSED;\n"
    + wait("WAIT", 0, "%r1")
    + "PASSED: ARRIVE\nbar.sync 0;\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_of_a_warp_wait_for_each_others_barriers(schedule: str) -> None:
    arrive = "mbarrier.arrive.shared::cta.b64 _, [%r0];"
    run(CHAIN.replace("ARRIVE", arrive), schedule, **ONE_WARP)
    reported("deadlock", CHAIN.replace("ARRIVE", "@!%first " + arrive), schedule, **ONE_WARP)


# A loop whose condition is read anew each time, and ends by itself.
BOUNDED = """.shared .align 4 .b32 n; @%first st.shared.u32 [n], 5000; bar.sync 0;
mov.u32 %r0, 0; mov.u32 %r1, %tid;
AGAIN: mad.lo.u32 %r1, %r1, 1664525, 1013904223; add.u32 %r0, %r0, STEP;
ld.volatile.shared.u32 %r2, [n]; setp.lt.u32 %p0, %r0, %r2; @%p0 bra AGAIN;
st.global.u32 [%out], %r0;
"""


@pytest.mark.parametrize("schedule", ["eager", "late", "random:1"])
def test_a_loop_that_reads_its_volatile_bound_is_no_deadlock(schedule: str) -> None:
    assert run(BOUNDED.replace("STEP", "1"), schedule, **ONE_WARP)[0] == 5000


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_poll_for_what_nobody_writes_is_a_deadlock(schedule: str) -> None:
    still = BOUNDED.replace("STEP", "0").replace("mad.lo.u32 %r1, %r1, 1664525, 1013904223;", "")
    reported("deadlock", still, schedule, **ONE_WARP)


GIVES_UP = """@%first mbarrier.init.shared::cta.b64 [%bar], 1; bar.sync 0; mov.u32 %r0, 0;
AGAIN: mbarrier.HOW.parity.shared::cta.b64 %p0, [%bar], 0; @%p0 bra PASSED;
add.u32 %r0, %r0, STEP; setp.lt.u32 %p1, %r0, 20; @%p1 bra AGAIN;
PASSED: st.global.u32 [%out], %r0;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("how", ["try_wait", "test_wait"])
def test_a_wait_may_give_up(how: str, schedule: str) -> None:
    body = GIVES_UP.replace("HOW", how)
    assert run(body.replace("STEP", "1"), schedule, **ONE_WARP)[0] == 20
    reported("deadlock", body.replace("STEP", "0"), schedule, **ONE_WARP)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_endless_poll_that_counts_is_a_deadlock_at_the_limit(schedule: str) -> None:
    endless = GIVES_UP.replace("HOW", "try_wait").replace("STEP", "1").replace("%r0, 20", "%r0, -1")
    reported("deadlock", endless, schedule, max_steps=5000, **ONE_WARP)
