# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of CTAs and clusters, and fences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.machine import access
from tile_emulator.machine.cta import CTA, NamedBarrier
from tile_emulator.machine.fences import WIDE
from tile_emulator.machine.warp import BLOCKED, NEXT, Fragment, Mask, Warp, bits_of, lanes_of
from tile_emulator.order.clock import SEEN, joined
from tile_emulator.ptx.module import Instruction


def check_aligned(fragment: Fragment, bits: int, ins: Instruction) -> int:
    """An aligned instruction must be executed by all threads of the warp together.

    Returns NEXT, or how to go on where lanes that were let go at a join must come first.
    """
    missing = fragment.warp.live & ~bits
    if missing:
        if fragment.warp.released and bits == fragment.bits:
            return fragment.warp.gather(fragment, ins.opcode)
        lane = (bits & -bits).bit_length() - 1
        raise Fault(
            "divergence",
            f"{ins.opcode} is executed by lanes 0x{bits:08x} only, 0x{missing:08x} are elsewhere",
            "move it out of divergent code, or let the whole warp take the same way",
            lane,
        )
    return NEXT


def cta_barrier(d: Decoder, ins: Instruction) -> None:
    """`bar`, `barrier` (and `.cta`): sync, arrive, red."""
    if ins.parts[1] == "warp":
        from tile_emulator.instructions.lanes import warp_barrier

        warp_barrier(d, ins)
        return
    if ins.parts[1] == "cluster":
        cluster_barrier(d, ins)
        return
    parts = [p for p in ins.parts[1:] if p not in ("cta", "aligned")]
    action = parts[0]
    aligned = ins.family == "bar" or "aligned" in ins.parts
    operands = list(ins.operands)
    target = predicate = None
    reduction = ""
    if action == "red":
        reduction = parts[1]
        target = d.target(operands.pop(0), "u32" if reduction == "popc" else "pred")
        predicate = d.source(operands.pop(), "pred")
    elif action not in ("sync", "arrive"):
        raise d.unsupported()
    number = d.source(operands[0], "u32")
    count = d.source(operands[1], "u32") if len(operands) > 1 else None

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        bits = bits_of(m)
        cta = w.cta
        key = ("barrier", id(fragment))
        waiting = w.keep.get(key)
        if waiting is None:
            if aligned and (then := check_aligned(fragment, bits, ins)) != NEXT:
                return then
            lane = (bits & -bits).bit_length() - 1
            barrier = named_barrier(cta, int(w.u[number][lane]), lane)
            expected = None if count is None else int(w.u[count][lane])
            generation = barrier.generation
            votes = [] if predicate is None else w.u[predicate][lanes_of(m)].tolist()
            arrive(w, barrier, bits, expected, votes, lane)
            if action == "arrive":
                return NEXT
            waiting = (barrier, generation)
            w.keep[key] = waiting
        barrier, generation = waiting
        if barrier.generation == generation:
            fragment.wait = barrier
            return BLOCKED
        del w.keep[key]
        assert barrier.result is not None
        clock, votes = barrier.result
        cta.cluster.acquire(w, bits, clock)
        if target is not None:
            value: Any = sum(votes)
            if reduction != "popc":
                value = all(votes) if reduction == "and" else any(votes)
            np.copyto(w.u[target], np.asarray(value, dtype=w.u[target].dtype), where=m)
        return NEXT

    d.control(step)


def named_barrier(cta: CTA, number: int, lane: int) -> NamedBarrier:
    if number > 15:
        raise Fault("address", f"CTA barrier {number} does not exist", "use 0 to 15", lane)
    return cta.barriers.setdefault(number, NamedBarrier())


