# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies to one's own rank, and to ranks that do not exist."""

from __future__ import annotations

import pytest
from two_ctas import CLUSTER_SYNC, INIT, SCHEDULES, reported, run, wait

COPIES = {
    "st.async": "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 "
    "[%r1], {7, 8, 9, %rank}, [%r2];",
    "bulk copy": "fence.proxy.async; cp.async.bulk.shared::cluster.shared::cta"
    ".mbarrier::complete_tx::bytes [%r1], [%sm], 16, [%r2];",
}


def to_rank(rank: str, copy: str, offset: int = 64) -> str:
    """Send 16 bytes to `%sm+offset` of a rank, and read them there."""
    return (
        INIT
        + "@%first st.shared.v4.b32 [%sm], {7, 8, 9, %rank};\n"
        + CLUSTER_SYNC
        + f"""mov.u32 %r0, {rank}; add.u32 %r1, %sm, {offset};
mapa.shared::cluster.u32 %r1, %r1, %r0; mapa.shared::cluster.u32 %r2, %bar, %r0;
@!%first bra DONE; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 16; {COPIES[copy]}
"""
        + wait("WAIT", how=".acquire.cluster")
        + "ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%sm+64];\n"
        "mad.wide.u32 %q0, %rank, 16, %out; st.global.v4.b32 [%q0], {%r3, %r4, %r5, %r6};\nDONE:\n"
    )


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_to_the_own_rank_arrives_like_one_to_a_peer(copy: str, schedule: str) -> None:
    own = run(to_rank("%rank", copy), schedule)
    assert own[:8].tolist() == [7, 8, 9, 0, 7, 8, 9, 1]
    assert run(to_rank("%peer", copy), schedule)[:8].tolist() == [7, 8, 9, 1, 7, 8, 9, 0]


def test_strict_checks_report_only_a_bulk_copy_to_the_own_rank() -> None:
    run(to_rank("%rank", "st.async"), "eager", checks="strict")
    run(to_rank("%peer", "bulk copy"), "eager", checks="strict")
    error = reported("address", to_rank("%rank", "bulk copy"), "eager", checks="strict")
    assert "own CTA (rank 1), where PTX wants another one" in error.message


def test_a_bulk_copy_within_a_cta_must_not_overlap() -> None:
    def body(offset: int) -> str:
        text = to_rank("%rank", "bulk copy", offset).replace("[%sm], 16,", "[%sm], 32,")
        return text.replace("[%bar], 16", "[%bar], 32").replace("[%sm+64]", f"[%sm+{offset}]")

    assert run(body(32), "eager")[0] == 7
    for offset in (0, 16):
        message = reported("address", body(offset), "eager").message
        assert message == "a bulk copy within CTA rank 1 reads and writes the same bytes"


@pytest.mark.parametrize("copy", COPIES)
def test_a_cluster_of_one_has_no_rank_to_copy_to(copy: str) -> None:
    error = reported("address", to_rank("%rank", copy), "eager", cluster=1)
    assert error.message == f"a {copy} writes to its own CTA, the only one of its cluster"


NO_RANK = [("2", "2"), ("15", "15"), ("254", "254"), ("255", "above 254"), ("-1", "above 254")]


@pytest.mark.parametrize(("rank", "name"), NO_RANK)
@pytest.mark.parametrize(
    "use",
    [
        *COPIES.values(),
        "ld.shared::cluster.u32 %r9, [%r1];",
        "st.shared::cluster.u32 [%r1], 1;",
        "atom.shared::cluster.add.u32 %r9, [%r1], 1;",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];",
    ],
)
def test_a_rank_that_does_not_exist_is_named(use: str, rank: str, name: str) -> None:
    body = to_rank(rank, "st.async").replace(COPIES["st.async"], use)
    error = reported("address", body, "eager")
    assert error.message.startswith(f"there is no CTA rank {name} in a cluster of 2 (shared addr")


def test_one_rank_of_two_that_does_not_exist_is_named_first() -> None:
    body = to_rank("%peer", "st.async").replace("%r2, %bar, %r0", "%r2, %bar, 5")
    assert "there is no CTA rank 5" in reported("address", body, "eager").message
