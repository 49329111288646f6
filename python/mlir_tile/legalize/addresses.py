# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses of tiles, of barriers, and of their counterparts in a peer CTA.

Global memory is LLVM's address space 1, shared memory is space 3, and the shared memories of the
whole cluster are space 7.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, llvm, memref, nvgpu, nvvm

from .. import _tile
from ..dialects.tile import CopySideAttr, LayoutAttr, OffsetOp
from .values import Attributes, build, built_once, constant, index, made_once

GEP_DYNAMIC = -(2**31)
GLOBAL, SHARED, CLUSTER = 1, 3, 7


Offset: TypeAlias = int | ir.Value
"""Bytes: a constant, or an `index`."""


class Side:
    """Where the chunks of one side of a copy, the memref `tile`, begin, as `planned`.

    The planned start counts from the aligned pointer of the memref's descriptor. Where the memref's
    type says that its offset is known at run time only, the offset of the memref is taken instead:
    it is the whole of it. With a `rank` it is the counterpart of the buffer in that CTA. `steps`
    are those of the plan's loops, in bytes, with values for those that only the run time knows.
    """

    def __init__(self, tile: ir.Value, planned: CopySideAttr, rank: ir.Value | None = None) -> None:
        self.base, offset_bytes = base_and_offset(tile)
        self.steps = tuple(steps_of_side(tile, planned))
        self.start_bytes: Offset = planned.start if offset_bytes is None else offset_bytes
        self.swizzle = tuple(planned.swizzle)
        if not self.swizzle:
            self.base, self.start_bytes = advance(self.base, self.start_bytes), 0
        if rank is not None:
            self.base = mapped(self.base, rank)

    def at(self, offset_bytes: Offset) -> ir.Value:
        """Return the address of the chunk `offset_bytes` after the start, swizzled as planned."""
        if not self.swizzle:
            return advance(self.base, offset_bytes)
        return advance(self.base, swizzled(plus(self.start_bytes, offset_bytes), self.swizzle))


def steps_of_side(tile: ir.Value, planned: CopySideAttr) -> Iterator[Offset]:
    """Yield the steps of the plan's loops; a stride that only `tile` knows is taken from it."""
    strides = iter(planned.strides)
    for step in planned.steps:
        if step is None:
            stride = runtime_stride(tile, next(strides))
            yield arith.muli(stride, index(next(strides)))
        else:
            yield step


@built_once
def runtime_stride(tile: ir.Value, dimension: int) -> ir.Value:
    """Return the stride of `tile` in `dimension`, in elements."""
    return memref.ExtractStridedMetadataOp(tile).strides[dimension]


@built_once
def base_and_offset(tile: ir.Value) -> tuple[ir.Value, ir.Value | None]:
    """Return the aligned pointer of `tile`, and its offset in bytes if only its value is known."""
    type_ = ir.MemRefType(tile.type)
    base, offset_bytes = tile, None
    if isinstance(type_.layout, LayoutAttr):
        if type_.layout.offset is None:
            offset_bytes = in_bytes(OffsetOp(tile).result, type_)
    elif type_.get_strides_and_offset()[1] == ir.ShapedType.get_dynamic_stride_or_offset():
        metadata = memref.ExtractStridedMetadataOp(tile)
        base, offset_bytes = metadata.base_buffer, in_bytes(metadata.offset, type_)
    address = memref.extract_aligned_pointer_as_index(base)
    return pointer_to(address, SHARED if is_shared(tile) else GLOBAL), offset_bytes


def is_shared(tile: ir.Value) -> bool:
    """Return whether the memref `tile` is in workgroup memory."""
    return _tile.is_workgroup_memory(ir.MemRefType(tile.type))


