# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `mbarrier` family."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.liveness import is_used
from tile_emulator.machine.mbarrier import MAX_COUNT, MBarrier, state_token
from tile_emulator.machine.memory import WINDOW_MASK, WINDOW_SHIFT
from tile_emulator.machine.warp import (
    BLOCKED,
    NEXT,
    YIELD,
    Fragment,
    Mask,
    Warp,
    bits_of,
    first_lane,
    lanes_of,
    mask_of,
)
from tile_emulator.order.clock import CAUSED, NARROW, ONLY_CAUSED, Clock
from tile_emulator.ptx.module import Instruction, Mem, Reg, Sink

_KNOWN = {
    "shared", "shared::cta", "shared::cluster", "b64", "release", "acquire", "relaxed", "cta",
    "cluster", "expect_tx", "noComplete", "parity",
}  # fmt: skip


def mbarrier(d: Decoder, ins: Instruction) -> None:
    """Dispatch on the action, the second piece of the opcode."""
    handler = _ACTIONS.get(ins.parts[1])
    if handler is None or any(p not in _KNOWN for p in ins.parts[2:]):
        raise d.unsupported()
    handler(d, ins)


def shared_addresses(addresses: Any, lanes: Any, generic: bool) -> Any:
    """Take generic addresses out of the shared window; raises Fault for others."""
    if not generic:
        return addresses
    outside = addresses >> WINDOW_SHIFT != np.uint64(1)
    if outside.any():
        i = int(np.argmax(outside))
        raise Fault(
            "address",
            f"0x{int(addresses[i]):x} is not an address of shared memory",
            "give the address of an mbarrier in shared memory",
            int(lanes[i]),
        )
    return addresses & WINDOW_MASK


class Places:
    """Finds the barriers that the lanes of a step name."""

    def __init__(self, d: Decoder, ins: Instruction, operand: int) -> None:
        self.ins = ins
        self.local_form = "shared::cluster" not in ins.parts
        self.generic = not any(p.startswith("shared") for p in ins.parts)
        self.address = d.address(ins.operands[operand])

    def flat(self, w: Warp, m: Mask) -> tuple[Any, Any]:
        """Return the active lanes and the places of their barriers."""
        w.at = self.ins
        lanes = lanes_of(m)
        addresses = self.address(w)
        if m is not True:
            addresses = addresses[lanes]
        addresses = shared_addresses(addresses, lanes, self.generic)
        return lanes, w.cta.cluster.flat(w, lanes, addresses, 8, self.local_form)

    def groups(self, w: Warp, m: Mask) -> list[tuple[int, MBarrier]]:
        """Return the barriers of the active lanes, and the lanes of each, by the first of them.

        Checks that they may be used.
        """
        w.at = self.ins
        addresses = self.address(w)
        if self.generic:
            lanes, inside = lanes_of(m), addresses.copy()
            inside[lanes] = shared_addresses(addresses[lanes], lanes, True)
            addresses = inside
        found = w.cta.cluster.use_barriers(w, bits_of(m), addresses, self.local_form, self.ins.line)
        return cast("list[tuple[int, MBarrier]]", found)

    def barriers(self, w: Warp, m: Mask) -> list[tuple[int, MBarrier]]:
        """Return lane and barrier for each active lane; checks that they may be used."""
        groups = self.groups(w, m)
        if len(groups) == 1:
            barrier = groups[0][1]
            return [(lane, barrier) for lane in lanes_of(m).tolist()]
        return [
            (lane, next(barrier for bits, barrier in groups if bits >> lane & 1))
            for lane in lanes_of(m).tolist()
        ]


def clock_of(w: Warp, lane: int) -> Clock:
    """Return what one lane knows."""
    return w.clock_of(lane)


def live_barrier(w: Warp, lane: int, place: int) -> MBarrier:
    """Return the barrier at a place of shared memory; raises Fault when none was initialised."""
    return cast(MBarrier, w.cta.cluster.barrier_at(w, lane, place))


def check_init(w: Warp, barrier: MBarrier, clock: Clock, lane: int) -> None:
    """The init must be visible to the lane."""
    if not barrier.has_visible_init(clock, w.thread0 + lane):
        w.cta.cluster.conflicts.barrier_before_init(w.thread0 + lane, barrier.place)


def check_unused(w: Warp, barrier: MBarrier, clock: Clock, lane: int) -> None:
    """What other threads have done with the barrier must have happened before its inval."""
    for thread, epoch in barrier.users:
        if thread != w.thread0 + lane and clock.get(CAUSED, thread) < epoch:
            name = w.cta.cluster.thread_name(thread)
            w.cta.cluster.report(
                Fault(
                    "uninitialised-barrier",
                    f"{barrier.name} is invalidated although {name} may still use it",
                    "put a barrier between the last use and mbarrier.inval",
                    lane,
                )
            )


