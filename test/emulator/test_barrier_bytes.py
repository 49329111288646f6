# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What may be done with the bytes and counts of an mbarrier, and what reports say of it."""

from __future__ import annotations

import pytest
from two_ctas import SCHEDULES, reported, run, wait

import tile_emulator as te

ONE_CTA = {"cluster": 1, "block": 64}
INIT_ONE = "@%first mbarrier.init.shared::cta.b64 [%bar], 1; bar.sync 0;\n"

EXPECT = "@%warp1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 1024;\n"
COPY_IN = """@%warp1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
  [%sm], [%in], 1024, [%bar];
"""
ARRIVE = "@%first mbarrier.arrive.shared::cta.b64 _, [%bar];\n"
READ = wait("WAIT") + "ld.shared.u32 %r9, [%sm];\n"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bytes_are_expected_before_the_last_arrival(schedule: str) -> None:
    run(INIT_ONE + EXPECT + COPY_IN + "bar.sync 0;\n" + ARRIVE + READ, schedule, **ONE_CTA)
    run(INIT_ONE + EXPECT + "bar.sync 0;\n" + ARRIVE + COPY_IN + READ, schedule, **ONE_CTA)
    reported("arrivals", INIT_ONE + EXPECT + COPY_IN + ARRIVE + READ, schedule, **ONE_CTA)


# The bytes that thread 0 expects hold the phase until thread 32 has issued both copies.
HELD = """@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512; bar.sync 0;
@%warp1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 512;
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_bytes_may_be_expected_while_others_hold_the_phase(schedule: str) -> None:
    run(INIT_ONE + HELD + COPY_IN + READ, schedule, **ONE_CTA)


STORE = "setp.eq.u32 %p0, %tid, 5; @%p0 st.shared.b64 [%bar], 0;\n"


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_is_cleared_before_its_init(schedule: str) -> None:
    run(STORE + "bar.sync 0;\n" + INIT_ONE, schedule, **ONE_CTA)
    error = reported("race", STORE + INIT_ONE, schedule, **ONE_CTA)
    assert "shared byte 8192 " in str(error)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_live_barrier_is_not_read_as_data(schedule: str) -> None:
    load = "ld.shared.b64 %q5, [%bar];\n"
    copy = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%bar], 16;\n"
    after = "@%first mbarrier.inval.shared::cta.b64 [%bar]; bar.sync 0; st.shared.b64 [%bar], 0;\n"
    run(INIT_ONE + after.replace("st.", "@%first st.") + "bar.sync 0;" + load, schedule, **ONE_CTA)
    reported("address", INIT_ONE + load, schedule, **ONE_CTA)
    reported("address", INIT_ONE + "fence.proxy.async; bar.sync 0; @%first " + copy, schedule,
             **ONE_CTA)  # fmt: skip


def test_data_follows_an_inval_that_is_known() -> None:
    inval = INIT_ONE + "@%first mbarrier.inval.shared::cta.b64 [%bar];\n"
    store = "@%warp1 st.shared.b64 [%bar], 0;\n"
    kinds = set()
    for schedule in SCHEDULES:
        run(inval + "bar.sync 0;\n" + store, schedule, **ONE_CTA)
        with pytest.raises(te.EmulationError) as caught:
            run(inval + store, schedule, **ONE_CTA)
        kinds.add(caught.value.kind)
    # The barrier is still alive, or its end is not known.
    assert kinds == {"address", "race"}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("mbarrier.arrive.noComplete.shared::cta.b64 %q0, [%bar], 1;",
         "mbarrier.arrive.noComplete.shared::cta.b64 %q0, [%bar], 2;"),
        ("mbarrier.arrive.shared::cta.b64 _, [%bar], 1;",
         "mbarrier.arrive.shared::cta.b64 _, [%bar], 0;"),
    ],
)  # fmt: skip
def test_counts_of_arrivals(right: str, wrong: str, schedule: str) -> None:
    start = INIT_ONE.replace("[%bar], 1", "[%bar], 2")
    run(start + "@%first " + right, schedule, **ONE_CTA)
    reported("arrivals", start + "@%first " + wrong, schedule, **ONE_CTA)


TO_GLOBAL = """mad.lo.u32 %r0, %tid, 16, %sm; st.shared.v4.u32 [%r0], {%tid, %tid, %tid, %tid};
fence.proxy.async; bar.sync 0; @!%first bra END;
cp.async.bulk.global.shared::cta.bulk_group [%out], [%sm], 512; cp.async.bulk.commit_group;
DONE
END:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_advice_for_a_group_is_to_wait_for_the_group(schedule: str) -> None:
    done = "cp.async.bulk.wait_group.read 0;"
    overwrites = "st.shared.u32 [%sm], 7;"
    run(TO_GLOBAL.replace("DONE", done + overwrites), schedule, **ONE_CTA)
    for kind, text in (("early-exit", ""), ("in-flight", overwrites)):
        error = reported(kind, TO_GLOBAL.replace("DONE", text), schedule, tail="", **ONE_CTA)
        assert error.advice is not None and "wait_group.read 0" in error.advice


def test_an_index_below_the_window_is_called_so() -> None:
    store = "@RANK sub.u32 %r0, %sm, 8192; @RANK st.shared.u32 [%r0], 1;\n"
    for rank in ("%rank0", "%rank1"):
        error = reported("address", store.replace("RANK", rank), "eager")
        assert "8192 bytes before the CTA's shared memory" in str(error)
