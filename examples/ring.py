# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ring of four CTAs with two stages, built in Python: send to the next rank.

python examples/ring.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, func, gpu, memref, nvgpu, scf, vector
from mlir.dialects._gpu_ops_gen import LaunchFuncOp  # the exported one knows no clusters

import mlir_tile as mt
from mlir_tile.dialects import tile

CLUSTER, STEPS, STAGES, COLUMNS, THREADS = 4, 6, 2, 128, 64
WORKGROUP = "#gpu.address_space<workgroup>"


def constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def rank_ahead(rank: ir.Value, distance: int) -> ir.Value:
    ahead = arith.remui(arith.addi(rank, constant(distance)), constant(CLUSTER))
    return arith.index_cast(ir.IntegerType.get_signless(32), ahead)


def stage_of(buffer: ir.Value, stage: ir.Value) -> ir.Value:
    """Return the tile of one stage as a view of its buffer."""
    one_tile = ir.Type.parse(f"memref<{COLUMNS}xi32, strided<[1], offset: ?>, {WORKGROUP}>")
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return memref.SubViewOp(
        one_tile, buffer, [stage], [], [], [dynamic, 0], [1, COLUMNS], [1, 1]
    ).result


def kernel_body(a: ir.Value, b: ir.Value, src: ir.Value, dst: ir.Value) -> None:
    group = ir.Type.parse(
        f"!nvgpu.mbarrier.group<memorySpace = {WORKGROUP}, num_barriers = {STAGES}>"
    )
    pair = ir.VectorType.get([2], ir.IntegerType.get_signless(32))
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    column = arith.muli(thread, constant(2))
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, constant(0))
    following, previous = rank_ahead(rank, 1), rank_ahead(rank, CLUSTER - 1)
    full, free = nvgpu.mbarrier_create(group), nvgpu.mbarrier_create(group)
    with ir.InsertionPoint(scf.IfOp(is_first).then_block):
        for barriers in full, free:
            for stage in range(STAGES):
                nvgpu.mbarrier_init(barriers, constant(1), constant(stage))
        scf.yield_([])

    receiving, sending = mt.PipelineState.consumer(STAGES), mt.PipelineState.producer(STAGES)
    steps = scf.ForOp(
        constant(0), constant(STEPS), constant(1), [*receiving.values, *sending.values]
    )
    with ir.InsertionPoint(steps.body):
        receiving = receiving.carried(steps.inner_iter_args[:2])
        sending = sending.carried(steps.inner_iter_args[2:])
        step = steps.induction_variable
        tile.wait(free, sending.barrier, sending.parity)
        values = vector.load(pair, a, [rank, step, column])
        vector.store(values, src, [sending.stage, column])
        gpu.barrier()
        mine, theirs = stage_of(src, sending.stage), stage_of(dst, sending.stage)
        with ir.InsertionPoint(scf.IfOp(is_first).then_block):
            tile.expect(full, receiving.barrier, [theirs])
            tile.copy_async(mine, theirs, following, full, sending.barrier)
            scf.yield_([])
        tile.wait(full, receiving.barrier, receiving.parity)
        values = vector.load(pair, dst, [receiving.stage, column])
        vector.store(values, b, [rank, step, column])
        gpu.barrier()
        with ir.InsertionPoint(scf.IfOp(is_first).then_block):
            tile.arrive(free, receiving.barrier, previous)
            scf.yield_([])
        scf.yield_([*receiving.advance().values, *sending.advance().values])
    gpu.return_([])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it.

    The kernel asks for the fences and the cluster barriers by `tile.insert_sync`.
    """
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    i32, token = ir.IntegerType.get_signless(32), gpu.AsyncTokenType.get()
    tiles = ir.MemRefType.get([CLUSTER, STEPS, COLUMNS], i32)
    space = ir.Attribute.parse(WORKGROUP)
    shared = ir.MemRefType.get([STAGES, COLUMNS], i32, memory_space=space)
    signature = ir.FunctionType.get([tiles, tiles], [])
    with ir.InsertionPoint(module.body):
        kernels, main = gpu.GPUModuleOp("kernels"), func.FuncOp("main", signature)
    with ir.InsertionPoint(kernels.bodyRegion.blocks.append()):
        kernel = gpu.GPUFuncOp(signature, "ring", kernel=True)
    for name, size in ("known_block_size", THREADS), ("known_cluster_size", CLUSTER):
        kernel.attributes[name] = ir.DenseI32ArrayAttr.get([size, 1, 1])
    kernel.attributes["tile.insert_sync"] = ir.UnitAttr.get()
    kernel.attributes["workgroup_attributions"] = ir.Attribute.parse("2")
    arguments = [tiles, tiles, shared, shared]
    block = kernel.body.blocks.append(*arguments, arg_locs=[kernel.location] * 4)
    with ir.InsertionPoint(block):
        kernel_body(*block.arguments)
    main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    with ir.InsertionPoint(main.add_entry_block()):
        one, cluster, threads = constant(1), constant(CLUSTER), constant(THREADS)
        device_a, ready = gpu.alloc(tiles, token, [gpu.WaitOp(token, []).result], [], [])
        device_b, ready = gpu.alloc(tiles, token, [ready], [], [])
        ready = gpu.memcpy(token, [ready], device_a, main.arguments[0])
        sizes = (cluster, one, one, threads, one, one)
        clusters = {"clusterSizeX": cluster, "clusterSizeY": one, "clusterSizeZ": one}
        name, arguments = ["kernels", "ring"], [device_a, device_b]
        ready = LaunchFuncOp(token, [ready], name, *sizes, arguments, **clusters).result
        ready = gpu.memcpy(token, [ready], main.arguments[1], device_b)
        ready = gpu.dealloc(token, [gpu.dealloc(token, [ready], device_a)], device_b)
        gpu.WaitOp(None, [ready])
        func.return_([])
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
