# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explain a cluster in which nothing can go on: who waits for what, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_emulator.errors import Fault
from tile_emulator.machine.cta import NamedBarrier
from tile_emulator.machine.mbarrier import MBarrier
from tile_emulator.machine.warp import AlignedWait, Fragment, LaneWait, first_lane

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster


def deadlock(cluster: Cluster, stuck: list[Fragment]) -> Fault:
    """Return the fault; it is reported at the fragment whose wait explains most."""
    chosen = min(stuck, key=_weight)
    cluster.scheduler.current = chosen
    warp = chosen.warp
    warp.at = chosen.at
    lane = first_lane(chosen.bits)
    wait = chosen.wait
    alike: dict[str, list[int]] = {}
    for fragment in stuck:
        threads = alike.setdefault(_describe(cluster, fragment), [])
        threads += [fragment.warp.thread0 + i for i in range(32) if fragment.bits >> i & 1]
    notes = []
    for text, threads in list(alike.items())[:8]:
        more = f" and {len(threads) - 1} more" if len(threads) > 1 else ""
        notes.append(f"{cluster.thread_name(threads[0])}{more}: {text}")
    if isinstance(wait, LaneWait):
        missing = wait.bits & ~chosen.bits & warp.live
        return Fault(
            "divergence",
            f"{wait.name} waits for lanes that do not come: mask 0x{wait.bits:08x}, here are "
            f"0x{chosen.bits:08x}, missing 0x{missing:08x}",
            "execute it where all lanes of its mask are together, or give a smaller mask",
            lane,
            tuple(notes),
        )
    message, advice = cause(cluster, chosen)
    return Fault("deadlock", message, advice, lane, tuple(notes))


def _weight(fragment: Fragment) -> int:
    wait = fragment.wait
    if isinstance(wait, AlignedWait):
        return 9
    if isinstance(wait, LaneWait):
        return 0
    if isinstance(wait, MBarrier):
        return 1 if wait.tx else 2
    return 3 if isinstance(wait, NamedBarrier) else 4


def _describe(cluster: Cluster, fragment: Fragment) -> str:
    wait = fragment.wait
    if isinstance(wait, MBarrier):
        return f"waiting on {wait.history()[0]}"
    if isinstance(wait, NamedBarrier):
        expected = wait.expected or fragment.warp.cta.live_threads
        return f"waiting at a CTA barrier, {wait.arrived} of {expected} threads are there"
    if isinstance(wait, LaneWait):
        return f"waiting for lanes 0x{wait.bits & ~fragment.bits:08x} at {wait.name}"
    if wait is cluster:
        live = sum(cta.live_threads for cta in cluster.ctas)
        return (
            f"waiting at the cluster barrier, {cluster.barrier_arrived} of {live} threads are there"
        )
    return "polling, and nothing changes"


def cause(cluster: Cluster, chosen: Fragment) -> tuple[str, str]:
    """Return why the wait of a fragment never ends, and what to do about it."""
    wait = chosen.wait
    if isinstance(wait, MBarrier):
        what = f"the wait for phase {wait.phase} of {wait.name} never ends: "
        if wait.tx > 0:
            return (
                f"{what}armed with {wait.expected} bytes, received {wait.received}",
                "arm the phase with exactly the bytes that its copies bring",
            )
        if wait.pending and not wait.expected and wait.received:
            return (
                f"{what}received {wait.received} bytes, but nothing armed it",
                "execute mbarrier.arrive.expect_tx once for the phase",
            )
        return (
            f"{what}{wait.count - wait.pending} of {wait.count} arrivals came",
            "check the count given to mbarrier.init, and who arrives on which CTA's barrier",
        )
    if isinstance(wait, NamedBarrier):
        expected = wait.expected or chosen.warp.cta.live_threads
        return (
            f"a CTA barrier never opens: {wait.arrived} of {expected} threads arrive",
            "let all threads that the barrier counts reach it",
        )
    if wait is cluster:
        live = sum(cta.live_threads for cta in cluster.ctas)
        return (
            f"the cluster barrier never opens: {cluster.barrier_arrived} of {live} threads arrive",
            "let all threads of all CTAs of the cluster reach it",
        )
    return (
        "a thread polls for a change that no thread will make",
        "check that the other side writes the flag or completes the barrier",
    )
