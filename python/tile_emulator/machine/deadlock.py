# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Explain a cluster in which nothing can go on: who waits for what, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_emulator import advice
from tile_emulator._tile_emulator import NamedBarrier
from tile_emulator.errors import Fault
from tile_emulator.machine.mbarrier import MBarrier
from tile_emulator.machine.warp import (
    AlignedWait,
    Fragment,
    LaneWait,
    first_lane,
    lanes_of,
    mask_of,
)

if TYPE_CHECKING:
    from tile_emulator.machine.cluster import Cluster


def deadlock(cluster: Cluster, stuck: list[Fragment]) -> Fault:
    """Return the fault; it is reported at the wait from which the others follow."""
    chosen = root(cluster, stuck)
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
    message, what = cause(cluster, chosen)
    return Fault("deadlock", message, what, lane, (*_missing(cluster, wait), *notes))


def root(cluster: Cluster, stuck: list[Fragment]) -> Fragment:
    """Follow who waits for whom, to the wait for what nobody is left to do."""
    waits: dict[int, Fragment] = {}
    where: dict[int, int] = {}
    for fragment in stuck:
        key = _key(fragment)
        waits.setdefault(key, fragment)
        for lane in lanes_of(fragment.mask).tolist():
            where[fragment.warp.thread0 + lane] = key
    behind: dict[int, set[int]] = {}
    unknown = []
    for key, fragment in waits.items():
        makers = _makers(cluster, fragment)
        if makers is None:
            unknown.append(key)
        behind[key] = {where[t] for t in makers or () if t in where} - {key}
    roots = [key for key in waits if not behind[key] and key not in unknown]
    roots = roots or [key for key in waits if _in_circle(behind, key)] or unknown
    return min((waits[key] for key in roots), key=_weight)


def _key(fragment: Fragment) -> int:
    """Name what a fragment waits for; lanes at one aligned instruction wait for the same."""
    if isinstance(fragment.wait, AlignedWait):
        return hash((id(fragment.warp), fragment.pc))
    return id(fragment) if fragment.wait is None else id(fragment.wait)


def _in_circle(behind: dict[int, set[int]], start: int) -> bool:
    """Tell whether a wait follows from itself, by way of others."""
    seen, work = set(behind[start]), list(behind[start])
    while work:
        more = behind[work.pop()] - seen
        work += more
        seen |= more
    return start in seen


def _makers(cluster: Cluster, fragment: Fragment) -> list[int] | None:
    """Return the threads that may still do what a wait is for, or None where it may be anyone.

    For an mbarrier these are threads that arrived, or sent bytes, in earlier phases only.
    """
    wait = fragment.wait
    warp = fragment.warp
    if isinstance(wait, MBarrier):
        done = wait.arrived if wait.pending else wait.sent
        return [thread for thread, phase in done.items() if phase < wait.phase] if done else None
    if isinstance(wait, LaneWait):
        key = _key(fragment)
        here = sum(f.bits for f in warp.fragments if _key(f) == key)
        missing = wait.bits & ~here & warp.live
        return [warp.thread0 + lane for lane in lanes_of(mask_of(missing)).tolist()]
    if isinstance(wait, NamedBarrier):
        found = []
        for other in warp.cta.warps:
            if wait.expected is None or wait.is_used_by(other):
                missing = other.live & ~wait.members_of(other)
                found += [other.thread0 + lane for lane in lanes_of(mask_of(missing)).tolist()]
        return found
    if wait is cluster:
        here = cluster.barrier_of == cluster.barrier_generation
        return [thread for thread, arrived in enumerate(here.tolist()) if not arrived]
    return None


def _weight(fragment: Fragment) -> int:
    """Order waits by how much they explain, the best first."""
    wait = fragment.wait
    if isinstance(wait, AlignedWait):
        return 9
    if isinstance(wait, LaneWait):
        return 0
    if isinstance(wait, MBarrier):
        if wait.pending:
            return 1 if wait.pending < wait.count or wait.received else 2
        return 1 if wait.received else 3
    return 4 if wait is None else 5 if isinstance(wait, NamedBarrier) else 6


def _missing(cluster: Cluster, wait: object) -> list[str]:
    """Say which threads could have made the arrivals that an mbarrier lacks, and why none will."""
    if not isinstance(wait, MBarrier) or not wait.pending:
        return []
    before = [thread for thread, phase in wait.arrived.items() if phase < wait.phase]
    ended = [thread for thread in before if not cluster.is_live(thread)]
    if ended:
        more = f" and {len(ended) - 1} more" if len(ended) > 1 else ""
        return [f"{cluster.thread_name(ended[0])}{more}: arrived in an earlier phase, and ended"]
    if not before and wait.arrived:
        return ["no other thread has ever arrived on it"]
    return []


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
        if wait.pending and not wait.expected and wait.received:
            return (
                f"{what}received {wait.received} bytes, but nothing armed it",
                advice.ARM,
            )
        if wait.pending:
            return (
                f"{what}{wait.count - wait.pending} of {wait.count} arrivals came",
                advice.COUNT,
            )
        if not wait.received:
            return (
                f"{what}armed with {wait.expected} bytes, received none",
                advice.COPIES,
            )
        return (
            f"{what}armed with {wait.expected} bytes, received {wait.received}",
            advice.BYTES,
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
