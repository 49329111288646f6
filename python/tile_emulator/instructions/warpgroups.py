# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products of warpgroups: `wgmma` with its fences and groups.

Each of the four warps computes its own 16 rows. It reads shared memory as a copy through the async
proxy does, from the issue of the product until a wait for its group. Registers of a product have a
hidden register each, with the line that has last used them otherwise: a fence clears it, and it
must be clear when a product is issued and when its group has been waited for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tile_emulator.errors import Fault
from tile_emulator.instructions.copies import End, groups_of, launch_copy
from tile_emulator.instructions.decoder import MOVED, Decoder
from tile_emulator.instructions.formats import BITS, decode
from tile_emulator.instructions.matrices import (
    Fragments,
    accumulators,
    read_result,
    registers,
    result_bits,
    together,
    whole_warp,
    write_result,
)
from tile_emulator.instructions.program import SHARED_BASE
from tile_emulator.machine.warp import BLOCKED, FULL, NEXT, Fragment, Mask, Warp
from tile_emulator.ptx.module import Imm, Instruction, Operand, Reg, Vec

if TYPE_CHECKING:
    from tile_emulator.engine.operations import Operation

Array = Any
WARPS = 4
_K_BYTES = 32
_SWIZZLES = (0, 128, 64, 32)
_FENCE = "execute wgmma.fence.sync.aligned after the registers were used, before the product"
_WAIT = (
    "execute wgmma.commit_group.sync.aligned and wgmma.wait_group.sync.aligned before the "
    "registers are used"
)
_RESULTS = {
    "f16": {"f16", "f32"}, "bf16": {"f32"}, "tf32": {"f32"}, "e4m3": {"f16", "f32"},
    "e5m2": {"f16", "f32"}, "s8": {"s32"}, "u8": {"s32"}, "b1": {"s32"},
}  # fmt: skip
_MIXED = ({"s8", "u8"}, {"e4m3", "e5m2"})


Watched = tuple[tuple[str, int], ...]
"""Registers by their names, with their hidden registers."""


@dataclass
class State:
    """What a warp has issued and not waited for."""

    fenced: bool = False
    issued: int = 0
    pending: list[tuple[Operation, Watched]] = field(default_factory=list)

    def check(self, w: Warp) -> None:
        """Report a register that was used before its product was waited for."""
        for operation, watched in self.pending:
            used = used_at(w, watched, moves=True)
            if used is not None:
                w.cta.cluster.report(
                    Fault(
                        "in-flight",
                        f"register {used[0]} is used at PTX line {used[1]} before its "
                        f"{operation.name} was waited for",
                        _WAIT,
                        0,
                        operation.notes(),
                    )
                )

    def forget(self, unfinished: list[Operation]) -> None:
        """Forget what is not among the unfinished products."""
        numbers = {operation.number for operation in unfinished}
        self.pending = [item for item in self.pending if item[0].number in numbers]


def state_of(w: Warp) -> State:
    state: State = w.keep.setdefault("wgmma", State())
    return state


def used_at(w: Warp, watched: Watched, moves: bool) -> tuple[str, int] | None:
    """Return the first register that was used since the last fence, and the line of that use.

    `moves` says whether moves count.
    """
    for name, slot in watched:
        lines = w.u[slot]
        if lines.any():
            if moves:
                lines = lines & np.uint32(MOVED - 1)
            line = int(np.where(lines < MOVED, lines, 0).max())
            if line:
                return name, line
    return None


def warpgroup(d: Decoder, ins: Instruction) -> None:
    """`wgmma`: dispatch on the action."""
    action = ins.parts[1]
    if action == "mma_async":
        multiply(d, ins)
    elif ins.parts[2:] != ("sync", "aligned"):
        raise d.unsupported()
    elif action == "fence" and not ins.operands:
        fence(d, ins)
    elif action == "commit_group" and not ins.operands:
        together(d, ins, lambda w: groups_of(w, 0, "wgmma").commit(), ordered=False)
    elif action == "wait_group":
        wait(d, ins)
    else:
        raise d.unsupported()


def fence(d: Decoder, ins: Instruction) -> None:
    """`wgmma.fence`: what was done with registers before it comes before products after it."""
    slots = list(d.watched.values())

    def act(w: Warp) -> None:
        state_of(w).check(w)
        state_of(w).fenced = True
        for slot in slots:
            w.u[slot][:] = 0

    together(d, ins, act, ordered=False)


def wait(d: Decoder, ins: Instruction) -> None:
    """`wgmma.wait_group`."""
    if not isinstance(ins.operands[0], Imm):
        raise d.unsupported()
    leave = ins.operands[0].value

    def step(fragment: Fragment, m: Mask) -> int:
        then = whole_warp(fragment, m, ins)
        if then != NEXT:
            return then
        w = fragment.warp
        w.at = ins
        groups = groups_of(w, 0, "wgmma")
        if not groups.ready(leave):
            fragment.wait = groups
            return BLOCKED
        clock = groups.observe(leave, True)
        state_of(w).check(w)
        state_of(w).forget(groups.unfinished())
        if clock is not None:
            w.cta.cluster.acquire(w, FULL, clock)
        return NEXT

    d.control(step)


