# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Addresses in shared memory: of tiles, of barriers, and of their counterparts in a peer CTA.

Shared memory is LLVM's address space 3, the shared memories of the whole cluster are space 7.
"""

from mlir import ir
from mlir.dialects import arith, llvm, memref, nvgpu, nvvm

GEP_DYNAMIC = -(2**31)


def shared_pointer(tile: ir.Value, start_bytes: int) -> ir.Value:
    """Return the address of the first byte of `tile`, in the CTA's own shared memory.

    `start_bytes` counts from the aligned pointer of the memref's descriptor. Where the memref's
    type says that its offset is known at run time only, the offset that the descriptor carries is
    taken instead: it is the whole of it.
    """
    base, offset_bytes = tile, None
    _, offset = ir.MemRefType(tile.type).get_strides_and_offset()
    if offset == ir.ShapedType.get_dynamic_stride_or_offset():
        metadata = memref.ExtractStridedMetadataOp(tile)
        base, offset_bytes = metadata.base_buffer, in_bytes(metadata.offset, tile.type)
    pointer = pointer_to(memref.extract_aligned_pointer_as_index(base))
    return advance(pointer, start_bytes if offset_bytes is None else offset_bytes)


def in_bytes(elements: ir.Value, tile_type: ir.Type) -> ir.Value:
    """Return `elements`, an index, times the element size of `tile_type`."""
    element_bytes = element_bits(tile_type) // 8
    return arith.muli(elements, arith.constant(ir.IndexType.get(), element_bytes))


def element_bits(tile_type: ir.Type) -> int:
    """Return the bits of an element of `tile_type`."""
    element = ir.MemRefType(tile_type).element_type
    return 64 if isinstance(element, ir.IndexType) else element.width


def pointer_to(address: ir.Value) -> ir.Value:
    """Turn an `index` or `i64` into a pointer into the CTA's own shared memory."""
    i64 = ir.IntegerType.get_signless(64)
    if isinstance(address.type, ir.IndexType):
        address = arith.index_cast(i64, address)
    return llvm.inttoptr(llvm.PointerType.get(3), address)


def advance(pointer: ir.Value, offset_bytes: int | ir.Value) -> ir.Value:
    """Return `pointer` moved by a constant or an `index` of bytes."""
    i8 = ir.IntegerType.get_signless(8)
    if isinstance(offset_bytes, int):
        if offset_bytes == 0:
            return pointer
        return llvm.getelementptr(
            pointer.type, pointer, [], [offset_bytes], i8, llvm.GEPNoWrapFlags.none
        )
    i64 = ir.IntegerType.get_signless(64)
    moved = arith.index_cast(i64, offset_bytes)
    return llvm.getelementptr(
        pointer.type, pointer, [moved], [GEP_DYNAMIC], i8, llvm.GEPNoWrapFlags.none
    )


def mapped(pointer: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the counterpart of `pointer` in CTA `rank` of the cluster (`mapa`)."""
    return nvvm.mapa(llvm.PointerType.get(7), pointer, rank)


def own_barrier(barriers: ir.Value, index: ir.Value) -> ir.Value:
    """Return the address of a barrier of the CTA's own."""
    return pointer_to(nvgpu.mbarrier_get(ir.IntegerType.get_signless(64), barriers, index))


def mapped_barrier(barriers: ir.Value, index: ir.Value, rank: ir.Value) -> ir.Value:
    """Return the counterpart of a barrier in CTA `rank`, as the type that the copy wants.

    Upstream types the copy's barrier as a pointer into the CTA's own shared memory, although PTX
    wants the peer's there. Through an integer the pointer keeps its value; an address space cast
    would convert it.
    """
    i64 = ir.IntegerType.get_signless(64)
    return pointer_to(llvm.ptrtoint(i64, mapped(own_barrier(barriers, index), rank)))
