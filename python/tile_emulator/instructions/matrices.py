# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrices of a warp: `ldmatrix`, `stmatrix`, `movmatrix` and `mma.sync`.

A product is exact in binary64 or in integers, its sum with the accumulator is found in binary64 and
rounded once. Hardware adds in an order of its own, and keeps fewer bits between.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.barriers import shared_addresses
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.formats import BITS, decode, round_sums
from tile_emulator.instructions.lanes import exchanges_loads, rows_of
from tile_emulator.instructions.memory import elements
from tile_emulator.instructions.sync import check_aligned
from tile_emulator.machine.warp import (
    ALL_LANES,
    FULL,
    NEXT,
    Fragment,
    Mask,
    Warp,
    bits_of,
    first_lane,
)
from tile_emulator.ptx.module import Instruction, Operand, Vec

Array = Any
_ROW_BYTES = 16
_SHARED = {"shared", "shared::cta"}
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}


def together(d: Decoder, ins: Instruction, act: Callable[[Warp], None], ordered: bool) -> None:
    """Emit a step that all 32 lanes of a warp execute together.

    The lanes know of each other that they came here; if `ordered`, also that their loads are over.
    """
    loaded = ordered and not d.strict

    def step(fragment: Fragment, m: Mask) -> int:
        w = fragment.warp
        then = whole_warp(fragment, m, ins)
        if then != NEXT:
            return then
        w.at = ins
        act(w)
        w.cta.cluster.order_lanes(w, FULL, rows_of(loaded))
        return NEXT

    d.control(step)


def whole_warp(fragment: Fragment, m: Mask, ins: Instruction) -> int:
    """All 32 lanes must be there; returns NEXT, or how to go on where some come first."""
    bits = bits_of(m)
    then = check_aligned(fragment, bits, ins)
    if then == NEXT and bits != FULL:
        raise Fault(
            "divergence",
            f"{ins.opcode} is executed by a warp of {bits.bit_count()} threads, it needs 32",
            "launch a multiple of 32 threads, and let none of them exit before",
            first_lane(bits),
        )
    return then


def registers(operand: Operand, count: int, d: Decoder) -> list[Operand]:
    """Return the registers of a fragment, one alone without braces."""
    items = elements(operand, count) if isinstance(operand, Vec) or count > 1 else [operand]
    if len(items) != count:
        raise d.error(f"'{d.ins.opcode}' takes a vector of {count} registers, got {len(items)}")
    return list(items)


def _form(d: Decoder, ins: Instruction) -> tuple[int, bool, bool]:
    """Return how many matrices there are, whether each is transposed, and the address generic."""
    parts = set(ins.parts[1:])
    counts = [count for name, count in _COUNTS.items() if name in parts]
    rest = parts - {"sync", "aligned", "m8n8", "trans", "b16"} - _SHARED - set(_COUNTS)
    if rest or len(counts) != 1 or not parts >= {"sync", "aligned", "m8n8", "b16"}:
        raise d.unsupported()
    return counts[0], "trans" in parts, not parts & _SHARED


def _rows(w: Warp, addresses: Array, count: int, generic: bool) -> Array:
    """Return where the rows of `count` matrices are, which lanes 0 to 8 * count - 1 name."""
    lanes = ALL_LANES[: 8 * count]
    inside = shared_addresses(addresses[lanes], lanes, generic)
    return w.cta.cluster.flat(w, lanes, inside, _ROW_BYTES, not generic, _ROW_BYTES)


def load_matrix(d: Decoder, ins: Instruction) -> None:
    """`ldmatrix`: each lane gets two elements of a row (with `.trans` of a column) of each matrix.

    The lane that names a row reads it.
    """
    count, transposed, generic = _form(d, ins)
    targets = [d.target(o, "b32") for o in registers(ins.operands[0], count, d)]
    address = d.address(ins.operands[1])

    def act(w: Warp) -> None:
        cluster = w.cta.cluster
        rows = _rows(w, address(w), count, generic)
        cluster.read(w, list(range(8 * count)), rows.tolist(), _ROW_BYTES, ins.line)
        raw = cluster.shared[rows[:, None] + np.arange(_ROW_BYTES)]
        matrices = raw.view(np.uint16).reshape(count, 8, 8)
        for target, matrix in zip(targets, matrices, strict=True):
            w.u[target][:] = pairs(matrix.T if transposed else matrix)

    together(d, ins, act, ordered=True)


