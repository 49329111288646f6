# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ring of four CTAs with two stages, built in Python: send to the next rank.

python examples/ring.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, nvgpu, scf, vector

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

CLUSTER, STEPS, STAGES, COLUMNS, THREADS = 4, 6, 2, 128, 64


def rank_ahead(rank: ir.Value, distance: int) -> ir.Value:
    ahead = arith.addi(rank, builders.index(distance))
    return arith.remui(ahead, builders.index(CLUSTER))


def kernel_body(a: ir.Value, b: ir.Value, src: ir.Value, dst: ir.Value) -> None:
    pair = ir.VectorType.get([2], ir.IntegerType.get_signless(32))
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    column = arith.muli(thread, builders.index(2))
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, builders.index(0))
    following, previous = rank_ahead(rank, 1), rank_ahead(rank, CLUSTER - 1)
    group = builders.barrier_group(STAGES)
    full, free = nvgpu.mbarrier_create(group), nvgpu.mbarrier_create(group)
    with builders.if_true(is_first):
        for barriers in full, free:
            for stage in range(STAGES):
                nvgpu.mbarrier_init(barriers, builders.index(1), builders.index(stage))

    receiving, sending = mt.PipelineState.consumer(STAGES), mt.PipelineState.producer(STAGES)
    steps = scf.ForOp(
        builders.index(0),
        builders.index(STEPS),
        builders.index(1),
        [*receiving.values, *sending.values],
    )
    with ir.InsertionPoint(steps.body):
        receiving = receiving.carried(steps.inner_iter_args[:2])
        sending = sending.carried(steps.inner_iter_args[2:])
        step = steps.induction_variable
        tile.wait((free, sending.barrier), sending.parity)
        values = vector.load(pair, a, [rank, step, column])
        vector.store(values, src, [sending.stage, column])
        gpu.barrier()
        mine, theirs = builders.tile_at(src, sending.stage), builders.tile_at(dst, sending.stage)
        with builders.if_true(is_first):
            tile.expect((full, receiving.barrier), theirs)
            tile.copy_async(mine, theirs, (full, sending.barrier), rank=following)
        tile.wait((full, receiving.barrier), receiving.parity)
        values = vector.load(pair, dst, [receiving.stage, column])
        vector.store(values, b, [rank, step, column])
        gpu.barrier()
        with builders.if_true(is_first):
            tile.arrive((free, receiving.barrier), rank=previous)
        scf.yield_([*receiving.advance().values, *sending.advance().values])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it.

    The kernel asks for the fences and the cluster barriers by `insert_sync`.
    """
    module, i32 = ir.Module.create(), ir.IntegerType.get_signless(32)
    tiles = ir.MemRefType.get([CLUSTER, STEPS, COLUMNS], i32)
    shared = builders.workgroup_memref([STAGES, COLUMNS], i32)
    with builders.kernel(
        module,
        "ring",
        [tiles, tiles],
        workgroup=[shared, shared],
        block=THREADS,
        cluster=CLUSTER,
        insert_sync=True,
    ) as kernel:
        kernel_body(*kernel.arguments, *kernel.workgroup)
    builders.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
    return module


if __name__ == "__main__":
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(build())
    if "--ptx" in sys.argv:
        sys.exit(print(executable.ptx["kernels"]))
    a = np.arange(CLUSTER * STEPS * COLUMNS, dtype=np.int32).reshape(CLUSTER, STEPS, COLUMNS)
    b = np.zeros_like(a)
    executable.invoke("main", a, b)
    sys.exit(None if np.array_equal(b, np.roll(a, 1, axis=0)) else "error: the tiles differ")