def in_bytes(elements: ir.Value, type_: ir.MemRefType) -> ir.Value:
    """Return `elements`, an index, times the element size of `type_`."""
    bits = element_bits(type_)
    if bits % 8:
        return arith.divui(elements, index(8 // bits))
    return arith.muli(elements, index(bits // 8))


def plus(a: Offset, b: Offset) -> Offset:
    """Return the sum of two offsets; a constant where both are."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0 or b == 0:
        return b if isinstance(a, int) and a == 0 else a
    left, right = (index(x) if isinstance(x, int) else x for x in (a, b))
    return arith.addi(left, right)


def swizzled(offset_bytes: Offset, swizzle: Sequence[int]) -> Offset:
    """Return `offset_bytes` XOR its own bits, as `#tile.layout` defines a swizzle.

    It is a constant, or of any integer type.
    """
    if isinstance(offset_bytes, int):
        return _tile.swizzled(offset_bytes, swizzle)
    bits, base, shift = swizzle
    mask = ((1 << bits) - 1) << base
    type_ = offset_bytes.type
    moved = arith.shrui(offset_bytes, constant(type_, shift))
    return arith.xori(offset_bytes, arith.andi(moved, constant(type_, mask)))


def element_bits(tile_type: ir.Type) -> int:
    """Return the bits of an element of `tile_type`."""
    bits: int = _tile.element_bits(ir.MemRefType(tile_type).element_type)
    return bits


def pointer_to(address: ir.Value, space: int = SHARED) -> ir.Value:
    """Turn `address`, an `index` or `i64`, into a pointer: into the CTA's own shared memory."""
    i64 = ir.IntegerType.get_signless(64)
    if isinstance(address.type, ir.IndexType):
        address = arith.index_cast(i64, address)
    return llvm.inttoptr(llvm.PointerType.get(space), address)


@built_once
def advance(pointer: ir.Value, offset_bytes: int | ir.Value) -> ir.Value:
    """Return `pointer` moved by `offset_bytes`, a constant, an `index` or an `i32`."""
    if isinstance(offset_bytes, int):
        return element_pointer(pointer, offset_bytes) if offset_bytes else pointer
    if isinstance(offset_bytes.type, ir.IndexType):
        offset_bytes = arith.index_cast(ir.IntegerType.get_signless(64), offset_bytes)
    return element_pointer(pointer, GEP_DYNAMIC, offset_bytes)


def element_pointer(pointer: ir.Value, constant_bytes: int, *moved: ir.Value) -> ir.Value:
    """Build a `getelementptr` over bytes."""
    return build(
        "llvm.getelementptr",
        [pointer, *moved],
        [pointer.type],
        over_bytes(constant_bytes),
    ).result


@made_once
def over_bytes(constant_bytes: int) -> Attributes:
    """Return the attributes of a `getelementptr` that counts in bytes."""
    i8 = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
    return {"rawConstantIndices": ir.DenseI32ArrayAttr.get([constant_bytes]), "elem_type": i8}


@built_once
def mapped(pointer: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the counterpart of `pointer` in CTA `rank` of the cluster (`mapa`)."""
    return nvvm.mapa(llvm.PointerType.get(CLUSTER), pointer, rank)


@built_once
def in_cluster(pointer: ir.Value) -> ir.Value:
    """Return `pointer` as one into the cluster's shared memory, of which the CTA's own is a part.

    Through an integer, which costs nothing; an address space cast would convert it.
    """
    if llvm.PointerType(pointer.type).address_space == CLUSTER:
        return pointer
    i64 = ir.IntegerType.get_signless(64)
    return llvm.inttoptr(llvm.PointerType.get(CLUSTER), llvm.ptrtoint(i64, pointer))


@built_once
def own_barrier(barriers: ir.Value, index: ir.Value) -> ir.Value:
    """Return the address of a barrier of the CTA's own."""
    return pointer_to(nvgpu.mbarrier_get(ir.IntegerType.get_signless(64), barriers, index))


@built_once
def mapped_barrier(barriers: ir.Value, index: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the counterpart of `barriers[index]` in CTA `rank`, as the type that the copy wants.

    Upstream types the copy's barrier as a pointer into the CTA's own shared memory, although PTX
    wants the peer's there. Through an integer the pointer keeps its value; an address space cast
    would convert it.
    """
    i64 = ir.IntegerType.get_signless(64)
    return pointer_to(llvm.ptrtoint(i64, mapped(own_barrier(barriers, index), rank)))


@built_once
def number_of(pointer: ir.Value) -> ir.Value:
    """Return the 32 bits of a pointer into shared memory."""
    return llvm.ptrtoint(ir.IntegerType.get_signless(32), pointer)