def store_matrix(d: Decoder, ins: Instruction) -> None:
    """`stmatrix`: the inverse of `ldmatrix`; the lane that names a row writes it."""
    count, transposed, generic = _form(d, ins)
    address = d.address(ins.operands[0])
    sources = [d.source(o, "b32") for o in registers(ins.operands[1], count, d)]

    def act(w: Warp) -> None:
        cluster = w.cta.cluster
        rows = _rows(w, address(w), count, generic).tolist()
        for i, source in enumerate(sources):
            matrix = w.u[source].view(np.uint16).reshape(8, 8)
            matrix = np.ascontiguousarray(matrix.T if transposed else matrix)
            for j in range(8):
                lane = 8 * i + j
                place, content = rows[lane], matrix[j].tobytes()
                cluster.write(w, lane, place, content, ins.line)
                cluster.shared[place : place + _ROW_BYTES] = matrix[j].view(np.uint8)
        cluster.scheduler.writes += 1

    together(d, ins, act, ordered=False)


def move_matrix(d: Decoder, ins: Instruction) -> None:
    """`movmatrix`: transposes a matrix of registers."""
    if ins.parts[1:] != ("sync", "aligned", "m8n8", "trans", "b16"):
        raise d.unsupported()
    target, source = d.target(ins.operands[0], "b32"), d.source(ins.operands[1], "b32")

    def act(w: Warp) -> None:
        w.u[target][:] = pairs(w.u[source].view(np.uint16).reshape(8, 8).T)

    together(d, ins, act, ordered=has_loads(d, ins.operands[1]))


def pairs(matrix: Array) -> Array:
    """Return an 8x8 matrix of 16 bits as 32 registers of two neighbours of a row."""
    return np.ascontiguousarray(matrix).view(np.uint32).reshape(32)


# Products

_SHAPES = {
    "f16": {(16, 8, 8), (16, 8, 16)},
    "bf16": {(16, 8, 8), (16, 8, 16)},
    "tf32": {(16, 8, 4), (16, 8, 8)},
    "f64": {(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)},
    **{key: {(16, 8, 16), (16, 8, 32)} for key in ["e4m3", "e5m2"]},
    **{key: {(8, 8, 16), (16, 8, 16), (16, 8, 32)} for key in ["s8", "u8"]},
    **{key: {(8, 8, 32), (16, 8, 32), (16, 8, 64)} for key in ["s4", "u4"]},
    "b1": {(8, 8, 128), (16, 8, 128), (16, 8, 256)},
}
# Types that both factors may have each.
_MIXED = ({"s8", "u8"}, {"s4", "u4"}, {"e4m3", "e5m2"})
_RESULTS = {
    "f16": {"f16", "f32"}, "bf16": {"f32"}, "tf32": {"f32"}, "f64": {"f64"},
    "e4m3": {"f16", "f32"}, "e5m2": {"f16", "f32"},
}  # fmt: skip


class Fragments:
    """Where the elements of a factor or a result are: 8 rows, or columns, and registers of lanes.

    A register has neighbours of a row in each lane; lane `4 * i + j` has the j-th of row i, or of
    column i for the second factor.
    """

    def __init__(self, rows: int, length: int, bits: int) -> None:
        width = max(32, bits)
        self.unit = 8 if width == 64 else 4
        self.per_register = width // bits
        self.halves = rows // 8
        self.count = rows * length * bits // (32 * width)
        self.shape = (rows, length)

    def assemble(self, kind: str, slots: list[int], w: Warp) -> Array:
        """Return the elements as a matrix of (rows, length) numbers."""
        raw = np.stack([w.u[slot] for slot in slots]).view(np.uint8).reshape(-1, 32, self.unit)
        values = decode(kind, raw)
        # register = (block of the row, half), lane = (row, place in the block)
        values = values.reshape(-1, self.halves, 8, 4, self.per_register)
        return values.transpose(1, 2, 0, 3, 4).reshape(self.shape)


