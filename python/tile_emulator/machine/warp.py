# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warps of 32 lanes, and the fragments into which divergence cuts them.

A fragment is a set of lanes with one program counter. A divergent branch makes two of them, which
run independently and meet again at the immediate post-dominator of the branch (`Join`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tile_emulator import _tile_emulator as core
from tile_emulator.machine.fences import Fences

if TYPE_CHECKING:
    from tile_emulator._tile_emulator import Registers
    from tile_emulator.instructions.program import Program
    from tile_emulator.instructions.slots import Views
    from tile_emulator.machine.cta import CTA
    from tile_emulator.ptx.module import Instruction

LANES = 32
FULL = 0xFFFFFFFF

Lanes = NDArray[np.bool_]
Mask = Literal[True] | Lanes
Step = Callable[["Warp", Mask], object]
Control = Callable[["Fragment", Mask], int]

# What a control step returns instead of the block to go to.
NEXT = -1
BLOCKED = -2
DONE = -3
YIELD = -4
# What the core returns where lanes have come to their join.
ARRIVED = -5

_masks: dict[int, Mask] = {FULL: True}


def mask_of(bits: int) -> Mask:
    """Turn lane bits into what NumPy's `where=` takes: True for all lanes, or an array."""
    mask = _masks.get(bits)
    if mask is None:
        mask = np.array([bits >> lane & 1 for lane in range(LANES)], dtype=np.bool_)
        mask.setflags(write=False)
        if len(_masks) > 4096:
            _masks.clear()
            _masks[FULL] = True
        _masks[bits] = mask
    return mask


def bits_of(mask: Mask) -> int:
    """Turn a mask into lane bits."""
    if mask is True:
        return FULL
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


ALL_LANES = np.arange(LANES)


def lanes_of(mask: Mask) -> NDArray[np.intp]:
    """Return the indices of the active lanes."""
    return ALL_LANES if mask is True else np.flatnonzero(mask)


def first_lane(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


class LaneWait:
    """An instruction that waits for lanes of its warp."""

    def __init__(self, bits: int, name: str) -> None:
        self.bits = bits
        self.name = name


class AlignedWait(LaneWait):
    """An aligned instruction that waits for lanes that left a join later."""


class Join:
    """Where the lanes of a divergent branch meet again, unless others wait for them meanwhile."""

    __slots__ = ("arrived", "calls", "expected", "parent", "pc")

    def __init__(
        self, pc: int, expected: int, parent: Join | None, calls: tuple[tuple[int, Any], ...]
    ) -> None:
        self.pc = pc
        self.expected = expected
        self.arrived = 0
        self.parent = parent
        self.calls = calls


class Fragment:
    """Lanes of one warp that share a program counter (a block of the program)."""

    __slots__ = (
        "also",
        "at",
        "bits",
        "calls",
        "join",
        "mask",
        "pc",
        "polls",
        "quiet",
        "refused",
        "repeats",
        "states",
        "states_at",
        "wait",
        "warp",
    )

    def __init__(
        self, warp: Warp, pc: int, bits: int, join: Join | None, calls: tuple[tuple[int, Any], ...]
    ) -> None:
        self.warp = warp
        self.pc = pc
        self.bits = bits
        self.mask: Mask = mask_of(bits)
        self.join = join
        self.calls = calls
        self.wait: Any = None
        self.also: tuple[Any, ...] = ()
        self.polls = 0
        self.quiet = 0
        self.refused = False
        self.states: set[int] = set()
        self.states_at = -1
        self.repeats = False
        self.at: Instruction | None = None

    def set_bits(self, bits: int) -> None:
        self.bits = bits
        self.mask = mask_of(bits)

    def state(self) -> int:
        """Return a hash of what decides how the lanes go on while no memory changes."""
        warp = self.warp
        lanes = lanes_of(self.mask)
        local = warp.local[lanes].tobytes()
        return hash((self.pc, self.calls, warp.registers.digest(self.bits), local))


class Warp(core.Warp):
    """Registers, local memory, clocks and fragments of 32 lanes."""

    __slots__ = (
        "at",
        "cta",
        "f",
        "fences",
        "fragments",
        "index",
        "keep",
        "local",
        "program",
        "registers",
        "released",
        "s",
        "u",
    )

    def __init__(self, cta: CTA, index: int, program: Program, bits: int) -> None:
        thread0 = (cta.rank * cta.warp_count + index) * LANES
        super().__init__(cta.cluster, cta.rank, thread0, bits, program.local_bytes)
        self.cta = cta
        self.index = index
        self.program = program
        self.at: Instruction | None = None
        self.local = self.local_memory()
        self.u: Views
        self.s: Views
        self.f: Views
        self.keep: dict[Any, Any] = {}
        self.fences = Fences()
        self.released = False
        self.registers: Registers
        program.make_registers(self)
        self.fragments = [Fragment(self, program.entry_pc, bits, None, ())]

    def diverge(self, fragment: Fragment, taken: int, target: int, other: int, meet: int) -> None:
        """Split `fragment`: lanes `taken` go to `target`, the rest to `other`."""
        join = fragment.join
        if join is None or join.pc != meet or join.calls != fragment.calls:
            join = Join(meet, fragment.bits, join, fragment.calls)
        self.fragments.remove(fragment)
        rest = fragment.bits & ~taken
        for bits, pc in ((taken, target), (rest, other)):
            piece = Fragment(self, pc, bits, join, fragment.calls)
            self.fragments.append(piece)
            self.cta.cluster.scheduler.add(piece)
        self.cta.cluster.scheduler.drop(fragment)

    def arrive(self, fragment: Fragment) -> None:
        """Take `fragment`, which has reached its join, out; go on when it was the last."""
        join = fragment.join
        assert join is not None
        self.fragments.remove(fragment)
        self.cta.cluster.scheduler.drop(fragment)
        join.arrived |= fragment.bits
        self._settle(join)

    def _settle(self, join: Join | None) -> None:
        while join is not None and join.arrived == join.expected:
            if join.arrived:
                merged = Fragment(self, join.pc, join.arrived, join.parent, join.calls)
                self.fragments.append(merged)
                self.cta.cluster.scheduler.add(merged)
                join.expected = join.arrived = 0
                return
            join = join.parent

    def release_joins(self) -> bool:
        """Let lanes that have arrived at a join go on alone; returns whether there were any.

        A thread may wait for one of its own warp, so that a join must not hold lanes for ever.
        """
        joins: dict[int, Join] = {}
        for fragment in self.fragments:
            join = fragment.join
            while join is not None:
                if join.arrived:
                    joins[id(join)] = join
                join = join.parent
        for join in joins.values():
            piece = Fragment(self, join.pc, join.arrived, join.parent, join.calls)
            join.expected &= ~join.arrived
            join.arrived = 0
            self.fragments.append(piece)
            self.cta.cluster.scheduler.add(piece)
            self.released = True
        return bool(joins)

    def gather(self, fragment: Fragment, name: str) -> int:
        """Wait at an aligned instruction for the lanes that a join did not hold together.

        The last to come takes the others with it, and executes the instruction anew.
        """
        here = [fragment]
        for other in self.fragments:
            waits = other is not fragment and isinstance(other.wait, AlignedWait)
            if waits and other.pc == fragment.pc and other.calls == fragment.calls:
                here.append(other)
        bits = sum(f.bits for f in here)
        if bits != self.live or any(f.join is not fragment.join for f in here):
            fragment.wait = AlignedWait(self.live, name)
            return BLOCKED
        for piece in here:
            self.fragments.remove(piece)
            self.cta.cluster.scheduler.drop(piece)
        merged = Fragment(self, fragment.pc, bits, fragment.join, fragment.calls)
        self.fragments.append(merged)
        self.cta.cluster.scheduler.add(merged)
        return DONE

    def retire(self, fragment: Fragment, bits: int) -> None:
        """End the threads `bits` of `fragment`."""
        products = self.keep.get("wgmma")
        if products is not None:
            products.check(self)
        self.live &= ~bits
        rest = fragment.bits & ~bits
        join = fragment.join
        if rest:
            fragment.set_bits(rest)
        else:
            self.fragments.remove(fragment)
            self.cta.cluster.scheduler.drop(fragment)
        chain = join
        while chain is not None:
            chain.expected &= ~bits
            chain = chain.parent
        if not rest:
            self._settle(join)
        self.cta.thread_exit(self, bits)
        self.wake_lanes()

    def wake_lanes(self) -> None:
        """Let the fragments that wait for lanes of this warp look again."""
        scheduler = self.cta.cluster.scheduler
        for fragment in list(scheduler.waiting):
            if fragment.warp is self and isinstance(fragment.wait, LaneWait):
                scheduler.wake(fragment.wait)
