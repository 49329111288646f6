# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of mbarriers that need more than one barrier, phase or thread to show."""

from __future__ import annotations

import pytest
from two_ctas import SCHEDULES, reported, run

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
