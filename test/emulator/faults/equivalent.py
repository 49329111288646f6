# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants that are no faults, and those that only strict checks report, each with the reason."""

from __future__ import annotations

FENCE_INIT = "@%first fence.mbarrier_init.release.cluster;"
ARRIVE = "barrier.cluster.arrive.aligned;"
ARRIVE_RELEASE = "barrier.cluster.arrive.release.aligned;"
WARP_SYNC = "bar.warp.sync 0xffffffff;"
WAIT = "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %ready,"
ACK = "mbarrier.arrive.release.cluster.shared::cluster.b64 _,"

Table = dict[str, dict[str, tuple[str, ...]]]

EQUIVALENT: Table = {
    "The cluster barrier that follows releases the inits, or a CTA barrier does within one CTA.": {
        "one_shot": (f"delete: {FENCE_INIT}",),
        "ring": ("delete: fence.mbarrier_init.release.cluster;",),
        "fan_in": (f"delete: {FENCE_INIT}",),
        "chunks": (f"delete: {FENCE_INIT}",),
        "st_async": (f"delete: {FENCE_INIT}",),
        "hand_over": (f"delete: {FENCE_INIT}",),
        "reinit": ("delete: fence.mbarrier_init.release.cluster;",),
        "acknowledged_exit": ("delete: fence.mbarrier_init.release.cluster;",),
        "global_bulk": (f"delete: {FENCE_INIT}",),
    },
    "A fence of the inits in threads that have none changes nothing.": {
        "one_shot": (f"execute in every thread: {FENCE_INIT}",),
        "fan_in": (f"execute in every thread: {FENCE_INIT}",),
        "chunks": (f"execute in every thread: {FENCE_INIT}",),
        "st_async": (f"execute in every thread: {FENCE_INIT}",),
        "hand_over": (f"execute in every thread: {FENCE_INIT}",),
        "global_bulk": (f"execute in every thread: {FENCE_INIT}",),
    },
    "The cluster barrier that follows synchronises the CTA, too.": {
        "one_shot": ("delete: bar.sync 0;", "each warp alone: bar.sync 0;"),
        "ring": ("delete: bar.sync 0;", "each warp alone: bar.sync 0;"),
        "chunks": ("delete: bar.sync 0;", "each warp alone: bar.sync 0;"),
        "st_async": ("delete: bar.sync 0;", "each warp alone: bar.sync 0;"),
        "hand_over": ("delete: bar.sync 0;", "each warp alone: bar.sync 0;"),
    },
    "The fence of the inits stands before it, and nothing else was written for a peer.": {
        "one_shot": (f"relaxed: {ARRIVE}",),
        "ring": (f"relaxed: {ARRIVE}",),
        "fan_in": (f"relaxed: {ARRIVE}",),
        "hand_over": (f"relaxed: {ARRIVE}",),
        "reinit": (f"relaxed: {ARRIVE_RELEASE}",),
        "acknowledged_exit": (f"relaxed: {ARRIVE_RELEASE}",),
    },
    "At the end of the kernel it only keeps the CTAs alive: nothing is read after it.": {
        "one_shot": (f"relaxed: {ARRIVE} (#1)",),
        "ring": (f"relaxed: {ARRIVE} (#1)",),
        "four_barriers": (f"relaxed: {ARRIVE}",),
        "fan_in": (f"relaxed: {ARRIVE} (#1)",),
        "chunks": (f"relaxed: {ARRIVE} (#1)",),
        "st_async": (f"relaxed: {ARRIVE}",),
        "hand_over": (f"relaxed: {ARRIVE_RELEASE}",),
        "reinit": (f"relaxed: {ARRIVE_RELEASE} (#1)",),
    },
    "The lanes meet again before it anyway, and the cluster barrier that follows orders them.": {
        "ring": (f"delete: {WARP_SYNC} (#2)",),
        "four_barriers": (f"delete: {WARP_SYNC} (#1)",),
        "fan_in": (f"delete: {WARP_SYNC}", f"delete: {WARP_SYNC} (#2)"),
        "chunks": (f"delete: {WARP_SYNC}",),
        "st_async": (f"delete: {WARP_SYNC}",),
        "relay": (f"delete: {WARP_SYNC}",),
        "reinit": (f"delete: {WARP_SYNC}", f"delete: {WARP_SYNC} (#3)"),
        "acknowledged_exit": (f"delete: {WARP_SYNC}",),
    },
    "All bytes were waited for, and nobody reads the sender's memory: both CTAs may leave.": {
        "st_async": (f"delete with its wait: {ARRIVE}", "delete: barrier.cluster.wait.aligned;"),
    },
    "The third phase of each stage is armed, but nobody waits for it.": {
        "ring": (
            "execute in every thread: @%more mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], "
            "512;",
        ),
    },
}

STRICT_ONLY: Table = {
    "Libraries wait at CTA scope for bytes that a peer has copied.": {
        "one_shot": (f"default scope: {WAIT} [full], 0;",),
        "ring": (f"default scope: {WAIT} [%full], %parity;",),
        "four_barriers": (f"default scope: {WAIT} [%bar], %parity;",),
        "fan_in": (f"default scope: {WAIT} [full], 0;",),
        "chunks": (f"default scope: {WAIT} [full], 0;",),
        "st_async": (f"default scope: {WAIT} [full], 0;",),
        "relay": (f"default scope: {WAIT} [full], 0;",),
        "reinit": (f"default scope: {WAIT} [full], 0;",),
        "acknowledged_exit": (f"default scope: {WAIT} [full], %parity;",),
    },
    "Libraries acknowledge to a peer at the default scope, and wait for that at CTA scope.": {
        "ring": (
            f"default scope: {ACK} [%remote_empty];",
            f"default scope: {WAIT} [%empty], %parity;",
        ),
        "acknowledged_exit": (
            f"default scope: @%first {ACK} [%remote_free];",
            f"default scope: {WAIT} [free], %parity;",
        ),
    },
    "Libraries do not fence ordinary reads before a copy overwrites the bytes.": {
        "acknowledged_exit": (
            "delete: fence.proxy.async.shared::cta; (#1)",
            "of global memory: fence.proxy.async.shared::cta; (#1)",
        ),
    },
}


EXAMPLE_NAMES = ("dsmem_copy", "ring", "fan_in", "all_gather")

EXAMPLES: Table = {
    "The cluster barrier that follows releases the inits.": dict.fromkeys(
        EXAMPLE_NAMES, ("delete: fence.mbarrier_init.release.cluster;",)
    ),
    "The fence of the inits stands before it, and nothing else was written for a peer.": (
        dict.fromkeys(EXAMPLE_NAMES, ("relaxed: barrier.cluster.arrive;",))
    ),
    "At the end of the kernel it only keeps the CTAs alive: nothing is read after it.": (
        dict.fromkeys(EXAMPLE_NAMES, ("relaxed: barrier.cluster.arrive; (#1)",))
    ),
    "Between loads and the next copy over what they read, only strict checks ask for it.": {
        "ring": (
            "delete: fence.proxy.async.shared::cta; (#1)",
            "of global memory: fence.proxy.async.shared::cta; (#1)",
        )
    },
}


def listed(table: Table, kernel: str) -> set[str]:
    """Return the names of the mutants of `kernel` in `table`."""
    return {name for kernels in table.values() for name in kernels.get(kernel, ())}
