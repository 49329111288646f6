# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scopes and semantics: who synchronises with whom, through memory, fences and barriers."""

from __future__ import annotations

import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

CLEARED = "@%first st.shared.u32 [%sm], 0; @%first st.shared.u32 [%sm+4], 0;\n"

# Thread 0 of CTA 0 writes data and a flag into CTA 1, whose thread 0 polls the flag.
FLAG = (
    CLEARED
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r0, %sm, 1;
@!%first0 bra RECEIVE; st.shared::cluster.u32 [%r0], 77; SET
RECEIVE: @!%first1 bra DONE;
POLL: GET setp.eq.u32 %p0, %r1, 0; @%p0 bra POLL; SEEN
ld.shared.u32 %r2, [%sm]; st.global.u32 [%out], %r2;
DONE:
"""
)
SET = {
    "release": "st.release.SCOPE.shared::cluster.u32 [%r0+4], 1;",
    "fence": "fence.acq_rel.FENCE; st.relaxed.SCOPE.shared::cluster.u32 [%r0+4], 1;",
    "volatile": "fence.acq_rel.FENCE; st.volatile.shared::cluster.u32 [%r0+4], 1;",
    "atomic": "atom.release.SCOPE.shared::cluster.exch.b32 %r3, [%r0+4], 1;",
}
GET = {
    "acquire": ("ld.acquire.SCOPE.shared::cta.u32 %r1, [%sm+4];", ""),
    "fence": ("ld.relaxed.SCOPE.shared::cta.u32 %r1, [%sm+4];", "fence.acq_rel.FENCE;"),
    "volatile": ("ld.volatile.shared::cta.u32 %r1, [%sm+4];", "fence.acq_rel.FENCE;"),
    "atomic": ("atom.acquire.SCOPE.shared::cta.add.u32 %r1, [%sm+4], 0;", ""),
}


def flag(setter: str, getter: str, set_scope: str, get_scope: str) -> str:
    """Fill in FLAG: a scope is that of the access, or `FENCE/ACCESS`."""

    def scoped(text: str, scope: str) -> str:
        fence, _, access = scope.partition("/")
        return text.replace("FENCE", fence).replace("SCOPE", access or fence)

    get, seen = GET[getter]
    text = FLAG.replace("SET", scoped(SET[setter], set_scope))
    return text.replace("GET", scoped(get, get_scope)).replace("SEEN", scoped(seen, get_scope))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("getter", GET)
@pytest.mark.parametrize("setter", SET)
def test_a_flag_hands_over_between_ctas_at_cluster_scope(
    setter: str, getter: str, schedule: str
) -> None:
    assert run(flag(setter, getter, "cluster", "gpu"), schedule)[0] == 77


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("setter", "getter", "set_scope", "get_scope"),
    [
        ("release", "acquire", "cta", "cta"),
        ("release", "acquire", "cluster", "cta"),
        ("release", "acquire", "cta", "cluster"),
        ("fence", "fence", "cta/cluster", "cta/cluster"),
        ("fence", "fence", "cta/cluster", "cluster"),
        ("fence", "fence", "cluster", "cta/cluster"),
        ("fence", "acquire", "cluster/cta", "cluster"),
        ("volatile", "volatile", "cta", "cta"),
        ("atomic", "atomic", "cta", "cta"),
        ("atomic", "acquire", "cta", "cluster"),
    ],
)
def test_a_flag_of_too_narrow_a_scope_hands_over_nothing(
    setter: str, getter: str, set_scope: str, get_scope: str, schedule: str
) -> None:
    reported("race", flag(setter, getter, set_scope, get_scope), schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_flag_in_one_cta_may_have_the_scope_of_the_cta(schedule: str) -> None:
    body = flag("release", "acquire", "cta", "cta").replace("%r0, %sm, 1", "%r0, %sm, %rank")
    body = body.replace("%first1", "%warp1").replace("%rank0", "%first")
    assert run(body, schedule, cluster=1, block=64)[0] == 77


GLOBAL_FLAG = """mapa.shared::cluster.u32 %r0, %sm, 1; @!%first0 bra RECEIVE;
st.shared::cluster.u32 [%r0], 77; st.release.SCOPE.global.u32 [%out+4], 1;
RECEIVE: @!%first1 bra DONE;
POLL: ld.acquire.SCOPE.global.u32 %r1, [%out+4]; setp.eq.u32 %p0, %r1, 0; @%p0 bra POLL;
ld.shared.u32 %r2, [%sm]; st.global.u32 [%out], %r2;
DONE:
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_flag_in_global_memory_obeys_its_scope_too(schedule: str) -> None:
    body = CLEARED + CLUSTER_SYNC + GLOBAL_FLAG
    assert run(body.replace("SCOPE", "gpu"), schedule)[0] == 77
    reported("race", body.replace("SCOPE", "cta"), schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_atomics_of_two_ctas_on_one_word_need_cluster_scope(schedule: str) -> None:
    body = (
        CLEARED
        + CLUSTER_SYNC
        + "mapa.shared::cluster.u32 %r0, %sm, 1;\n"
        + "@%first atom.relaxed.SCOPE.shared::cluster.add.u32 %r1, [%r0], 5;\n"
        + CLUSTER_SYNC
        + "@%first1 ld.shared.u32 %r2, [%sm]; @%first1 st.global.u32 [%out], %r2;\n"
    )
    assert run(body.replace("SCOPE", "cluster"), schedule)[0] == 10
    assert run(body.replace(".SCOPE", ""), schedule)[0] == 10
    reported("race", body.replace("SCOPE", "cta"), schedule)


# Thread 0 of CTA 0 reads its word, and the peer overwrites it after the cluster barrier.
FENCED_BARRIER = (
    "@%first st.shared.u32 [%sm], 5;\n"
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r0, %sm, 0; @%first0 ld.shared::cluster.u32 %r1, [%r0];
FENCE barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
@%first1 st.shared::cluster.u32 [%r0], 6;
"""
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fence_makes_a_relaxed_cluster_barrier_order_memory(schedule: str) -> None:
    for fence in ("fence.cluster.acq_rel;", "fence.sc.gpu;", "membar.gl;"):
        run(FENCED_BARRIER.replace("FENCE", fence), schedule)
    for fence in ("", "fence.acq_rel.cta;"):
        reported("race", FENCED_BARRIER.replace("FENCE", fence), schedule)


RELAXED_PHASE = (
    "@%first mbarrier.init.shared::cta.b64 [%bar], 1; @%first st.shared.u32 [%sm], 0; bar.sync 0;\n"
    "@%warp1 bra WAIT; @!%first bra DONE; st.shared.u32 [%sm], 9;\n"
    "RELEASE mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%bar]; bra DONE;\n"
    + wait("WAIT", how=".relaxed.cta")
    + "ACQUIRE ld.shared.u32 %r0, [%sm]; st.global.u32 [%out], %r0;\nDONE:\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fences_make_a_relaxed_phase_order_memory(schedule: str) -> None:
    fence, one_cta = "fence.acq_rel.cta;", {"cluster": 1, "block": 64}
    both = RELAXED_PHASE.replace("RELEASE", fence).replace("ACQUIRE", fence)
    assert run(both, schedule, **one_cta)[0] == 9
    for release, acquire in ((fence, ""), ("", fence), ("", "")):
        body = RELAXED_PHASE.replace("RELEASE", release).replace("ACQUIRE", acquire)
        reported("race", body, schedule, **one_cta)


FROM_PEER = (
    INIT
    + "@%first st.shared.u32 [%sm], 0;\n"
    + CLUSTER_SYNC
    + "mapa.shared::cluster.u32 %r0, %sm, 1; mapa.shared::cluster.u32 %r1, %bar, 1;\n"
    "@%rank1 bra WAIT; @!%first bra DONE; st.shared::cluster.u32 [%r0], 9;\n"
    "fence.acq_rel.SCOPE; mbarrier.arrive.relaxed.SCOPE.shared::cluster.b64 _, [%r1]; bra DONE;\n"
    + wait("WAIT", how=".relaxed.SCOPE")
    + "fence.acq_rel.SCOPE; ld.shared.u32 %r2, [%sm]; @%first st.global.u32 [%out], %r2;\nDONE:\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_fences_around_a_relaxed_phase_obey_their_scope_between_ctas(schedule: str) -> None:
    assert run(FROM_PEER.replace("SCOPE", "cluster"), schedule)[0] == 9
    reported("race", FROM_PEER.replace("SCOPE", "cta"), schedule)
    for at in ("fence.acq_rel.", "arrive.relaxed.", "parity.relaxed."):
        body = FROM_PEER.replace(at + "SCOPE", at + "cta", 1).replace("SCOPE", "cluster")
        reported("race", body, schedule)


COPIED = (
    "@%first mbarrier.init.shared::cta.b64 [%bar], 1; bar.sync 0;\n"
    "@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 128;\n"
    "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
    "[%sm], [%in], 128, [%bar];\n" + wait("WAIT", how=".relaxed.cluster") + "FENCE\n"
    "mad.lo.u32 %r0, %tid, 4, %sm; ld.shared.u32 %r1, [%r0];\n"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_fence_after_a_relaxed_wait_makes_copied_bytes_readable(schedule: str) -> None:
    run(COPIED.replace("FENCE", "fence.acq_rel.cluster;"), schedule, cluster=1)
    reported("in-flight", COPIED.replace("FENCE", ""), schedule, cluster=1)


# CTA 0 stores into CTA 1 and hands over; CTA 1 sends the bytes back by a bulk copy, or reads them.
STORED = (
    INIT
    + CLUSTER_SYNC
    + """mapa.shared::cluster.u32 %r6, %sm, %peer; mapa.shared::cluster.u32 %r7, %bar, %peer;
add.u32 %r6, %r6, 4096; mad.lo.u32 %r0, %tid, 16, %sm; mapa.shared::cluster.u32 %r1, %r0, %peer;
@%rank1 bra BACK;
st.shared::cluster.v4.u32 [%r1], {%tid, %tid, %tid, %tid}; fence.proxy.async; bar.warp.sync -1;
@%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;
@%first mbarrier.arrive.release.SCOPE.shared::cluster.b64 _, [%r7];
"""
    + wait("SENT")
    + "ld.shared.u32 %r9, [%r0+4096]; bra DONE;\n"
    + wait("BACK", how=".acquire.SCOPE")
    + "fence.proxy.async; RETURN\nDONE:\n"
)
SEND_BACK = (
    "@%first cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
    "[%r6], [%sm], 512, [%r7];"
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_a_peer_stored_is_copied_on_only_after_cluster_scope(schedule: str) -> None:
    body = STORED.replace("RETURN", SEND_BACK)
    run(body.replace("SCOPE", "cluster"), schedule)
    reported("in-flight", body.replace("SCOPE", "cta"), schedule)
    reported("race", STORED.replace("RETURN", "ld.shared.u32 %r9, [%r0];").replace("SCOPE", "cta"),
             schedule)  # fmt: skip
