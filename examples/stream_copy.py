# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A double-buffered copy of a matrix of any shape through shared memory, built in Python.

python examples/stream_copy.py
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvgpu, nvvm, scf

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

ROWS, COLUMNS, WARP, CTAS = 16, 64, 32, 4


def part(matrix: ir.Value, number: ir.Value, shape: list[ir.Value]) -> ir.Value:
    """Return a tile of `matrix`; those at the edges begin early enough to be whole."""
    starts = []
    across = arith.ceildivui(shape[1], builders.index(COLUMNS))
    places = arith.divui(number, across), arith.remui(number, across)
    for place, size, extent in zip(places, (ROWS, COLUMNS), shape, strict=True):
        last = arith.subi(extent, builders.index(size))
        starts.append(arith.minui(arith.muli(place, builders.index(size)), last))
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    rows = ir.StridedLayoutAttr.get(dynamic, [dynamic, 1])
    type_ = ir.MemRefType.get([ROWS, COLUMNS], ir.F32Type.get(), rows)
    sizes = [dynamic, dynamic], [ROWS, COLUMNS], [1, 1]
    return memref.SubViewOp(type_, matrix, starts, [], [], *sizes).result


def body(kernel: builders.Kernel) -> None:
    """Load one tile each round, and write out the one before."""
    (x, y), (buffers,) = kernel.arguments, kernel.workgroup
    zero, one, two = (builders.index(number) for number in range(3))
    thread = gpu.thread_id(gpu.Dimension.x)
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    full = nvgpu.mbarrier_create(builders.barrier_group(2))
    with builders.if_true(is_first):
        nvgpu.mbarrier_init(full, one, zero)
        nvgpu.mbarrier_init(full, one, one)
        nvvm.fence_mbarrier_init()
    gpu.barrier()
    # What the stride of a matrix without padding promises holds for its columns.
    shape = [memref.dim(x, zero), tile.assume_multiple(memref.dim(x, one), 4)]
    tiles = arith.muli(
        arith.ceildivui(shape[0], builders.index(ROWS)),
        arith.ceildivui(shape[1], builders.index(COLUMNS)),
    )
    first, step = gpu.block_id(gpu.Dimension.x), gpu.grid_dim(gpu.Dimension.x)
    # CTAs beyond the tiles have none.
    mine = arith.divui(arith.subi(arith.addi(tiles, arith.subi(step, one)), first), step)
    loop = scf.ForOp(zero, arith.addi(mine, one), one)
    with ir.InsertionPoint(loop.body):
        loading = loop.induction_variable
        is_there = arith.cmpi(arith.CmpIPredicate.ult, loading, mine)
        with builders.if_true(is_there):
            stage = arith.remui(loading, two)
            into = builders.tile_at(buffers, stage)
            # The last round wrote from this buffer, and has to have read it.
            nvvm.cp_async_bulk_wait_group(0, read=True)
            with builders.if_true(is_first):
                tile.expect((full, stage), into)
            number = arith.addi(arith.muli(loading, step), first)
            tile.copy_async(part(x, number, shape), into, (full, stage), issue="warp")
        with builders.if_true(arith.cmpi(arith.CmpIPredicate.ugt, loading, zero)):
            done = arith.subi(loading, one)
            stage = arith.remui(done, two)
            tile.wait((full, stage), arith.divui(done, two))
            number = arith.addi(arith.muli(done, step), first)
            tile.copy_async(builders.tile_at(buffers, stage), part(y, number, shape), issue="warp")
            nvvm.cp_async_bulk_commit_group()
        scf.yield_([])
    nvvm.cp_async_bulk_wait_group(0)


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module, f32 = ir.Module.create(), ir.F32Type.get()
    dynamic = ir.ShapedType.get_dynamic_size()
    matrix = ir.MemRefType.get([dynamic, dynamic], f32)
    with builders.kernel(
        *(module, "stream_copy", [matrix, matrix]),
        workgroup=[builders.workgroup_memref([2, ROWS, COLUMNS], f32)],
        block=WARP,
        cluster=1,
    ) as kernel:
        # Every row begins at a multiple of 4 elements, 16 bytes.
        for argument in range(2):
            builders.promise(kernel, argument, alignment_bytes=16, multiple_of=[4, 1])
        body(kernel)
    builders.main(module, kernel, grid=CTAS, copy_in=[0], copy_out=[1])
    return module


if __name__ == "__main__":
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(build())
    for shape in [(70, 200), (16, 64), (129, 68)]:
        x = np.random.default_rng(0).random(shape, np.float32)
        executable.invoke("main", x, y := np.zeros_like(x))
        if not np.array_equal(x, y):
            sys.exit(f"error: values differ in {shape}")
