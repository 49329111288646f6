# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers of CTAs and clusters, and fences."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.program import CtaBarrier
from tile_emulator.machine import access
from tile_emulator.machine.fences import WIDE
from tile_emulator.machine.warp import (
    BLOCKED,
    NEXT,
    Fragment,
    Mask,
    Warp,
    bits_of,
    first_lane,
    lanes_of,
)
from tile_emulator.order.clock import SEEN
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
        votes = yes = 0
        lane = first_lane(bits)
        if not w.waits_at_barrier(fragment):
            if aligned and (then := check_aligned(fragment, bits, ins)) != NEXT:
                return then
            if predicate is not None:
                given = w.u[predicate][lanes_of(m)]
                votes, yes = given.size, int(given.sum())
        expected = None if count is None else int(w.u[count][lane])
        waits = action != "arrive"
        barrier = w.cta.cluster.sync(
            w, fragment, bits, int(w.u[number][lane]), expected, votes, yes, waits
        )
        if barrier is not None:
            fragment.wait = barrier
            return BLOCKED
        if target is not None:
            votes, yes = w.last_votes
            value: Any = yes
            if reduction != "popc":
                value = yes == votes if reduction == "and" else yes > 0
            np.copyto(w.u[target], np.asarray(value, dtype=w.u[target].dtype), where=m)
        return NEXT

    d.control(step)
    if predicate is None and ins.guard is None:
        d.barrier = CtaBarrier(number, -1 if count is None else count, action == "sync", aligned)


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
