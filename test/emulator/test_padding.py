# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that nobody wrote: an error where a load takes nothing else, padding beside data."""

from __future__ import annotations

import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

# Three of the four words at each thread's place.
FILL = """mad.lo.u32 %r1, %tid, 16, %sm;
st.shared.v2.u32 [%r1], {%tid, %tid}; st.shared.u32 [%r1+8], %tid;
"""
ELSEWHERE = FILL.replace("[%r1", "[%r1+512")
READ = "bar.sync 0; xor.b32 %r3, %r1, 496; ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];\n"
WORD = "bar.sync 0; ld.shared.u32 %r4, [%r1+OFFSET];\n"

# Bytes go on to CTA 1, whose threads read them.
SEND = (
    "fence.proxy.async;\n"
    + CLUSTER_SYNC
    + """@%rank1 bra RECEIVE; @!%first bra END; add.u32 %r2, %sm, 4096;
mapa.shared::cluster.u32 %r2, %r2, 1; mapa.shared::cluster.u32 %r3, %bar, 1;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%sm], 512, [%r3];
bra END;
RECEIVE: @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;
"""
    + wait("WAIT")
    + "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1+4096];\nEND:\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_padding_may_be_read_with_its_structure(schedule: str) -> None:
    run(FILL + READ, schedule, cluster=1)
    reported("uninitialised-read", ELSEWHERE + READ, schedule, cluster=1)
    run(FILL + WORD.replace("OFFSET", "8"), schedule, cluster=1)
    reported("uninitialised-read", FILL + WORD.replace("OFFSET", "12"), schedule, cluster=1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_padding_may_be_copied_with_its_structure_and_stays_padding(schedule: str) -> None:
    run(INIT + FILL + SEND, schedule)
    reported("uninitialised-read", INIT + ELSEWHERE + SEND, schedule)
    alone = SEND.replace("ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1+4096]",
                         "ld.shared.u32 %r4, [%r1+4108]")  # fmt: skip
    error = reported("uninitialised-read", INIT + FILL + alone, schedule)
    assert "the source of its bulk copy" in str(error)


TO_GLOBAL = """fence.proxy.async; bar.sync 0; @!%first bra END;
cp.async.bulk.global.shared::cta.bulk_group [%out], [%sm], 512;
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
END:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_copy_to_global_memory_needs_some_written_bytes(schedule: str) -> None:
    assert run(FILL + TO_GLOBAL, schedule, cluster=1)[8:11].tolist() == [2, 2, 2]
    reported("uninitialised-read", ELSEWHERE + TO_GLOBAL, schedule, cluster=1)
