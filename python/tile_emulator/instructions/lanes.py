# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions in which the lanes of a warp take part together.

A `.sync` instruction waits until all live lanes of its mask execute it with that mask. Lanes that
come by another way, at the same instruction, are waited for; lanes that never come are a
`divergence` error. Disjoint groups of lanes, each with its own mask, may execute it together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tile_emulator._tile_emulator import Exchange
from tile_emulator.errors import Fault
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.machine.warp import (
    BLOCKED,
    DONE,
    LANES,
    NEXT,
    Fragment,
    LaneWait,
    Mask,
    Warp,
    bits_of,
    first_lane,
    lanes_of,
    mask_of,
)
from tile_emulator.order.clock import EVERYTHING, ONLY_CAUSED, READ_OVER
from tile_emulator.ptx.module import Instruction, Operand, Pair, Reg, Sink

Array = Any
Together = Callable[[Warp, Mask, int], None]


def exchanges_loads(d: Decoder, source: Operand) -> bool:
    """Tell whether lanes give each other what they have loaded from shared memory."""
    return not d.strict and isinstance(source, Reg) and source.name in d.loaded


def rows_of(loaded: bool) -> int:
    """Return what lanes that exchange values learn of each other.

    That the others have come there; no memory access is ordered by that, but for loads where values
    depend on them: who has the value knows that the load is over.
    """
    return READ_OVER if loaded else ONLY_CAUSED


class Meeting:
    """Lanes that have come to one `.sync` instruction; the last one acts for all."""

    def __init__(self, mask: int) -> None:
        self.mask = mask
        self.here = 0
        self.done = False


def exchange(
    d: Decoder,
    ins: Instruction,
    name: str,
    members: int,
    rows: int,
    sources: list[int],
    target: int = -1,
    predicate: int = -1,
    any_pc: bool = False,
) -> None:
    """Emit the exchange `name` of the core between all lanes of a mask."""
    is_predicate = target >= 0 and d.slots.widths[target] == 1
    done = Exchange(name, members, target, is_predicate, predicate, sources, rows)

    def act(w: Warp, m: Mask, mask: int) -> None:
        done.act(w, w.registers, bits_of(m))

    together(d, ins, members, act, any_pc, done)


def together(
    d: Decoder,
    ins: Instruction,
    members: int,
    act: Together,
    any_pc: bool = False,
    whole: Exchange | None = None,
) -> None:
    """Emit a step that calls `act(warp, lanes, mask)` once all lanes of the mask are there.

    The core does `whole` itself where they are from the start.
    """
    place = "any" if any_pc else id(ins)
    meet = d.meet()

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        own = ("own", id(fragment))
        meeting: Meeting | None = w.keep.get(own)
        if meeting is None:
            bits = bits_of(m)
            groups = groups_by_mask(w.u[members], bits)
            check_masks(groups, bits, ins.opcode)
            if all(mask & w.live == some for mask, some in groups.items()):
                for mask, some in groups.items():
                    act(w, m if some == bits else mask_of(some), mask)
                return NEXT
            mask, some = next(iter(groups.items()))
            if len(groups) > 1:
                w.diverge(fragment, some, fragment.pc, fragment.pc, meet[0])
                return DONE
            key = ("meeting", place, mask)
            meeting = w.keep.get(key)
            if meeting is None or meeting.done:
                meeting = w.keep[key] = Meeting(mask)
            meeting.here |= bits
            w.keep[own] = meeting
            w.meetings += 1
        if not meeting.done and meeting.mask & w.live & ~meeting.here == 0:
            act(w, mask_of(meeting.here & w.live), meeting.mask)
            meeting.done = True
            w.wake_lanes()
        if meeting.done:
            del w.keep[own]
            w.meetings -= 1
            return NEXT
        fragment.wait = LaneWait(meeting.mask, ins.opcode)
        return BLOCKED

    d.control(step)
    d.exchange = whole if ins.guard is None else None


def groups_by_mask(masks: Array, bits: int) -> dict[int, int]:
    """Return which of the lanes `bits` give which mask, in the order of their first lanes."""
    first = int(masks[first_lane(bits)])
    lanes = lanes_of(mask_of(bits))
    if bool((masks[lanes] == first).all()):
        return {first: bits}
    groups: dict[int, int] = {}
    for lane in lanes.tolist():
        mask = int(masks[lane])
        groups[mask] = groups.get(mask, 0) | 1 << lane
    return groups


def check_masks(groups: dict[int, int], bits: int, opcode: str) -> None:
    """Each lane must be in its own mask, and give the same mask as the lanes that it names."""
    for mask, some in groups.items():
        if some & ~mask:
            raise Fault(
                "divergence",
                f"{opcode} with mask 0x{mask:08x} is executed by lanes 0x{some:08x}",
                "give a mask that contains the lanes that execute it",
                first_lane(some & ~mask),
            )
        if mask & bits & ~some:
            other = first_lane(mask & bits & ~some)
            theirs = next(m for m, lanes in groups.items() if lanes >> other & 1)
            raise Fault(
                "divergence",
                f"{opcode} is executed with mask 0x{mask:08x}, but lane {other}, which is in it, "
                f"gives mask 0x{theirs:08x}",
                "give the same mask in all lanes that it names",
                first_lane(some),
            )


