# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A deadlock is reported at the wait from which the others follow, with what is missing there."""

from __future__ import annotations

import pytest
from faults.kernels import KERNELS
from faults.kernels import run as run_kernel
from two_ctas import CLUSTER_SYNC, SCHEDULES, reported, run

import tile_emulator as te

# Thread 0 fills two stages by turns; warps 1 and 2 empty them. Six tiles of 128 bytes.
RING = """.shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
.reg .b32 %it, %stage, %parity, %full, %empty, %tile; .reg .pred %producer, %more, %leader;
mov.u32 %full, full; mov.u32 %empty, empty;
@%first mbarrier.init.shared::cta.b64 [%full], 1;
@%first mbarrier.init.shared::cta.b64 [%full+8], 1;
@%first mbarrier.init.shared::cta.b64 [%empty], 64;
@%first mbarrier.init.shared::cta.b64 [%empty+8], 64;
bar.sync 0;
setp.lt.u32 %producer, %tid, 32; mov.u32 %it, 0; and.b32 %r0, %tid, 31;
setp.eq.u32 %leader, %r0, 0; @%producer bra PRODUCE;
CONSUME: and.b32 %stage, %it, 1; shr.u32 %parity, %it, 1; and.b32 %parity, %parity, 1;
mad.lo.u32 %full, %stage, 8, full; mad.lo.u32 %empty, %stage, 8, empty;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%full], %parity; @!%p0 bra FULL;
mad.lo.u32 %tile, %stage, 128, %sm; mad.lo.u32 %tile, %r0, 4, %tile; ld.shared.u32 %r1, [%tile];
mad.lo.u32 %r2, %it, 32, %r0; mad.wide.u32 %q0, %r2, 4, %out; st.global.u32 [%q0], %r1;
mbarrier.arrive.shared::cta.b64 _, [%empty];
add.u32 %it, %it, 1; setp.lt.u32 %more, %it, 6; @%more bra CONSUME; bra END;
PRODUCE: @!%first bra END;
NEXT: and.b32 %stage, %it, 1; shr.u32 %parity, %it, 1; not.b32 %parity, %parity;
and.b32 %parity, %parity, 1;
mad.lo.u32 %full, %stage, 8, full; mad.lo.u32 %empty, %stage, 8, empty;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%empty], %parity; @!%p0 bra EMPTY;
mad.lo.u32 %tile, %stage, 128, %sm;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], 128;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%in], 128, [%full];
add.u64 %in, %in, 128; add.u32 %it, %it, 1; setp.lt.u32 %more, %it, 6; @%more bra NEXT;
END: bar.warp.sync -1;
"""
ONE_CTA = {"cluster": 1, "block": 96}


