# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration, built in Python: CTA 0 of a cluster copies a tile into CTA 1's shared memory.

python examples/dsmem_copy.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, nvgpu, nvvm, scf, vector
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

ROWS, COLUMNS, THREADS, CLUSTER = 128, 64, 128, 2
TILE_BYTES = ROWS * COLUMNS * 2


def cluster_barrier() -> None:
    nvvm.cluster_arrive()
    nvvm.cluster_wait()


def move_rows(source: ir.Value, target: ir.Value, thread: ir.Value) -> None:
    """Move the tile with all threads of the CTA: eight of them a row, 16 bytes each."""
    eight, vec = builders.index(8), ir.VectorType.get([8], ir.F16Type.get())
    column = arith.muli(arith.remui(thread, eight), eight)
    first, step = arith.divui(thread, eight), builders.index(THREADS // 8)
    for row in scf.for_(first, builders.index(ROWS), step):
        values = vector.load(vec, source, [row, column], alignment=16)
        vector.store(values, target, [row, column], alignment=16)
        scf.yield_([])


def kernel_body(a: ir.Value, b: ir.Value, src: ir.Value, dst: ir.Value) -> None:
    zero, thread = builders.index(0), gpu.thread_id(gpu.Dimension.x)
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    full = nvgpu.mbarrier_create(builders.barrier_group())
    with builders.if_true(is_first):
        nvgpu.mbarrier_init(full, builders.index(1), zero)
        nvvm.fence_mbarrier_init()
    cluster_barrier()
    is_sender = arith.cmpi(arith.CmpIPredicate.eq, gpu.cluster_block_id(gpu.Dimension.x), zero)
    sides = scf.IfOp(is_sender, has_else=True)
    with ir.InsertionPoint(sides.then_block):
        move_rows(a, src, thread)
        cta = ir.Attribute.parse("#nvvm.shared_space<cta>")
        nvvm.fence_proxy(ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=cta)
        gpu.barrier()
        with builders.if_true(is_first):
            tile.copy_async(src, dst, full, rank=1)
        scf.yield_([])
    with ir.InsertionPoint(sides.else_block):
        with builders.if_true(is_first):
            nvgpu.mbarrier_arrive_expect_tx(full, builders.index(TILE_BYTES), zero)
        phase = arith.constant(ir.IntegerType.get_signless(1), 0)
        nvgpu.mbarrier_try_wait_parity(full, phase, builders.index(10_000_000), zero)
        move_rows(dst, b, thread)
        scf.yield_([])
    cluster_barrier()


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module, f16 = ir.Module.create(), ir.F16Type.get()
    matrix = ir.MemRefType.get([ROWS, COLUMNS], f16)
    shared = builders.workgroup_memref([ROWS, COLUMNS], f16)
    with builders.kernel(
        module,
        "dsmem_copy",
        [matrix, matrix],
        workgroup=[shared, shared],
        block=THREADS,
        cluster=CLUSTER,
    ) as kernel:
        kernel_body(*kernel.arguments, *kernel.workgroup)
    builders.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
    return module


if __name__ == "__main__":
    with mt.context(), ir.Location.unknown():
        module = build()
        PassManager.parse("builtin.module(tile-analyze-layout)").run(module.operation)
        executable = mt.compile(module)
    if "--ptx" in sys.argv:
        sys.exit(print(executable.ptx["kernels"]))
    a = np.arange(ROWS * COLUMNS, dtype=np.uint16).view(np.float16).reshape(ROWS, COLUMNS)
    executable.invoke("main", a, b := np.zeros_like(a))
    sys.exit(None if a.tobytes() == b.tobytes() else "error: the tile differs")
