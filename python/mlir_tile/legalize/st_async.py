# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variant `st_async`: loads and `st.async` of 16, 8 or 4 bytes, spread over the executing threads.

Thread `t` of `n` stores the plan's copies `t`, `t + n`, `t + 2 * n`, ...; a round is one of them.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, llvm, scf

from ..builders import i32, if_true
from ..dialects import tile
from ..scripted import PassFailure
from .addresses import Side, advance, mapped_barrier
from .rounds import Index, Place, add, places_of
from .threads import thread_in

MAX_LOADED_WORDS = 32
"""Registers that the loads of rounds may fill before the first store."""
MAX_STRAIGHT_ROUNDS = 16
"""Rounds that are written out; more become a loop over groups of them."""


def issue(op: tile.CopyAsyncOp) -> None:
    """Issue the stores of `op.plan`, from all executing threads."""
    plan = op.plan
    if plan.chunk_bytes not in (4, 8, 16) or not plan.threads:
        raise PassFailure(
            op,
            "'tile.copy_async' op plan must store 4, 8 or 16 bytes by some threads, got "
            f"{plan.chunk_bytes} bytes by {plan.threads} threads",
            "let tile-analyze-layout make the plan",
        )
    stores = Stores(op)
    thread = thread_in(op)
    rounds, left = divmod(plan.count, plan.threads)
    group = min(8, MAX_LOADED_WORDS // max(4, len(stores.part_offsets)))
    looped = rounds // group if rounds > MAX_STRAIGHT_ROUNDS else 0
    if looped:
        stride = group * plan.threads
        loop = scf.ForOp(i32(0), i32(looped), i32(1))
        with ir.InsertionPoint(loop.body):
            first = arith.addi(thread, arith.muli(loop.induction_variable, i32(stride)))
            stores.rounds(first, stride, [n * plan.threads for n in range(group)])
            scf.yield_([])
    for first_round in range(looped * group, rounds, group):
        last = min(first_round + group, rounds)
        stores.rounds(thread, 0, [n * plan.threads for n in range(first_round, last)])
    if left:
        with if_true(arith.cmpi(arith.CmpIPredicate.ult, thread, i32(left))):
            stores.rounds(thread, 0, [rounds * plan.threads])


class Stores:
    """The stores of one copy: where they load from, where they store to, and how wide."""

    def __init__(self, op: tile.CopyAsyncOp) -> None:
        self.plan = op.plan
        self.part_offsets = op.plan.src_part_offsets
        self.part_bytes = op.plan.chunk_bytes // len(self.part_offsets)
        self.src = Addresses(Side(op.src, op.plan.src_start, op.plan.src_swizzle))
        dst = Side(op.dst, op.plan.dst_start, op.plan.dst_swizzle)
        dst.map_to(op.rank)
        self.dst = Addresses(dst)
        barrier = mapped_barrier(op.barriers, op.barrier_index, op.rank)
        self.barrier = llvm.ptrtoint(ir.IntegerType.get_signless(32), barrier)

    def rounds(self, first: ir.Value, stride: int, counts: Sequence[int]) -> None:
        """Load all of some rounds, then store them, so that the loads overlap.

        The copies are `first + count`; `first` is the thread plus a multiple of `stride`.
        """
        self.src.forget()
        self.dst.forget()
        places = places_of(self.plan, first, stride, counts)
        loaded = [self.load(src) for src, _ in places]
        for words, (_, dst) in zip(loaded, places, strict=True):
            pointer, immediate = self.dst.at(dst)
            st_async(pointer, immediate, words, self.barrier)

    def load(self, place: Place) -> list[ir.Value]:
        """Load one copy's bytes, in one piece or in parts, as words of 32 bits."""
        parts = []
        for offset in self.part_offsets:
            pointer, immediate = self.src.at((place[0], place[1] + offset))
            parts += load(advance(pointer, immediate), self.part_bytes)
        per_word = 4 // min(4, self.part_bytes)
        return [joined(parts[i : i + per_word]) for i in range(0, len(parts), per_word)]


class Addresses:
    """The addresses of one side, as a pointer that few rounds have to compute and an immediate."""

    def __init__(self, side: Side) -> None:
        self.side = side
        start = side.start_bytes
        if isinstance(start, ir.Value):
            start = arith.index_cast(ir.IntegerType.get_signless(32), start)
        self.start: Index = start
        self.made: dict[Place, ir.Value] = {}

    def at(self, place: Place) -> tuple[ir.Value, int]:
        """Return the pointer and the immediate of `place`, swizzled as planned."""
        moving, fixed = place
        within = 0
        if self.side.swizzle:
            # A swizzle leaves multiples of its period alone.
            within = fixed % (1 << sum(self.side.swizzle))
        key = (moving, within)
        if key not in self.made:
            offset = moving
            if self.side.swizzle:
                offset = swizzled(add(add(self.start, moving), within), self.side.swizzle)
            self.made[key] = moved(self.side.base, offset)
        return self.made[key], fixed - within

    def forget(self) -> None:
        """Compute everything anew from here on: what was computed may not be visible here."""
        self.made.clear()


def moved(pointer: ir.Value, offset_bytes: Index) -> ir.Value:
    """Return `pointer` moved by a constant or an `i32` of bytes."""
    if isinstance(offset_bytes, int):
        return advance(pointer, offset_bytes)
    i8 = ir.IntegerType.get_signless(8)
    return llvm.getelementptr(
        pointer.type, pointer, [offset_bytes], [-(2**31)], i8, llvm.GEPNoWrapFlags.none
    )


def swizzled(offset_bytes: Index, swizzle: Sequence[int]) -> Index:
    """Return `offset_bytes` XOR its own bits, as `#tile.layout` defines a swizzle."""
    bits, base, shift = swizzle
    mask = ((1 << bits) - 1) << base
    if isinstance(offset_bytes, int):
        return offset_bytes ^ (offset_bytes >> shift & mask)
    shifted = arith.shrui(offset_bytes, i32(shift))
    return arith.xori(offset_bytes, arith.andi(shifted, i32(mask)))


def load(pointer: ir.Value, nbytes: int) -> list[ir.Value]:
    """Load 1 to 16 bytes, as words of 32 bits or as one shorter integer."""
    type_ = ir.IntegerType.get_signless(min(32, 8 * nbytes))
    if nbytes <= 4:
        return [llvm.load(type_, pointer, alignment=nbytes)]
    words = nbytes // 4
    vector = llvm.load(ir.VectorType.get([words], type_), pointer, alignment=nbytes)
    return [llvm.extractelement(vector, i32(word)) for word in range(words)]


def joined(parts: Sequence[ir.Value]) -> ir.Value:
    """Put the parts of a word together, the lowest first."""
    type_ = ir.IntegerType.get_signless(32)
    word = parts[0] if len(parts) == 1 else arith.extui(type_, parts[0])
    for place, part in enumerate(parts[1:], 1):
        shift = i32(place * 32 // len(parts))
        word = arith.ori(word, arith.shli(arith.extui(type_, part), shift))
    return word


def st_async(
    pointer: ir.Value, immediate: int, words: Sequence[ir.Value], barrier: ir.Value
) -> None:
    """Store 1, 2 or 4 words into a peer CTA and count their bytes on its barrier.

    PTX ISA 8.1. Upstream has no op for it.
    """
    address = llvm.ptrtoint(ir.IntegerType.get_signless(32), pointer)
    vector = {1: "", 2: ".v2", 4: ".v4"}[len(words)]
    values = ", ".join(f"${place}" for place in range(1, len(words) + 1))
    if vector:
        values = f"{{{values}}}"
    at = f"$0{immediate:+d}" if immediate else "$0"
    llvm.inline_asm(
        None,
        [address, *words, barrier],
        f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.b32 "
        f"[{at}], {values}, [${len(words) + 1}];",
        ",".join(["r"] * (len(words) + 2)) + ",~{memory}",
        has_side_effects=True,
    )
