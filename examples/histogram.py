# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A histogram in the shared memory of a cluster of four CTAs, built in Python.

python examples/histogram.py
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvvm, scf

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

THREADS, CLUSTER, VALUES = 64, 4, 4096
BINS = THREADS * CLUSTER


def cluster_barrier() -> None:
    nvvm.cluster_arrive()
    nvvm.cluster_wait()


def kernel_body(a: ir.Value, b: ir.Value, bins: ir.Value) -> None:
    """Count in the bin of each value: CTA `value / 64` of the cluster has it."""
    thread, place = gpu.thread_id(gpu.Dimension.x), gpu.global_id(gpu.Dimension.x)
    one, in_cta = builders.i32(1), builders.i32(THREADS)
    memref.store(builders.i32(0), bins, [thread])
    cluster_barrier()
    for i in scf.for_(place, builders.index(VALUES), builders.index(BINS)):
        value = memref.load(a, [i])
        there = tile.peer(bins, rank=arith.divui(value, in_cta))
        own_bin = arith.index_cast(ir.IndexType.get(), arith.remui(value, in_cta))
        memref.atomic_rmw(arith.AtomicRMWKind.addi, one, there, [own_bin])
        scf.yield_([])
    cluster_barrier()
    memref.store(memref.load(bins, [thread]), b, [place])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module, i32 = ir.Module.create(), ir.IntegerType.get_signless(32)
    types = [ir.MemRefType.get([VALUES], i32), ir.MemRefType.get([BINS], i32)]
    bins = builders.workgroup_memref([THREADS], i32)
    with builders.kernel(
        *(module, "histogram", types),
        workgroup=[bins],
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
    a = np.random.default_rng(0).integers(0, BINS, VALUES, dtype=np.int32)
    executable.invoke("main", a, b := np.zeros(BINS, np.int32))
    sys.exit(None if (b == np.bincount(a, minlength=BINS)).all() else "error: counts differ")
