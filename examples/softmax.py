# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The softmax of one row by a cluster of eight CTAs, built in Python and compared with NumPy.

python examples/softmax.py
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, math, vector

import mlir_tile as mt
from mlir_tile import builders
from mlir_tile.dialects import tile

THREADS, CLUSTER, ELEMENTS = 256, 8, 4
ROW = THREADS * CLUSTER * ELEMENTS


def kernel_body(a: ir.Value, b: ir.Value) -> None:
    f32 = ir.F32Type.get()
    four = ir.VectorType.get([ELEMENTS], f32)
    place = arith.muli(gpu.global_id(gpu.Dimension.x), builders.index(ELEMENTS))
    x = vector.load(four, a, [place], alignment=16)
    largest = vector.reduction(f32, vector.CombiningKind.MAXNUMF, x)
    below = arith.subf(x, vector.broadcast(four, tile.all_reduce(largest, "maxnumf")))
    scale = vector.broadcast(four, arith.constant(f32, float(np.log2(np.e))))
    powers = math.exp2(arith.mulf(below, scale))
    own = vector.reduction(f32, vector.CombiningKind.ADD, powers)
    y = arith.divf(powers, vector.broadcast(four, tile.all_reduce(own, "add")))
    vector.store(y, b, [place], alignment=16)


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module = ir.Module.create()
    row = ir.MemRefType.get([ROW], ir.F32Type.get())
    with builders.kernel(module, "softmax", [row, row], block=THREADS, cluster=CLUSTER) as kernel:
        kernel_body(*kernel.arguments)
    builders.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
    return module


if __name__ == "__main__":
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(build())
    a = np.random.default_rng(0).normal(size=ROW).astype(np.float32)
    executable.invoke("main", a, b := np.zeros_like(a))
    powers = np.exp(a.astype(np.float64) - a.max())
    sys.exit(None if np.allclose(b, powers / powers.sum(), rtol=1e-5) else "error: values differ")
