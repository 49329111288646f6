# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `st_async`: loads and `st.async` of 16, 8 or 4 bytes, spread over the executing threads.

Thread `t` of `n` stores the plan's copies `t`, `t + n`, `t + 2 * n`, ...; a round is one of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mlir import ir
from mlir.dialects import arith, scf

from ..builders import if_true
from .addresses import Side, advance, number_of, swizzled
from .copy import Copy, PlanError
from .rounds import Index, Place, add, places_of
from .values import Attributes, build, built_once, i32, made_once

MAX_LOADED_WORDS = 32
"""Registers that the loads of rounds may fill before the first store."""
MAX_STRAIGHT_ROUNDS = 16
"""Rounds that are written out; more become a loop over groups of them."""


def issue(copy: Copy) -> None:
    """Issue the stores of the plan, from all executing threads."""
    plan = copy.plan
    chunk_bytes, threads = plan.chunk_bytes, plan.threads
    if chunk_bytes not in (4, 8, 16) or not threads:
        raise PlanError(
            "must store 4, 8 or 16 bytes by some threads, got "
            f"{chunk_bytes} bytes by {threads} threads",
            "let tile-analyze-layout make the plan",
        )
    stores = Stores(copy)
    thread = copy.threads.number()
    rounds, left = divmod(plan.count, threads)
    group = min(8, MAX_LOADED_WORDS // max(4, len(stores.part_offsets)))
    looped = rounds // group if rounds > MAX_STRAIGHT_ROUNDS else 0
    if looped:
        stride = group * threads
        loop = scf.ForOp(i32(0), i32(looped), i32(1))
        with ir.InsertionPoint(loop.body):
            first = arith.addi(thread, arith.muli(loop.induction_variable, i32(stride)))
            stores.rounds(first, stride, [n * threads for n in range(group)])
            scf.yield_([])
    for first_round in range(looped * group, rounds, group):
        last = min(first_round + group, rounds)
        stores.rounds(thread, 0, [n * threads for n in range(first_round, last)])
    if left:
        with if_true(arith.cmpi(arith.CmpIPredicate.ult, thread, i32(left))):
            stores.rounds(thread, 0, [rounds * threads])


class Stores:
    """The stores of one copy: where they load from, where they store to, and how wide."""

    def __init__(self, copy: Copy) -> None:
        self.plan = copy.plan
        self.part_offsets = copy.plan.part_offsets
        self.part_bytes = copy.plan.chunk_bytes // len(self.part_offsets)
        self.src = addresses_of(copy.src)
        self.dst = addresses_of(copy.dst)
        self.barrier = number_of(copy.barrier)

    def rounds(self, first: ir.Value, stride: int, counts: Sequence[int]) -> None:
        """Load all of some rounds, then store them, so that the loads overlap.

        The copies are `first + count`; `first` is the thread plus a multiple of `stride`.
        """
        places = places_of(self.plan, first, stride, tuple(counts))
        loaded = [self.load(src) for src, _ in places]
        for words, (_, dst) in zip(loaded, places, strict=True):
            address, immediate = target_at(self.dst, dst)
            st_async(address, immediate, words, self.barrier)

    def load(self, place: Place) -> list[ir.Value]:
        """Load one copy's bytes, in one piece or in parts, as words of 32 bits."""
        parts = []
        for offset in self.part_offsets:
            pointer = source_at(self.src, (place[0], place[1] + offset))
            parts += load(pointer, self.part_bytes)
        per_word = 4 // min(4, self.part_bytes)
        if per_word == 1:
            return parts
        return [joined(parts[i : i + per_word]) for i in range(0, len(parts), per_word)]


class Addresses(NamedTuple):
    """What the addresses of one side are computed from, as in a `Side`."""

    base: ir.Value
    start: Index
    swizzle: tuple[int, ...]


def addresses_of(side: Side) -> Addresses:
    """Return those of `side`, whose offsets are 32 bits wide."""
    start = side.start_bytes
    if isinstance(start, ir.Value):
        start = arith.index_cast(ir.IntegerType.get_signless(32), start)
    return Addresses(side.base, start, side.swizzle)


@built_once
def source_at(addresses: Addresses, place: Place) -> ir.Value:
    """Return the pointer to `place`, swizzled as planned."""
    return advance(*pointer_and_immediate(addresses, place))


@built_once
def target_at(addresses: Addresses, place: Place) -> tuple[ir.Value, int]:
    """Return the address of `place`, swizzled as planned, as a number and an immediate."""
    pointer, immediate = pointer_and_immediate(addresses, place)
    return number_of(pointer), immediate


def pointer_and_immediate(addresses: Addresses, place: Place) -> tuple[ir.Value, int]:
    """Return a pointer that few rounds have to compute, and how many bytes further `place` is."""
    moving, fixed = place
    swizzle = addresses.swizzle
    # A swizzle leaves multiples of its period alone.
    within = fixed % (1 << sum(swizzle)) if swizzle else 0
    return pointer_at(addresses, moving, within), fixed - within


@built_once
def pointer_at(addresses: Addresses, moving: Index, within: int) -> ir.Value:
    """Return the base moved by what threads compute; swizzled, by all that counts."""
    base, start, swizzle = addresses
    if swizzle:
        moving = swizzled(add(add(start, moving), within), swizzle)
    return advance(base, moving)


def load(pointer: ir.Value, nbytes: int) -> list[ir.Value]:
    """Load 1 to 16 bytes, as words of 32 bits or as one shorter integer."""
    type_ = ir.IntegerType.get_signless(min(32, 8 * nbytes))
    if nbytes <= 4:
        return [load_aligned(type_, pointer, nbytes)]
    words = nbytes // 4
    vector = load_aligned(ir.VectorType.get([words], type_), pointer, nbytes)
    return list(build("vector.to_elements", [vector], [type_] * words).results)


def load_aligned(type_: ir.Type, pointer: ir.Value, nbytes: int) -> ir.Value:
    """Load a value whose address is a multiple of its `nbytes`."""
    return build("llvm.load", [pointer], [type_], alignment(nbytes)).result


@made_once
def alignment(nbytes: int) -> Attributes:
    """Return the attribute of a load from a multiple of `nbytes`."""
    return {"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), nbytes)}


def joined(parts: Sequence[ir.Value]) -> ir.Value:
    """Put the parts of a word together, the lowest first."""
    type_ = ir.IntegerType.get_signless(32)
    word = arith.extui(type_, parts[0])
    for place, part in enumerate(parts[1:], 1):
        shift = i32(place * 32 // len(parts))
        word = arith.ori(word, arith.shli(arith.extui(type_, part), shift))
    return word


def st_async(
    address: ir.Value, immediate: int, words: Sequence[ir.Value], barrier: ir.Value
) -> None:
    """Store 1, 2 or 4 words into a peer CTA and count their bytes on its barrier.

    PTX ISA 8.1. Upstream has no op for it.
    """
    operands = [address, *words, barrier]
    build("llvm.inline_asm", operands, attributes=instruction(len(words), immediate))


@made_once
def instruction(words: int, immediate: int) -> Attributes:
    """Return the text and the operands, an address, `words` and a barrier, of an `st.async`."""
    vector = {1: "", 2: ".v2", 4: ".v4"}[words]
    values = ", ".join(f"${place}" for place in range(1, words + 1))
    if vector:
        values = f"{{{values}}}"
    at = f"$0{immediate:+d}" if immediate else "$0"
    return {
        "asm_string": ir.StringAttr.get(
            f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.b32 "
            f"[{at}], {values}, [${words + 1}];"
        ),
        "constraints": ir.StringAttr.get("r," * (words + 2) + "~{memory}"),
        "has_side_effects": ir.UnitAttr.get(),
    }