def warp_barrier(d: Decoder, ins: Instruction) -> None:
    """`bar.warp.sync`: the only one of these instructions that orders memory."""
    members = d.source(ins.operands[0], "b32")
    exchange(d, ins, "", members, EVERYTHING, [], any_pc=True)


def shuffle(d: Decoder, ins: Instruction) -> None:
    """`shfl.sync` in its four modes, with the optional predicate."""
    if ins.parts[1] != "sync":
        raise d.unsupported()
    mode = ins.parts[2]
    first = ins.operands[0]
    predicate = -1
    if isinstance(first, Pair):
        predicate = d.target(first.second, "pred")
        first = first.first
    target = d.target(first, "b32")
    source = d.source(ins.operands[1], "b32")
    loaded = exchanges_loads(d, ins.operands[1])
    offset = d.source(ins.operands[2], "b32")
    control = d.source(ins.operands[3], "b32")
    members = d.source(ins.operands[4], "b32")
    if mode not in ("up", "down", "bfly", "idx"):
        raise d.unsupported()
    sources, rows = [source, offset, control], rows_of(loaded)
    exchange(d, ins, f"shfl.{mode}", members, rows, sources, target, predicate)


def vote(d: Decoder, ins: Instruction) -> None:
    """`vote.sync`: all, any, uni, ballot."""
    # ptxas takes the mode before `.sync`, too.
    mode = ins.parts[1] if ins.parts[2] == "sync" else ins.parts[2]
    if "sync" not in ins.parts[1:3] or mode not in ("all", "any", "uni", "ballot"):
        raise d.unsupported()
    target = d.target(ins.operands[0], "b32" if mode == "ballot" else "pred")
    source = d.source(ins.operands[1], "pred")
    loaded = exchanges_loads(d, ins.operands[1])
    members = d.source(ins.operands[2], "b32")

    exchange(d, ins, f"vote.{mode}", members, rows_of(loaded), [source], target)


def match(d: Decoder, ins: Instruction) -> None:
    """`match.any.sync` and `match.all.sync`."""
    mode = ins.parts[1]
    first = ins.operands[0]
    predicate = None
    if isinstance(first, Pair):
        predicate = d.target(first.second, "pred")
        first = first.first
    target = d.target(first, "b32")
    source = d.source(ins.operands[1], ins.parts[-1])
    loaded = exchanges_loads(d, ins.operands[1])
    members = d.source(ins.operands[2], "b32")

    def act(w: Warp, m: Mask, mask: int) -> None:
        lanes = lanes_of(m)
        values = w.u[source][lanes]
        result = np.zeros(LANES, dtype=np.uint32)
        if mode == "any":
            for lane, value in zip(lanes.tolist(), values, strict=False):
                same = lanes[values == value]
                result[lane] = sum(1 << int(s) for s in same)
        elif bool((values == values[0]).all()):
            result[:] = sum(1 << int(s) for s in lanes)
        w.cta.cluster.order_lanes(w, bits_of(m), rows_of(loaded))
        np.copyto(w.u[target], result, where=m)
        if predicate is not None:
            np.copyto(w.u[predicate], bool((values == values[0]).all()), where=m)

    together(d, ins, members, act)


def reduce(d: Decoder, ins: Instruction) -> None:
    """`redux.sync`."""
    operation, kind = ins.parts[2], ins.parts[-1]
    if kind == "f32":
        raise d.unsupported()
    target = d.target(ins.operands[0], kind)
    source = d.source(ins.operands[1], kind)
    loaded = exchanges_loads(d, ins.operands[1])
    members = d.source(ins.operands[2], "b32")
    name = f"redux.{operation}" + f".{kind}" * (operation in ("min", "max"))
    exchange(d, ins, name, members, rows_of(loaded), [source], target)


def active_mask(d: Decoder, ins: Instruction) -> None:
    """`activemask`: the lanes that are together here."""
    target = d.target(ins.operands[0], "b32")
    d.operate("activemask", target)


def elect(d: Decoder, ins: Instruction) -> None:
    """`elect.sync`: the lowest lane of the mask leads."""
    first = ins.operands[0]
    leader = predicate = None
    if isinstance(first, Pair):
        if not isinstance(first.first, Sink):
            leader = d.target(first.first, "b32")
        predicate = d.target(first.second, "pred")
    else:
        raise d.unsupported()
    members = d.source(ins.operands[1], "b32")

    def act(w: Warp, m: Mask, mask: int) -> None:
        chosen = first_lane(mask & w.live)
        if leader is not None:
            np.copyto(w.u[leader], np.uint32(chosen), where=m)
        np.copyto(w.u[predicate], np.arange(LANES) == chosen, where=m)

    together(d, ins, members, act)
