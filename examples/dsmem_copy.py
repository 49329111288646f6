# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The demonstration, built in Python: CTA 0 of a cluster copies a tile into CTA 1's shared memory.

python examples/dsmem_copy.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, func, gpu, nvgpu, nvvm, scf, vector
from mlir.dialects._gpu_ops_gen import LaunchFuncOp  # the exported one knows no clusters
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile.dialects import tile

ROWS, COLUMNS, THREADS, CLUSTER = 128, 64, 128, 2
TILE_BYTES = ROWS * COLUMNS * 2
WORKGROUP = "#gpu.address_space<workgroup>"


def constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def cluster_barrier() -> None:
    nvvm.cluster_arrive()
    nvvm.cluster_wait()


def move_rows(source: ir.Value, target: ir.Value, thread: ir.Value) -> None:
    """Move the tile with all threads of the CTA: eight of them a row, 16 bytes each."""
    eight, vec = constant(8), ir.VectorType.get([8], ir.F16Type.get())
    column = arith.muli(arith.remui(thread, eight), eight)
    for row in scf.for_(arith.divui(thread, eight), constant(ROWS), constant(THREADS // 8)):
        values = vector.load(vec, source, [row, column], alignment=16)
        vector.store(values, target, [row, column], alignment=16)
        scf.yield_([])


def kernel_body(a: ir.Value, b: ir.Value, src: ir.Value, dst: ir.Value) -> None:
    group = ir.Type.parse(f"!nvgpu.mbarrier.group<memorySpace = {WORKGROUP}, num_barriers = 1>")
    zero, thread = constant(0), gpu.thread_id(gpu.Dimension.x)
    peer = arith.constant(ir.IntegerType.get_signless(32), 1)
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    barriers = nvgpu.mbarrier_create(group)
    with ir.InsertionPoint(scf.IfOp(is_first).then_block):
        nvgpu.mbarrier_init(barriers, constant(1), zero)
        nvvm.fence_mbarrier_init()
        scf.yield_([])
    cluster_barrier()
    is_sender = arith.cmpi(arith.CmpIPredicate.eq, gpu.cluster_block_id(gpu.Dimension.x), zero)
    sides = scf.IfOp(is_sender, has_else=True)
    with ir.InsertionPoint(sides.then_block):
        move_rows(a, src, thread)
        cta = ir.Attribute.parse("#nvvm.shared_space<cta>")
        nvvm.fence_proxy(ir.Attribute.parse("#nvvm.proxy_kind<async.shared>"), space=cta)
        gpu.barrier()
        with ir.InsertionPoint(scf.IfOp(is_first).then_block):
            tile.copy_async(src, dst, peer, barriers, zero)
            scf.yield_([])
        scf.yield_([])
    with ir.InsertionPoint(sides.else_block):
        with ir.InsertionPoint(scf.IfOp(is_first).then_block):
            nvgpu.mbarrier_arrive_expect_tx(barriers, constant(TILE_BYTES), zero)
            scf.yield_([])
        phase = arith.constant(ir.IntegerType.get_signless(1), 0)
        nvgpu.mbarrier_try_wait_parity(barriers, phase, constant(10_000_000), zero)
        move_rows(dst, b, thread)
        scf.yield_([])
    cluster_barrier()
    gpu.return_([])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it."""
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    matrix, token = ir.Type.parse(f"memref<{ROWS}x{COLUMNS}xf16>"), gpu.AsyncTokenType.get()
    shared = ir.Type.parse(f"memref<{ROWS}x{COLUMNS}xf16, {WORKGROUP}>")
    arguments, signature = [matrix, matrix, shared, shared], ir.FunctionType.get([matrix] * 2, [])
    with ir.InsertionPoint(module.body):
        kernels, main = gpu.GPUModuleOp("kernels"), func.FuncOp("main", signature)
    with ir.InsertionPoint(kernels.bodyRegion.blocks.append()):
        kernel = gpu.GPUFuncOp(signature, "dsmem_copy", kernel=True)
    for name, size in ("known_block_size", THREADS), ("known_cluster_size", CLUSTER):
        kernel.attributes[name] = ir.DenseI32ArrayAttr.get([size, 1, 1])
    kernel.attributes["workgroup_attributions"] = ir.Attribute.parse("2")
    block = kernel.body.blocks.append(*arguments, arg_locs=[kernel.location] * 4)
    with ir.InsertionPoint(block):
        kernel_body(*block.arguments)
    main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    with ir.InsertionPoint(main.add_entry_block()):
        one, cluster, threads = map(constant, (1, CLUSTER, THREADS))
        device_a, ready = gpu.alloc(matrix, token, [gpu.WaitOp(token, []).result], [], [])
        device_b, ready = gpu.alloc(matrix, token, [ready], [], [])
        ready = gpu.memcpy(token, [ready], device_a, main.arguments[0])
        sizes = (cluster, one, one, threads, one, one)
        clusters = {"clusterSizeX": cluster, "clusterSizeY": one, "clusterSizeZ": one}
        name, both = ["kernels", "dsmem_copy"], [device_a, device_b]
        ready = LaunchFuncOp(token, [ready], name, *sizes, both, **clusters).result
        ready = gpu.memcpy(token, [ready], main.arguments[1], device_b)
        ready = gpu.dealloc(token, [gpu.dealloc(token, [ready], device_a)], device_b)
        gpu.WaitOp(None, [ready])
        func.return_([])
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
