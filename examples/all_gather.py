# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An all-gather over eight CTAs, built in Python: every CTA copies its tile into the seven others.

python examples/all_gather.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, nvgpu, scf, vector

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

CLUSTER, COLUMNS, THREADS = 8, 128, 64


def kernel_body(a: ir.Value, b: ir.Value, mine: ir.Value, theirs: ir.Value) -> None:
    pair = ir.VectorType.get([2], ir.IntegerType.get_signless(32))
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    zero, one, cluster = builders.index(0), builders.index(1), builders.index(CLUSTER)
    column = arith.muli(thread, builders.index(2))
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    full = nvgpu.mbarrier_create(builders.barrier_group())
    with builders.if_true(is_first):
        nvgpu.mbarrier_init(full, one, zero)
    values = vector.load(pair, a, [rank, column])
    vector.store(values, mine, [column])
    vector.store(values, b, [rank, rank, column])
    gpu.barrier()
    with builders.if_true(is_first):
        tile.expect(full, theirs)
        # The slot says how many ranks behind its receiver the sender is.
        for distance in scf.for_(one, cluster, one):
            slot = builders.tile_at(theirs, arith.subi(distance, one))
            receiver = arith.remui(arith.addi(rank, distance), cluster)
            tile.copy_async(mine, slot, full, rank=receiver)
            scf.yield_([])
    tile.wait(full, False)
    for distance in scf.for_(one, cluster, one):
        received = vector.load(pair, theirs, [arith.subi(distance, one), column])
        sender = arith.remui(arith.subi(arith.addi(rank, cluster), distance), cluster)
        vector.store(received, b, [rank, sender, column])
        scf.yield_([])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it.

    The kernel asks for the fences and the cluster barriers by `insert_sync`.
    """
    module, i32 = ir.Module.create(), ir.IntegerType.get_signless(32)
    tiles = ir.MemRefType.get([CLUSTER, COLUMNS], i32)
    gathered = ir.MemRefType.get([CLUSTER, CLUSTER, COLUMNS], i32)
    mine = builders.workgroup_memref([COLUMNS], i32)
    theirs = builders.workgroup_memref([CLUSTER - 1, COLUMNS], i32)
    with builders.kernel(
        module,
        "all_gather",
        [tiles, gathered],
        workgroup=[mine, theirs],
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
    a = np.arange(CLUSTER * COLUMNS, dtype=np.int32).reshape(CLUSTER, COLUMNS)
    b = np.zeros((CLUSTER, CLUSTER, COLUMNS), np.int32)
    executable.invoke("main", a, b)
    expected = np.broadcast_to(a, b.shape)
    sys.exit(None if np.array_equal(b, expected) else "error: the tiles differ")
