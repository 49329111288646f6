# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fan-in, built in Python: three CTAs copy a tile each into rank 0, which adds them up.

python examples/fan_in.py [--ptx]     run and compare; or print the kernel's PTX
"""

import functools
import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, nvgpu, scf, vector

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

CLUSTER, COLUMNS, THREADS = 4, 128, 64
SENDERS = CLUSTER - 1


def kernel_body(a: ir.Value, b: ir.Value, src: ir.Value, dst: ir.Value) -> None:
    pair = ir.VectorType.get([2], ir.IntegerType.get_signless(32))
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    zero, one = builders.index(0), builders.index(1)
    column = arith.muli(thread, builders.index(2))
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    full = nvgpu.mbarrier_create(builders.barrier_group())
    with builders.if_true(is_first):
        nvgpu.mbarrier_init(full, one, zero)
    is_receiver = arith.cmpi(arith.CmpIPredicate.eq, rank, zero)
    sides = scf.IfOp(is_receiver, has_else=True)
    with ir.InsertionPoint(sides.then_block):
        with builders.if_true(is_first):
            tile.expect(full, dst)
        tile.wait(full, False)
        slots = [vector.load(pair, dst, [builders.index(slot), column]) for slot in range(SENDERS)]
        vector.store(functools.reduce(arith.addi, slots), b, [column])
        scf.yield_([])
    with ir.InsertionPoint(sides.else_block):
        vector.store(vector.load(pair, a, [rank, column]), src, [column])
        gpu.barrier()
        with builders.if_true(is_first):
            slot = builders.tile_at(dst, arith.subi(rank, one))
            tile.copy_async(src, slot, full, rank=0)
        scf.yield_([])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it.

    The kernel asks for the fences and the cluster barriers by `insert_sync`.
    """
    module, i32 = ir.Module.create(), ir.IntegerType.get_signless(32)
    tiles, total = (ir.MemRefType.get(shape, i32) for shape in ([CLUSTER, COLUMNS], [COLUMNS]))
    src = builders.workgroup_memref([COLUMNS], i32)
    dst = builders.workgroup_memref([SENDERS, COLUMNS], i32)
    with builders.kernel(
        module,
        "fan_in",
        [tiles, total],
        workgroup=[src, dst],
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
    b = np.zeros(COLUMNS, np.int32)
    executable.invoke("main", a, b)
    sys.exit(None if np.array_equal(b, a[1:].sum(axis=0)) else "error: the sum differs")