def init(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.init`."""
    places = Places(d, ins, 0)
    count = d.source(ins.operands[1], "u32")

    def step(w: Warp, m: Mask) -> None:
        lanes, flat = places.flat(w, m)
        cluster = w.cta.cluster
        for lane, place in zip(lanes.tolist(), flat.tolist(), strict=False):
            value = int(w.u[count][lane])
            offset = place % cluster.shared_bytes
            if not 1 <= value <= MAX_COUNT:
                raise Fault(
                    "arrivals",
                    f"mbarrier.init with a count of {value}",
                    f"give the number of arrivals of a phase, 1 to {MAX_COUNT}",
                    lane,
                )
            old = w.cta.mbarriers.get(offset)
            if old is not None:
                raise Fault(
                    "uninitialised-barrier",
                    f"{old.name}, initialised at PTX line {old.init_line}, is initialised again "
                    "without mbarrier.inval",
                    "let one thread initialise it once, or execute mbarrier.inval first",
                    lane,
                )
            column = cluster.barrier_columns.get(place)
            if column is None:
                column = cluster.barrier_columns[place] = cluster.new_column()
            thread = w.thread0 + lane
            here = cluster.shared[place : place + 8]
            # Other bytes than those there: an init is no write of the same value.
            cluster.write(w, lane, place, (~here).tobytes(), ins.line)
            cluster.mark(place, place + 8, barrier=False, written=False)
            here[:] = 0
            barrier = MBarrier(
                w.cta,
                offset,
                value,
                column,
                cluster.barrier_bases.get(place, 0),
                thread,
                int(cluster.epoch[thread]),
            )
            barrier.init_line = ins.line
            w.cta.mbarriers[offset] = barrier
            cluster.begin_barrier(barrier)
        cluster.epoch[w.thread0 + lanes] += np.uint32(1)

    d.emit_visible(step)


def invalidate(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.inval`."""
    places = Places(d, ins, 0)

    def step(w: Warp, m: Mask) -> None:
        cluster = w.cta.cluster
        for lane, barrier in places.barriers(w, m):
            place = barrier.cta.rank * cluster.shared_bytes + barrier.offset
            cluster.barrier_bases[place] = barrier.base + barrier.phase + 1
            if w.cta.mbarriers.get(barrier.offset) is not barrier:
                raise Fault(
                    "uninitialised-barrier",
                    f"{barrier.name} is invalidated twice",
                    "let one thread execute mbarrier.inval",
                    lane,
                )
            check_unused(w, barrier, clock_of(w, lane), lane)
            if barrier.on_the_way or not barrier.knows_previous(
                clock_of(w, lane), w.thread0 + lane
            ):
                w.cta.cluster.report(
                    Fault(
                        "in-flight",
                        f"{barrier.name} is invalidated before its copies were observed to "
                        "complete",
                        "wait for the copies first",
                        lane,
                        barrier.history(),
                    )
                )
            del w.cta.mbarriers[barrier.offset]
            cluster.end_barrier(barrier, w.thread0 + lane, places.ins.line)
            cluster.epoch[w.thread0 + lane] += np.uint32(1)

    d.emit_visible(step)


def expect(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.expect_tx`."""
    places = Places(d, ins, 0)
    nbytes = d.source(ins.operands[1], "u32")

    def step(w: Warp, m: Mask) -> None:
        for lane, barrier in places.barriers(w, m):
            check_previous(w, barrier, lane)
            barrier.expect(int(w.u[nbytes][lane]), lane, w.thread0 + lane)
            barrier.settle(lane)

    d.emit_visible(step)


def check_previous(w: Warp, barrier: MBarrier, lane: int) -> None:
    if not barrier.knows_previous(clock_of(w, lane), w.thread0 + lane):
        w.cta.cluster.report(
            Fault(
                "arrivals",
                f"bytes are counted for phase {barrier.phase} of {barrier.name} by a thread that "
                "has "
                f"not observed that phase {barrier.phase - 1} is complete",
                "wait for each phase before arming the next",
                lane,
                barrier.history(),
            )
        )


def complete(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.complete_tx`: count bytes as a copy would that has landed."""
    places = Places(d, ins, 0)
    nbytes = d.source(ins.operands[1], "u32")

    def step(w: Warp, m: Mask) -> None:
        cluster = w.cta.cluster
        for lane, barrier in places.barriers(w, m):
            check_previous(w, barrier, lane)
            given = cluster.release(w, 1 << lane).kept(ONLY_CAUSED)
            barrier.complete(int(w.u[nbytes][lane]), given, lane)
        cluster.scheduler.writes += 1

    d.emit_visible(step)


def arrive(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.arrive`, `arrive_drop`, with or without `expect_tx`."""
    operands = ins.operands
    has_state = not isinstance(operands[0], Mem)
    first = 1 if has_state else 0
    places = Places(d, ins, first)
    expecting = "expect_tx" in ins.parts
    drop = ins.parts[1] == "arrive_drop"
    relaxed = "relaxed" in ins.parts
    incomplete = "noComplete" in ins.parts
    wide = "cluster" in ins.parts
    extra = d.source(operands[first + 1], "u32") if len(operands) > first + 1 else None
    target = None
    if has_state and not isinstance(operands[0], Sink):
        target = d.target(operands[0], "b64")

    def step(w: Warp, m: Mask) -> None:
        found = places.barriers(w, m)
        cluster = w.cta.cluster
        bits = bits_of(m)
        same = len({id(b) for _, b in found}) == 1 and len(w.groups) == 1
        together = cluster.release(w, bits) if same else None
        for lane, barrier in found:
            clock = clock_of(w, lane)
            number = 1 if extra is None else int(w.u[extra][lane])
            if expecting:
                check_previous(w, barrier, lane)
                barrier.expect(number, lane)
                number = 1
            own = together or cluster.release(w, 1 << lane)
            released = relaxed_clock(own, w.fences.any) if relaxed else own
            for_cta = released
            if barrier.cta is not w.cta:
                strict = cluster.launch.checks.strict
                for_cta = own.kept(ONLY_CAUSED) if strict else released.kept(NARROW)
                if relaxed:
                    released = relaxed_clock(own, w.fences.wide)
                released = released if wide else for_cta
            check_count(barrier, number, incomplete, lane)
            token = state_token(barrier.phase, barrier.pending)
            if drop:
                barrier.count -= number
            thread = w.thread0 + lane
            barrier.arrive(number, released, for_cta, clock, thread, lane)
            if target is not None:
                w.u[target][lane] = token
        cluster.scheduler.writes += 1

    d.emit_visible(step)


def check_count(barrier: MBarrier, number: int, incomplete: bool, lane: int) -> None:
    """An arrival counts something, and one with `.noComplete` leaves something to come."""
    if number < 1 or (incomplete and number == barrier.pending):
        what = "completes the phase" if number else "counts 0"
        raise Fault(
            "arrivals",
            f"an arrival at {barrier.name} {what}"
            + (" although it says .noComplete" if number else ""),
            "give a count of at least 1, and .noComplete only where other arrivals are to come",
            lane,
            barrier.history(),
        )


def relaxed_clock(clock: Clock, fence: Clock | None) -> Clock:
    """Return what a relaxed arrival hands over: what the fence before it released."""
    kept = clock.kept(ONLY_CAUSED)
    return kept if fence is None else kept.joined(fence)


def wait(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.test_wait` and `try_wait`, by parity or by state.

    Either may return false although the phase is complete, unless the thread knows that it is:
    under `late` each does once, under `random` now and then. A wait whose answer decides nothing
    is no wait under any schedule.
    """
    places = Places(d, ins, 1)
    parity = "parity" in ins.parts
    state = d.source(ins.operands[2], "u32" if parity else "b64")
    target = d.target(ins.operands[0], "pred")
    blocking = ins.parts[1] == "try_wait"
    relaxed = "relaxed" in ins.parts
    cta_scope = "cluster" not in ins.parts
    answer = ins.operands[0]
    ignored = isinstance(answer, Reg) and not is_used(d.function, ins, answer.name)

    def ask(fragment: Fragment, m: Mask) -> int:
        places.barriers(fragment.warp, m)
        return NEXT

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        cluster = w.cta.cluster
        groups = places.groups(w, m)
        fails = cluster.scheduler.fails(w, bits_of(m), groups[0][1])
        values = w.u[state]
        passed, missed = 0, False
        phases: list[tuple[int, MBarrier, int]] = []
        for bits, barrier in groups:
            over, misses, found = barrier.ask(w, bits, values, parity, fails, ins.line)
            passed |= over
            missed |= misses
            phases += [(lanes, barrier, phase) for phase, lanes in found]
        if len(groups) > 1:
            phases.sort(key=lambda each: first_lane(each[0]))
        for bits, barrier, phase in phases:
            barrier.waited(w, phase, bits)
            done = barrier.clock_of(phase, cta_scope)
            if done is not None:
                if relaxed:
                    w.fences.see(barrier.clock_of(phase, True), done)
                    done = done.kept(ONLY_CAUSED)
                cluster.acquire(w, bits, done)
        np.copyto(w.u[target], mask_of(passed), where=m)
        if passed:
            w.keep.pop("timed out", None)
        if passed or (missed and blocking) or fragment.refused:
            fragment.wait, fragment.refused = None, False
            return NEXT
        fragment.wait = groups[0][1]
        fragment.also = tuple(barrier for _, barrier in groups) if len(groups) > 1 else ()
        return BLOCKED if blocking else YIELD

    d.control(ask if ignored else step)


def pending_count(d: Decoder, ins: Instruction) -> None:
    """`mbarrier.pending_count` of a state."""
    state = d.source(ins.operands[1], "b64")
    target = d.target(ins.operands[0], "u32")
    count = d.compute("and.64", 64, state, d.slots.constant(64, MAX_COUNT))
    d.operate("cvt.u32.u64", target, count)


_ACTIONS = {
    "init": init,
    "inval": invalidate,
    "expect_tx": expect,
    "complete_tx": complete,
    "arrive": arrive,
    "arrive_drop": arrive,
    "test_wait": wait,
    "try_wait": wait,
    "pending_count": pending_count,
}