def multiply(d: Decoder, ins: Instruction) -> None:
    """`mma.sync` of all types of sm_90, dense."""
    parts = list(ins.parts[1:])
    if parts[:2] != ["sync", "aligned"] or len(parts) < 9:
        raise d.unsupported()
    match = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", parts[2])
    if match is None or parts[3:5] != ["row", "col"]:
        raise d.unsupported()
    shape = tuple(int(size) for size in match.groups())
    rest = parts[5:]
    saturates = rest[0] == "satfinite"
    to, a_kind, b_kind, c_kind, *extra = rest[saturates:]
    if shape not in _SHAPES.get(a_kind, set()):
        raise d.unsupported()
    if a_kind != b_kind and not any({a_kind, b_kind} <= kinds for kinds in _MIXED):
        raise d.unsupported()
    bit = a_kind == "b1"
    if extra not in ([["xor", "popc"], ["and", "popc"]] if bit else [[]]):
        raise d.unsupported()
    results = _RESULTS.get(a_kind, {"s32"})
    if to not in results or c_kind not in results or (to != c_kind and a_kind != "f16"):
        raise d.unsupported()
    if saturates and (to != "s32" or bit):
        raise d.unsupported()
    rows, columns, length = shape
    a = Fragments(rows, length, BITS[a_kind])
    b = Fragments(columns, length, BITS[b_kind])
    register = "b64" if a_kind == "f64" else "b32"
    a_slots = [d.source(o, register) for o in registers(ins.operands[1], a.count, d)]
    b_slots = [d.source(o, register) for o in registers(ins.operands[2], b.count, d)]
    c_slots = accumulators(d, ins.operands[3], rows * columns, c_kind, d.source)
    d_slots = accumulators(d, ins.operands[0], rows * columns, to, d.target)

    def act(w: Warp) -> None:
        left, right = a.assemble(a_kind, a_slots, w), b.assemble(b_kind, b_slots, w)
        start = read_result(w, c_slots, c_kind, rows)
        if bit:
            both = left[:, None, :] ^ right if extra[0] == "xor" else left[:, None, :] & right
            total = start + both.sum(axis=2)
        elif to == "f64":
            total = fused_products(left, right, start)
        else:
            total = start + left @ right.T
        write_result(w, d_slots, to, result_bits(total, to, saturates))

    together(d, ins, act, ordered=any(has_loads(d, o) for o in ins.operands[1:]))


def has_loads(d: Decoder, operand: Operand) -> bool:
    """Tell whether a fragment may have been loaded from shared memory."""
    items = operand.items if isinstance(operand, Vec) else (operand,)
    return any(exchanges_loads(d, item) for item in items)


def accumulators(
    d: Decoder, operand: Operand, count: int, kind: str, slot: Callable[[Operand, str], int]
) -> list[int]:
    """Return the slots of a result's fragment of `count` elements, two or one to a register."""
    per_lane = count // 32 // (2 if kind == "f16" else 1)
    width = "b64" if kind == "f64" else "b32"
    return [slot(o, width) for o in registers(operand, per_lane, d)]


def read_result(w: Warp, slots: list[int], kind: str, rows: int) -> Array:
    """Return a result's fragments as a matrix: each lane has pairs of neighbours of rows."""
    raw = np.stack([w.u[slot] for slot in slots], axis=1)
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "s32": np.int32}[kind]
    wide = np.int64 if kind == "s32" else np.float64
    values = raw.view(dtype).astype(wide)
    # lane = (row, pair within 8 columns), elements = (8 columns, 8 rows, pair)
    values = values.reshape(8, 4, -1, rows // 8, 2)
    return values.transpose(3, 0, 2, 1, 4).reshape(rows, -1)


def write_result(w: Warp, slots: list[int], kind: str, bits: Array) -> None:
    """Write the bits of a matrix into a result's fragments."""
    rows, columns = bits.shape
    values = bits.reshape(rows // 8, 8, columns // 8, 4, 2).transpose(1, 3, 2, 0, 4)
    values = np.ascontiguousarray(values).reshape(32, -1)
    words = values.view(np.uint64 if kind == "f64" else np.uint32)
    for i, slot in enumerate(slots):
        w.u[slot][:] = words[:, i]


def result_bits(total: Array, kind: str, saturates: bool) -> Array:
    """Round sums to the type of the result."""
    if kind == "s32":
        if saturates:
            total = np.clip(total, -(1 << 31), (1 << 31) - 1)
        return (total & 0xFFFFFFFF).astype(np.uint32)
    return round_sums(total, kind)


def fused_products(left: Array, right: Array, start: Array) -> Array:
    """Add products of f64 one after another, each with one rounding."""
    total = start.copy()
    for i, j in np.ndindex(total.shape):
        value = float(total[i, j])
        for a, b in zip(left[i].tolist(), right[j].tolist(), strict=True):
            if math.isfinite(a) and math.isfinite(b) and math.isfinite(value):
                exact = Fraction(a) * Fraction(b) + Fraction(value)
                value = rounded(exact) if exact else a * b + value
            else:
                value = float(np.float64(a) * b + value)
        total[i, j] = value
    return total


def rounded(exact: Fraction) -> float:
    """Return the nearest binary64; what is too large is infinite."""
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)
