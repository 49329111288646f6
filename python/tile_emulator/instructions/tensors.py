# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor copies: `cp.async.bulk.tensor`, its reductions and prefetches, by tensor maps.

They are bulk copies of a box, whose bytes in global memory are apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.errors import Fault
from tile_emulator.instructions.copies import (
    COMPLETE_TX,
    End,
    launch_copy,
    load_from_global,
    place,
    place_pair,
    receivers,
    store_to_global,
)
from tile_emulator.instructions.decoder import Decoder
from tile_emulator.instructions.reductions import Reduction, tensor_reduction
from tile_emulator.machine.memory import WINDOW_MASK, WINDOW_SHIFT
from tile_emulator.machine.warp import Mask, Warp, lanes_of
from tile_emulator.ptx.module import Instruction, Mem, Operand, Vec
from tile_emulator.tensor_maps import (
    CHUNK,
    MAP_ALIGN,
    MAP_BYTES,
    Box,
    Spread,
    TensorMap,
    arrangement,
    box_at,
    decode,
)

_SHARED_ALIGN = 128
_PARAM, _GLOBAL = 3, 0
_NO_MAP = "pass the 128 bytes that cuTensorMapEncodeTiled returns, aligned to 64"


def read_map(w: Warp, lane: int, address: int) -> TensorMap:
    """Return the tensor map at a generic address."""
    launch = w.cta.cluster.launch
    window = address >> int(WINDOW_SHIFT)
    if address % MAP_ALIGN:
        raise Fault(
            "address",
            f"a tensor map is at 0x{address:x}, it must be at a multiple of {MAP_ALIGN}",
            _NO_MAP,
            lane,
        )
    content = b""
    if window == _PARAM:
        start = address & int(WINDOW_MASK)
        content = launch.params[start : start + MAP_BYTES].tobytes()
    elif window == _GLOBAL:
        content = launch.memory.bytes_at(address, MAP_BYTES).tobytes()
    found = decode(content) if len(content) == MAP_BYTES else None
    if found is None:
        where = "" if window in (_PARAM, _GLOBAL) else ", in neither parameter nor global memory"
        raise Fault("address", f"there is no tensor map at 0x{address:x}{where}", _NO_MAP, lane)
    return found


class Source:
    """The operand `[map, {coordinates}]`."""

    def __init__(self, d: Decoder, operand: Operand, dims: str) -> None:
        if not isinstance(operand, Mem) or len(operand.extra) != 1:
            raise d.error(f"expected a tensor map and coordinates in '{d.ins.opcode}'")
        vector = operand.extra[0]
        items = vector.items if isinstance(vector, Vec) else (vector,)
        self.rank = int(dims[:-1])
        if len(items) != self.rank:
            raise d.error(f"'{d.ins.opcode}' takes {self.rank} coordinates, got {len(items)}")
        self.address = d.address(operand)
        self.coordinates = [d.source(item, "s32") for item in items]

    def find(self, w: Warp, lane: int, addresses: Any) -> tuple[TensorMap, list[int]]:
        """Return one lane's map and the corner of its box."""
        tensor = read_map(w, lane, int(addresses[lane]))
        if tensor.rank != self.rank:
            raise Fault(
                "address",
                f"an instruction for {self.rank} dimensions gets a tensor map of {tensor.rank}",
                "encode the map with the rank of the instruction",
                lane,
            )
        corner = [int(w.s[slot][lane]) for slot in self.coordinates]
        begin = corner[0] * tensor.width
        if begin % CHUNK:
            raise Fault(
                "address",
                f"a box begins {begin} bytes into a row, which is no multiple of {CHUNK}: "
                "an H200 takes the instruction for an illegal one",
                f"let the first coordinate be a multiple of {CHUNK // tensor.width}",
                lane,
            )
        return tensor, corner


def box_of(w: Warp, lane: int, tensor: TensorMap, corner: list[int]) -> Box:
    """Return the box at a corner, which must fit shared memory."""
    most = w.cta.cluster.launch.shared_bytes
    if tensor.footprint > most:
        raise Fault(
            "address",
            f"a box of {tensor.footprint} bytes is larger than the CTA's {most} bytes of shared "
            "memory",
            "encode the map with a smaller box",
            lane,
        )
    return box_at(tensor, corner)


def spread(w: Warp, lane: int, tensor: TensorMap, box: Box, order: Any) -> Spread:
    """Return the bytes of a box in global memory in the order of their places in shared memory."""
    memory = w.cta.cluster.launch.memory
    data = np.zeros(1, dtype=np.uint8)
    if box.size:
        if memory.segment(box.address, box.size) is None:
            for start, stop in box.spans:
                if memory.segment(start, stop - start) is None:
                    fault = memory.outside(start, stop - start, lane)
                    fault.advice = "check the map's address, extents and strides, and whose it is"
                    raise fault
        data = memory.bytes_at(box.address, box.size)
    index = np.ascontiguousarray(box.index.reshape(-1, CHUNK)[order]).reshape(-1)
    return Spread(data, index, tensor.filling, tensor.element.endswith("_ftz"))


