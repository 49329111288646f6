# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An all-gather over eight CTAs, built in Python: every CTA copies its tile into the seven others.

python examples/all_gather.py [--ptx]     run and compare; or print the kernel's PTX
"""

import sys

import numpy as np
from mlir import ir
from mlir.dialects import arith, func, gpu, memref, nvgpu, scf, vector
from mlir.dialects._gpu_ops_gen import LaunchFuncOp  # the exported one knows no clusters

import mlir_tile as mt
from mlir_tile.dialects import tile

CLUSTER, COLUMNS, THREADS = 8, 128, 64
WORKGROUP = "#gpu.address_space<workgroup>"


def constant(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def slot_of(slots: ir.Value, place: ir.Value) -> ir.Value:
    """Return one slot as a view of all of them."""
    slot = ir.Type.parse(f"memref<{COLUMNS}xi32, strided<[1], offset: ?>, {WORKGROUP}>")
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    sizes = [1, COLUMNS]
    return memref.SubViewOp(slot, slots, [place], [], [], [dynamic, 0], sizes, [1, 1]).result


def kernel_body(a: ir.Value, b: ir.Value, mine: ir.Value, theirs: ir.Value) -> None:
    i1, i32 = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(32)
    group = ir.Type.parse(f"!nvgpu.mbarrier.group<memorySpace = {WORKGROUP}, num_barriers = 1>")
    pair = ir.VectorType.get([2], i32)
    thread, rank = gpu.thread_id(gpu.Dimension.x), gpu.cluster_block_id(gpu.Dimension.x)
    zero, one, cluster = constant(0), constant(1), constant(CLUSTER)
    column = arith.muli(thread, constant(2))
    is_first = arith.cmpi(arith.CmpIPredicate.eq, thread, zero)
    full = nvgpu.mbarrier_create(group)
    with ir.InsertionPoint(scf.IfOp(is_first).then_block):
        nvgpu.mbarrier_init(full, one, zero)
        scf.yield_([])
    values = vector.load(pair, a, [rank, column])
    vector.store(values, mine, [column])
    vector.store(values, b, [rank, rank, column])
    gpu.barrier()
    with ir.InsertionPoint(scf.IfOp(is_first).then_block):
        tile.expect(full, zero, [theirs])
        # The slot says how many ranks behind its receiver the sender is.
        for distance in scf.for_(one, cluster, one):
            slot = slot_of(theirs, arith.subi(distance, one))
            receiver = arith.index_cast(i32, arith.remui(arith.addi(rank, distance), cluster))
            tile.copy_async(mine, slot, receiver, full, zero)
            scf.yield_([])
        scf.yield_([])
    tile.wait(full, zero, arith.constant(i1, 0))
    for distance in scf.for_(one, cluster, one):
        received = vector.load(pair, theirs, [arith.subi(distance, one), column])
        sender = arith.remui(arith.subi(arith.addi(rank, cluster), distance), cluster)
        vector.store(received, b, [rank, sender, column])
        scf.yield_([])
    gpu.return_([])


def build() -> ir.Module:
    """Return the module: the kernel, and the host function that launches it.

    The kernel asks for the fences and the cluster barriers by `tile.insert_sync`.
    """
    module = ir.Module.create()
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    i32, token = ir.IntegerType.get_signless(32), gpu.AsyncTokenType.get()
    tiles = ir.MemRefType.get([CLUSTER, COLUMNS], i32)
    gathered = ir.MemRefType.get([CLUSTER, CLUSTER, COLUMNS], i32)
    space = ir.Attribute.parse(WORKGROUP)
    mine = ir.MemRefType.get([COLUMNS], i32, memory_space=space)
    theirs = ir.MemRefType.get([CLUSTER - 1, COLUMNS], i32, memory_space=space)
    signature = ir.FunctionType.get([tiles, gathered], [])
    with ir.InsertionPoint(module.body):
        kernels, main = gpu.GPUModuleOp("kernels"), func.FuncOp("main", signature)
    with ir.InsertionPoint(kernels.bodyRegion.blocks.append()):
        kernel = gpu.GPUFuncOp(signature, "all_gather", kernel=True)
    for name, size in ("known_block_size", THREADS), ("known_cluster_size", CLUSTER):
        kernel.attributes[name] = ir.DenseI32ArrayAttr.get([size, 1, 1])
    kernel.attributes["tile.insert_sync"] = ir.UnitAttr.get()
    kernel.attributes["workgroup_attributions"] = ir.Attribute.parse("2")
    arguments = [tiles, gathered, mine, theirs]
    block = kernel.body.blocks.append(*arguments, arg_locs=[kernel.location] * 4)
    with ir.InsertionPoint(block):
        kernel_body(*block.arguments)
    main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    with ir.InsertionPoint(main.add_entry_block()):
        one, cluster, threads = constant(1), constant(CLUSTER), constant(THREADS)
        device_a, ready = gpu.alloc(tiles, token, [gpu.WaitOp(token, []).result], [], [])
        device_b, ready = gpu.alloc(gathered, token, [ready], [], [])
        ready = gpu.memcpy(token, [ready], device_a, main.arguments[0])
        sizes = (cluster, one, one, threads, one, one)
        clusters = {"clusterSizeX": cluster, "clusterSizeY": one, "clusterSizeZ": one}
        name, arguments = ["kernels", "all_gather"], [device_a, device_b]
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
    a = np.arange(CLUSTER * COLUMNS, dtype=np.int32).reshape(CLUSTER, COLUMNS)
    b = np.zeros((CLUSTER, CLUSTER, COLUMNS), np.int32)
    executable.invoke("main", a, b)
    expected = np.broadcast_to(a, b.shape)
    sys.exit(None if np.array_equal(b, expected) else "error: the tiles differ")