def arrive(
    w: Warp,
    barrier: NamedBarrier,
    bits: int,
    expected: int | None,
    votes: list[bool],
    lane: int,
) -> None:
    """Count the arrival of lanes at a named barrier."""
    cta = w.cta
    if barrier.arrived and barrier.expected != expected:
        everyone = 32 * cta.warp_count
        if (barrier.expected or everyone) != (expected or everyone):
            raise Fault(
                "arrivals",
                f"a CTA barrier is used with {expected or 'all'} threads while it waits for "
                f"{barrier.expected or 'all'}",
                "give the same count at every use of one barrier",
                lane,
            )
        # No count means all threads: the two are the same, and a count wants whole warps.
        expected = everyone
        barrier.arrived = sum(_counted(cta.warps[i], b) for i, b in barrier.members.items())
    if expected is not None and (expected % 32 or expected == 0 or expected > 32 * cta.warp_count):
        raise Fault(
            "arrivals",
            f"a CTA barrier counts {expected} threads of a CTA with {32 * cta.warp_count}",
            "give a multiple of 32 of at most the CTA's threads",
            lane,
        )
    again = barrier.members.get(w.index, 0) & bits
    if again:
        raise Fault(
            "arrivals",
            "a thread arrives twice at one phase of a CTA barrier",
            "wait for the barrier before arriving again",
            lane,
        )
    barrier.users.add(w.index)
    barrier.members[w.index] = barrier.members.get(w.index, 0) | bits
    barrier.expected = expected
    barrier.clock = joined(barrier.clock, cta.cluster.release(w, bits))
    # The hardware counts whole warps where a count is given.
    barrier.arrived += bits.bit_count() if expected is None else _counted(w, bits)
    barrier.votes.extend(votes)
    if expected is not None and barrier.arrived > expected:
        raise Fault(
            "arrivals",
            f"{barrier.arrived} threads arrive at a CTA barrier for {expected}",
            "let exactly the counted threads use the barrier, or take another number",
            lane,
        )
    cta.complete_if_full(barrier)


def _counted(w: Warp, bits: int) -> int:
    """Return how many threads lanes count for: missing and exited lanes come with the others."""
    return 32 if bits == w.live else bits.bit_count()


def cluster_barrier(d: Decoder, ins: Instruction) -> None:
    """`barrier.cluster.arrive` and `.wait`."""
    action = ins.parts[2]
    aligned = "aligned" in ins.parts
    relaxed = "relaxed" in ins.parts
    if action not in ("arrive", "wait"):
        raise d.unsupported()

    def arrive_step(fragment: Fragment, m: Mask) -> int:
        bits = bits_of(m)
        if aligned and (then := check_aligned(fragment, bits, ins)) != NEXT:
            return then
        fragment.warp.cta.cluster.cluster_arrive(fragment.warp, bits, relaxed)
        return NEXT

    def wait_step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        bits = bits_of(m)
        cluster = w.cta.cluster
        if aligned and (then := check_aligned(fragment, bits, ins)) != NEXT:
            return then
        threads = w.thread0 + lanes_of(m)
        generation = int(cluster.barrier_of[threads].min())
        if generation < 0:
            raise Fault(
                "arrivals",
                "barrier.cluster.wait is executed without an arrive before it",
                "execute barrier.cluster.arrive first",
                int(np.argmin(cluster.barrier_of[threads])),
            )
        if generation == cluster.barrier_generation:
            fragment.wait = cluster
            return BLOCKED
        cluster.barrier_of[threads] = -1
        assert cluster.barrier_done is not None
        cluster.acquire(w, bits, cluster.barrier_done)
        return NEXT

    if action == "arrive":
        d.control(arrive_step)
    else:
        d.control(wait_step)


def fence(d: Decoder, ins: Instruction) -> None:
    """`fence` and `membar`, those of proxies and of mbarrier init among them."""
    parts = ins.parts[1:]
    if parts[:1] == ("mbarrier_init",):
        d.emit(fence_init)
    elif parts[:2] == ("proxy", "async"):
        if "global" not in parts:
            d.emit(lambda w, m: w.cta.cluster.proxy_fence(w, bits_of(m)))
    elif parts[:1] == ("proxy",):
        return
    else:
        if any(p not in _FENCES and not p.startswith("sync_restrict") for p in parts):
            raise d.unsupported()
        wide = not WIDE.isdisjoint(parts)
        d.emit(lambda w, m: access.thread_fence(w, bits_of(m), wide))


_FENCES = {"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys", "gl"}


def fence_init(w: Warp, m: Mask) -> None:
    """`fence.mbarrier_init`: inits known so far travel with relaxed cluster barriers too."""
    cluster = w.cta.cluster
    lanes = lanes_of(m)
    for lanes_bits, clock in w.lane_clocks(bits_of(m)):
        threads = [w.thread0 + i for i in range(32) if lanes_bits >> i & 1]
        for cta in cluster.ctas:
            for barrier in cta.mbarriers.values():
                known = clock.get(SEEN, barrier.init_thread) >= barrier.init_epoch
                for thread in threads:
                    if known or thread == barrier.init_thread:
                        barrier.add_fence(thread, int(cluster.epoch[thread]))
    cluster.epoch[w.thread0 + lanes] += np.uint32(1)