@dataclass(frozen=True)
class Descriptor:
    """What a matrix descriptor says, in bytes."""

    start: int
    leading: int
    stride: int
    swizzle: int


def describe(lane: int, bits: int) -> Descriptor:
    """Read a matrix descriptor."""

    def part(shift: int) -> int:
        return (bits >> shift & 0x3FFF) << 4

    if bits >> 49 & 7:
        raise Fault(
            "address",
            f"a matrix descriptor has the base offset {bits >> 49 & 7}, the emulator knows 0 only",
            "align the pattern of the swizzle to 256, 512 or 1024 bytes",
            lane,
        )
    return Descriptor(part(0), part(16), part(32), _SWIZZLES[bits >> 62 & 3])


@lru_cache(maxsize=512)
def layout(
    first: int, rows: int, width: int, transposed: bool, matrix: Descriptor
) -> tuple[NDArray[np.int64], tuple[tuple[int, int], ...]]:
    """Return where the bytes of a factor are, relative to the start of the matrix.

    The factor has `rows` rows from `first` on, each of 32 bytes along the sum; elements have
    `width` bytes, and neighbours are along the rows if `transposed`. `matrix.start` counts only for
    the swizzle, which exchanges chunks of 16 bytes by the address bits 7 to 9. Also returns the
    ranges of the bytes.
    """
    span = matrix.swizzle or 16
    row = np.arange(first, first + rows, dtype=np.int64)[:, None]
    along = np.arange(_K_BYTES, dtype=np.int64)
    if transposed:
        panel, k, byte = span // width, along // width, along % width
        if matrix.swizzle:
            step, group = matrix.leading, matrix.stride
        else:
            step, group = matrix.stride, matrix.leading
        places = row % panel * width + row // panel * step + k % 8 * span + k // 8 * group + byte
    else:
        chunk = along // 16
        places = row % 8 * span + row // 8 * matrix.stride + along % 16
        places = places + chunk * (16 if matrix.swizzle else matrix.leading)
    if matrix.swizzle:
        places = places + matrix.start
        places = (places ^ (places >> 3 & span - 16)) - matrix.start
    chunks = np.unique((places + matrix.start) // 16) * 16 - matrix.start
    breaks = np.flatnonzero(np.diff(chunks) != 16)
    starts = chunks[np.concatenate([[0], breaks + 1])].tolist()
    stops = (chunks[np.concatenate([breaks, [len(chunks) - 1]])] + 16).tolist()
    return places, tuple(zip(starts, stops, strict=True))


class Nowhere:
    """Takes the bytes that a product reads: its result is known at once."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __setitem__(self, part: slice, new: Array) -> None:
        """Take them."""


class Factor:
    """A factor of a product: registers of the warp, or a matrix in shared memory."""

    def __init__(self, d: Decoder, operand: Operand, rows: int, kind: str) -> None:
        self.rows, self.kind = rows, kind
        self.width = max(1, BITS[kind] // 8)
        self.length = _K_BYTES * 8 // BITS[kind]
        self.fragments = Fragments(16, self.length, BITS[kind])
        self.slots: list[int] = []
        self.descriptor = -1
        self.transposed = False
        if isinstance(operand, Vec):
            self.slots = [d.source(o, "b32") for o in registers(operand, self.fragments.count, d)]
        else:
            self.descriptor = d.source(operand, "b64")

    def assemble(self, w: Warp, first: int, ins: Instruction) -> tuple[Array, list[slice]]:
        """Return the elements, rows from `first` on, and the ranges of shared memory."""
        if self.slots:
            return self.fragments.assemble(self.kind, self.slots, w), []
        given = w.u[self.descriptor]
        if (given != given[0]).any():
            raise differ(ins, "descriptors", int(np.argmax(given != given[0])))
        matrix = describe(0, int(given[0]))
        start = matrix.start - SHARED_BASE
        near = Descriptor(matrix.start % 1024, matrix.leading, matrix.stride, matrix.swizzle)
        places, ranges = layout(first, self.rows, self.width, self.transposed, near)
        size, cluster = w.cta.cluster.launch.shared_bytes, w.cta.cluster
        low, high = ranges[0][0] + start, ranges[-1][1] + start
        if low < 0 or high > size:
            raise Fault(
                "address",
                f"a matrix of {ins.opcode} is at shared offsets {low} to {high - 1}, the CTA has "
                f"{size} bytes",
                "check the start address and the offsets in the matrix descriptor",
                0,
            )
        base = start + w.cta.rank * cluster.shared_bytes
        raw = cluster.shared[places + base]
        return decode(self.kind, raw), [slice(a + base, b + base) for a, b in ranges]


def differ(ins: Instruction, what: str, lane: int) -> Fault:
    return Fault(
        "divergence",
        f"{ins.opcode} is executed with different {what} in one warpgroup",
        "let all threads of the warpgroup execute the same product",
        lane,
    )


def check_group(w: Warp, ins: Instruction, given: tuple[int, ...]) -> None:
    """The four warps of a warpgroup must be there, and execute the same products."""
    first = w.index - w.index % WARPS
    if first + WARPS > w.cta.warp_count:
        raise Fault(
            "divergence",
            f"{ins.opcode} is executed by warp {w.index} of a CTA with {w.cta.warp_count} warps, a "
            "warpgroup has 4",
            "launch a multiple of 128 threads",
            0,
        )
    state = state_of(w)
    key, mine = (first, state.issued), (id(ins), given)
    state.issued += 1
    theirs = w.cta.products.setdefault(key, [mine, 0])
    if theirs[0] != mine:
        raise differ(ins, "descriptors" if theirs[0][0] == mine[0] else "instructions", 0)
    theirs[1] += 1
    if theirs[1] == WARPS:
        del w.cta.products[key]


def sign(operand: Operand, d: Decoder) -> int:
    """Return an immediate scale, 1 or -1."""
    if not isinstance(operand, Imm) or operand.value not in (1, -1):
        raise d.error(f"'{d.ins.opcode}' takes scales of 1 and -1")
    return operand.value


def multiply(d: Decoder, ins: Instruction) -> None:
    """`wgmma.mma_async` of all dense types."""
    parts = list(ins.parts[2:])
    match = re.fullmatch(r"m64n(\d+)k(\d+)", parts[2]) if len(parts) > 5 else None
    if parts[:2] != ["sync", "aligned"] or match is None:
        raise d.unsupported()
    columns, length = int(match.group(1)), int(match.group(2))
    saturates = parts[3] == "satfinite"
    to, a_kind, b_kind, *extra = parts[3 + saturates :]
    mixed = any({a_kind, b_kind} <= kinds for kinds in _MIXED)
    if a_kind not in _RESULTS or (a_kind != b_kind and not mixed) or to not in _RESULTS[a_kind]:
        raise d.unsupported()
    integers = to == "s32"
    step = 8 if not integers or columns < 32 else 16
    if length * BITS[a_kind] != _K_BYTES * 8 or columns % step or not 8 <= columns <= 256:
        raise d.unsupported()
    if extra != (["and", "popc"] if a_kind == "b1" else []) or (saturates and a_kind[1:] != "8"):
        raise d.unsupported()
    a = Factor(d, ins.operands[1], 16, a_kind)
    b = Factor(d, ins.operands[2], columns, b_kind)
    accumulate = d.source(ins.operands[3], "pred")
    rest = list(ins.operands[4:])
    scale = 1
    if not integers:
        scale = sign(rest.pop(0), d) * sign(rest.pop(0), d)
    factors = [factor for factor in (a, b) if not factor.slots]
    if a_kind in ("f16", "bf16"):
        for factor in factors:
            flag = rest.pop(0)
            if not isinstance(flag, Imm) or flag.value not in (0, 1):
                raise d.error(f"'{ins.opcode}' takes 0 or 1 for a transposition")
            factor.transposed = flag.value == 1
    if rest or b.slots:
        raise d.unsupported()
    slots = accumulators(d, ins.operands[0], 16 * columns, to, d.target)
    watched = tuple(
        (item.name, d.watched[item.name])
        for operand in ins.operands[:2]
        if isinstance(operand, Vec)
        for item in operand.items
        if isinstance(item, Reg)
    )
    descriptors = [factor.descriptor for factor in factors]

    def act(w: Warp) -> None:
        check_group(w, ins, tuple(int(w.u[slot][0]) for slot in descriptors))
        check_registers(w, watched)
        adds = w.u[accumulate]
        if adds.any() != adds.all():
            raise differ(ins, "values of scale-d", int(np.argmin(adds)))
        row = w.index % WARPS * 16
        left, ranges = a.assemble(w, 0 if a.slots else row, ins)
        right, more = b.assemble(w, 0, ins)
        ranges = ranges + more
        size = sum(each.stop - each.start for each in ranges)
        source = End(np.broadcast_to(np.uint8(0), (size,)), w.cta, tuple(ranges))
        groups = groups_of(w, 0, "wgmma")
        operation = launch_copy(
            w, 0, ins, "wgmma.mma_async", source, End(Nowhere(size)), None, True, groups
        )
        state_of(w).pending.append((operation, watched))
        total = scale * (left @ right.T)
        if adds.all():
            total = total + read_result(w, slots, to, 16)
        write_result(w, slots, to, result_bits(total, to, saturates))

    together(d, ins, act, ordered=False)


def check_registers(w: Warp, watched: Watched) -> None:
    """A fence must come between other uses of a product's registers, but moves, and the product."""
    state = state_of(w)
    if state.fenced and used_at(w, watched, moves=True) is None:
        return
    state.check(w)
    used = used_at(w, watched, moves=False)
    if used is not None or not state.fenced:
        what = "without a wgmma.fence before"
        if used is not None:
            what = (
                f"without a wgmma.fence after the use of register {used[0]} at PTX line {used[1]}"
            )
        w.cta.cluster.report(Fault("in-flight", f"a wgmma.mma_async is issued {what}", _FENCE, 0))
    for _, slot in watched:
        w.u[slot][:] = 0