def placed(w: Warp, tensor: TensorMap, end: End) -> tuple[End, Any]:
    """Return the end in shared memory without what a swizzle leaves free, and its chunks' order."""
    cluster = w.cta.cluster
    start = end.ranges[0].start
    base = start % cluster.shared_bytes % 1024
    order, ranges = arrangement(tensor.rows, tensor.inner, tensor.swizzle, base)
    ranges = tuple(slice(start + r.start, start + r.stop) for r in ranges)
    if len(ranges) == 1:
        return End(cluster.shared[ranges[0]], end.cta, ranges), order
    index = np.concatenate([np.arange(r.start, r.stop) for r in ranges])
    return End(Spread(cluster.shared, index), end.cta, ranges), order


def tensor_copy(d: Decoder, ins: Instruction, parts: tuple[str, ...]) -> None:
    """`cp.async.bulk.tensor`, and `cp.reduce.async.bulk.tensor` whose operation is the fourth part.

    `parts` begins with the number of dimensions, destination and source.
    """
    dims, to, source_space, *more = parts
    operation = more.pop(0) if ins.parts[1] == "reduce" else None
    rest = set(more) - {"tile", "L2::cache_hint"}
    operands = list(ins.operands)
    if "L2::cache_hint" in parts:
        operands.pop()
    load = to in ("shared::cluster", "shared::cta") and source_space == "global"
    store = to == "global" and source_space == "shared::cta"
    name = "tensor reduction" if operation else "tensor copy"
    if dims not in ("1d", "2d", "3d", "4d", "5d") or (operation and not store):
        raise d.unsupported()
    if store:
        if rest != {"bulk_group"} or len(operands) != 2:
            raise d.unsupported()
        emit_store(d, ins, name, Source(d, operands[0], dims), operands[1], operation)
        return
    multicast = "multicast::cluster" in rest
    if not load or rest - {"multicast::cluster"} != {COMPLETE_TX}:
        raise d.unsupported()
    if len(operands) != 3 + multicast:
        raise d.unsupported()
    target, barrier = d.address(operands[0]), d.address(operands[2])
    source = Source(d, operands[1], dims)
    mask = d.source(operands[3], "u16") if multicast else None

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        targets, barriers, maps = target(w), barrier(w), source.address(w)
        for lane in lanes_of(m).tolist():
            tensor, corner = source.find(w, lane, maps)
            box = box_of(w, lane, tensor, corner)
            ranks = None if mask is None else int(w.u[mask][lane])
            for one_target, one_barrier in receivers(
                int(targets[lane]), int(barriers[lane]), ranks
            ):
                there, live = place_pair(
                    w, lane, one_target, one_barrier, tensor.footprint, _SHARED_ALIGN,
                    to == "shared::cta", name,
                )  # fmt: skip
                there, order = placed(w, tensor, there)
                data = spread(w, lane, tensor, box, order)
                origin = load_from_global(w, lane, box.spans, data)
                launch_copy(w, lane, ins, name, origin, there, live, True)

    d.emit_visible(step)


def emit_store(
    d: Decoder,
    ins: Instruction,
    name: str,
    into: Source,
    operand: Operand,
    operation: str | None,
) -> None:
    """A box of the own CTA's shared memory goes to global memory, or is combined with it."""
    source = d.address(operand)

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        sources, maps = source(w), into.address(w)
        for lane in lanes_of(m).tolist():
            tensor, corner = into.find(w, lane, maps)
            box = box_of(w, lane, tensor, corner)
            reduction = None if operation is None else reduction_of(operation, tensor, lane)
            own = place(w, lane, int(sources[lane]), tensor.footprint, _SHARED_ALIGN, True)
            own, order = placed(w, tensor, own)
            data = spread(w, lane, tensor, box, order)
            store_to_global(w, lane, ins, name, own, data, box.spans, reduction)

    d.emit_visible(step)


def reduction_of(operation: str, tensor: TensorMap, lane: int) -> Reduction:
    """Return the reduction of a map's elements; raises Fault where PTX has none."""
    found = tensor_reduction(operation, tensor.element)
    if found is None:
        raise Fault(
            "address",
            f"a tensor reduction .{operation} gets a tensor map of {tensor.element} elements",
            "encode the map with an element type that the operation is defined for",
            lane,
        )
    return found


def prefetch_box(d: Decoder, ins: Instruction, parts: tuple[str, ...]) -> None:
    """`cp.async.bulk.prefetch.tensor`: looks at the map, and moves nothing."""
    dims, to, source_space = parts[:3]
    if (to, source_space) != ("L2", "global") or set(parts[3:]) - {"tile", "L2::cache_hint"}:
        raise d.unsupported()
    source = Source(d, ins.operands[0], dims)

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        maps = source.address(w)
        for lane in lanes_of(m).tolist():
            source.find(w, lane, maps)

    d.emit(step)


def prefetch(d: Decoder, ins: Instruction) -> None:
    """`prefetch`, which does nothing but for `prefetch.tensormap`, which looks at the map."""
    if ins.parts[-1] != "tensormap":
        return
    address = d.address(ins.operands[0])

    def step(w: Warp, m: Mask) -> None:
        w.at = ins
        maps = address(w)
        for lane in lanes_of(m).tolist():
            read_map(w, lane, int(maps[lane]))

    d.emit(step)
