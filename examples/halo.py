# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A stencil over a ring of elements in a cluster of four CTAs that exchange halos, built in Python.

python examples/halo.py
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvgpu, scf

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

THREADS, CLUSTER = 64, 4


def cell(rows: ir.Value, row: ir.Value, column: int) -> ir.Value:
    """Return one element of the row, as a tile to expect."""
    return memref.subview(builders.tile_at(rows, row), [column], [1], [1])


def step(own: ir.Value, number: ir.Value, rows: ir.Value, bars: ir.Value) -> ir.Value:
    """Exchange halos with both neighbours, and return the thread's element of the next step."""
    f32, two = ir.F32Type.get(), builders.index(2)
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    at = arith.remui(number, two)  # two rows and two barriers take turns

    def neighbour(by: int) -> ir.Value:
        return arith.remui(arith.addi(rank, builders.index(by)), builders.index(CLUSTER))

    def is_thread(which: int) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.eq, thread, builders.index(which))

    right = arith.addi(thread, two)
    memref.store(own, rows, [at, arith.addi(thread, builders.index(1))])
    with builders.if_true(is_thread(0)):
        tile.expect((bars, at), [cell(rows, at, 0), cell(rows, at, THREADS + 1)])
        tile.store_async(own, rows, [at, THREADS + 1], (bars, at), rank=neighbour(CLUSTER - 1))
    with builders.if_true(is_thread(THREADS - 1)):
        tile.store_async(own, rows, [at, 0], (bars, at), rank=neighbour(1))
    gpu.barrier()
    tile.wait((bars, at), arith.divui(number, two))
    sides = arith.addf(memref.load(rows, [at, thread]), memref.load(rows, [at, right]))
    quarter, half = arith.constant(f32, 0.25), arith.constant(f32, 0.5)
    return arith.addf(arith.mulf(own, half), arith.mulf(sides, quarter))


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module, f32 = ir.Module.create(), ir.F32Type.get()
    ring = ir.MemRefType.get([CLUSTER * THREADS], f32)
    with builders.kernel(
        *(module, "smooth", [ring, ring, ir.IndexType.get()]),
        workgroup=[builders.workgroup_memref([2, THREADS + 2], f32)],
        block=THREADS,
        cluster=CLUSTER,
        insert_sync=True,
    ) as kernel:
        (a, b, steps), (rows,) = kernel.arguments, kernel.workgroup
        zero, one, place = builders.index(0), builders.index(1), gpu.global_id(gpu.Dimension.x)
        bars = nvgpu.mbarrier_create(builders.barrier_group(2))
        is_first = arith.cmpi(arith.CmpIPredicate.eq, gpu.thread_id(gpu.Dimension.x), zero)
        with builders.if_true(is_first):
            nvgpu.mbarrier_init(bars, one, zero)
            nvgpu.mbarrier_init(bars, one, one)
        loop = scf.ForOp(zero, steps, one, [memref.load(a, [place])])
        with ir.InsertionPoint(loop.body):
            scf.yield_([step(loop.inner_iter_args[0], loop.induction_variable, rows, bars)])
        memref.store(loop.results[0], b, [place])
    builders.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
    return module


if __name__ == "__main__":
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(build())
    a = np.random.default_rng(0).random(CLUSTER * THREADS, np.float32)
    executable.invoke("main", a, b := np.zeros_like(a), 5)
    expected = a.astype(np.float64)
    for _ in range(5):
        expected = expected / 2 + (np.roll(expected, 1) + np.roll(expected, -1)) / 4
    sys.exit(None if np.allclose(b, expected, rtol=1e-5) else "error: values differ")