def with_edit(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_ring_itself_runs(schedule: str) -> None:
    assert run(RING, schedule, **ONE_CTA)[:192].tolist() == list(range(192))


# After `bar` and `bar2`, full[0] is at 8208 and empty[0] at 8224.
RINGS = {
    "a count of one too many": (
        ("[%empty], 64;", "[%empty], 65;"),
        "8224 of CTA rank 0 never ends: 64 of 65 arrivals came",
        "no other thread has ever arrived on it",
    ),
    "one arrival a warp instead of all": (
        ("mbarrier.arrive.shared::cta.b64 _, [%empty];",
         "@%leader mbarrier.arrive.shared::cta.b64 _, [%empty];"),
        "8224 of CTA rank 0 never ends: 2 of 64 arrivals came",
        "no other thread has ever arrived on it",
    ),
    "consumers that leave": (
        ("setp.lt.u32 %more, %it, 6; @%more bra CONSUME;",
         "setp.gt.u32 %more, %tid, 63; selp.u32 %r3, 2, 6, %more; setp.lt.u32 %more, %it, %r3;\n"
         "@%more bra CONSUME; @%p0 ret;"),
        "8224 of CTA rank 0 never ends: 32 of 64 arrivals came",
        "thread (64, 0, 0) of CTA rank 0 and 31 more: arrived in an earlier phase, and ended",
    ),
}  # fmt: skip


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", RINGS)
def test_a_ring_that_stops_names_the_barrier_that_lacks_arrivals(name: str, schedule: str) -> None:
    edit, message, note = RINGS[name]
    error = reported("deadlock", with_edit(RING, *edit), schedule, **ONE_CTA)
    assert error.message.endswith(message)
    assert error.notes[0] == note
    assert "bytes" not in error.advice


# CTA 0 sends four tiles to CTA 1, which tells it that a tile was read.
SENT = (
    """@%first mbarrier.init.shared::cta.b64 [%bar], 1;
@%first mbarrier.init.shared::cta.b64 [%bar2], 1; mad.lo.u32 %r9, %tid, 4, %sm;
st.shared.u32 [%r9], %tid; fence.proxy.async; mov.u32 %r0, 0;
"""
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r1, %bar, 1; mapa.shared::cluster.u32 %r3, %bar2, 0;
add.u32 %r2, %sm, 128; mapa.shared::cluster.u32 %r2, %r2, 1; @%rank1 bra RECEIVE;
@!%first bra END;
SEND: and.b32 %r5, %r0, 1;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r2], [%sm], 128, [%r1];
FREE: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%bar2], %r5; @!%p0 bra FREE;
add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 4; @%p1 bra SEND; bra END;
RECEIVE: and.b32 %r5, %r0, 1;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%bar], %r5; @!%p0 bra FULL;
ld.shared.u32 %r4, [%r9+128]; bar.warp.sync -1;
@%first mbarrier.arrive.shared::cluster.b64 _, [%r3];
add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 4; @%p1 bra RECEIVE;
END: bar.warp.sync -1;
"""
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_an_arrival_on_the_own_barrier_is_missed_at_the_peers(schedule: str) -> None:
    run(SENT, schedule)
    error = reported("deadlock", with_edit(SENT, "_, [%r3];", "_, [%bar2];"), schedule)
    assert error.message == (
        "the wait for phase 0 of the mbarrier at shared offset 8200 of CTA rank 0 never ends: "
        "0 of 1 arrivals came"
    )
    assert "bytes" not in error.advice


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_phase_that_got_no_bytes_is_told_so(schedule: str) -> None:
    nothing = with_edit(SENT, "@!%first bra END;\nSEND", "bra END;\nSEND")
    error = reported("deadlock", nothing, schedule)
    assert error.message.endswith("CTA rank 1 never ends: armed with 128 bytes, received none")
    assert error.advice.startswith("issue the copies")
    error = reported("deadlock", with_edit(SENT, "_, [%bar], 128;", "_, [%bar], 256;"), schedule)
    assert error.message.endswith("CTA rank 1 never ends: armed with 256 bytes, received 128")
    assert error.advice.startswith("arm the phase with exactly the bytes")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_wait_that_returned_at_once_is_named_where_bytes_are_read(schedule: str) -> None:
    wrong = with_edit(SENT, "%p0, [%bar], %r5;", "%p0, [%bar], 1;")
    note = reported("in-flight", wrong, schedule).notes[-1]
    assert note.endswith("returned at once: parity 1 is that of the phase before the first")
    early = reported("in-flight", with_edit(SENT, "@!%p0 bra FULL;", ""), schedule)
    assert not any("at once" in note for note in early.notes)


def test_a_wait_for_the_phase_before_is_named_as_such() -> None:
    ring = KERNELS["ring"]
    wrong = with_edit(ring.text, "and.b32 %parity, %use, 1;", "min.u32 %parity, %use, 1;")
    with pytest.raises(te.EmulationError) as caught:
        run_kernel(ring, wrong, "eager")
    note = caught.value.notes[-1]
    assert note.endswith("returned at once: parity 1 is that of phase 1, which was over")
