# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stores from registers into peers, and accesses to their memory, as NumPy would have them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvgpu, nvvm, vector

import mlir_tile as mt
import mlir_tile.builders as build
from mlir_tile.dialects import tile

CLUSTER, THREADS = 4, 32
DTYPES: dict[str, Any] = {
    "i32": np.int32,
    "i64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "index": np.int64,
}


def rank_in_cluster() -> ir.Value:
    return nvvm.read_ptx_sreg_cluster_ctarank(ir.IntegerType.get_signless(32))


def next_rank(by: int = 1) -> ir.Value:
    moved = arith.addi(rank_in_cluster(), build.i32(by))
    return arith.remui(moved, build.i32(CLUSTER))


def barriers() -> ir.Value:
    """Make one barrier that one arrival completes."""
    group = nvgpu.mbarrier_create(build.barrier_group())
    with build.if_true(is_first()):
        nvgpu.mbarrier_init(group, build.index(1), build.index(0))
    return group


def is_first() -> ir.Value:
    thread = gpu.thread_id(gpu.Dimension.x)
    return arith.cmpi(arith.CmpIPredicate.eq, thread, build.index(0))


STORED = [("i32", 1), ("f32", 1), ("i64", 1), ("f64", 1), ("index", 1)]
STORED += [("f32", 2), ("f32", 4), ("i64", 2), ("f64", 2), ("i32", 2)]
STORED += [("f16", 2), ("f16", 4), ("f16", 8), ("bf16", 4), ("bf16", 2), ("i8", 4), ("i8", 16)]


@pytest.mark.parametrize(("element", "count"), STORED)
@pytest.mark.parametrize("own_rank", [False, True])
@pytest.mark.parametrize("swizzle", [False, True])
def test_stores_arrive(
    element: str, count: int, own_rank: bool, swizzle: bool, device: str
) -> None:
    """Every thread stores its value into the row of its number of the next CTA, or of its own."""
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        type_ = ir.Type.parse(element)
        row = ir.VectorType.get([count], type_)
        columns = 16
        layout = ir.Attribute.parse(
            f"#tile.layout<(32, {columns}) : ({columns}, 1), swizzle = <1, 4, 1>>"
        )
        dst_type = build.workgroup_memref([THREADS, columns], type_, layout if swizzle else None)
        given = ir.MemRefType.get([CLUSTER * THREADS, count], type_)
        types = [given, given]
        with build.kernel(
            *(module, "send", types),
            block=THREADS,
            cluster=CLUSTER,
            workgroup=[dst_type],
            insert_sync=True,
        ) as kernel:
            (a, b), (dst,) = kernel.arguments, kernel.workgroup
            bars = barriers()
            thread, place = gpu.thread_id(gpu.Dimension.x), gpu.global_id(gpu.Dimension.x)
            zero = build.index(0)
            whole = vector.load(row, a, [place, zero])
            value = whole if count > 1 else vector.extract(whole, [], [0])
            with build.if_true(is_first()):
                nbytes = THREADS * count * np.dtype(DTYPES[element]).itemsize
                nvgpu.mbarrier_arrive_expect_tx(bars, build.index(nbytes), zero)
            tile.store_async(
                value, dst, [thread, 0], bars, rank=rank_in_cluster() if own_rank else next_rank()
            )
            tile.wait(bars, False)
            for column in range(count):
                element_there = memref.load(dst, [thread, build.index(column)])
                memref.store(element_there, b, [place, build.index(column)])
        build.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
        executable = mt.compile(module)
    shape = (CLUSTER * THREADS, count)
    a = np.arange(np.prod(shape)).reshape(shape).astype(DTYPES[element])
    b = np.zeros_like(a)
    executable.invoke("main", a, b, device=device)
    expected = a if own_rank else np.roll(a, THREADS, axis=0)
    assert (b == expected).all()


REDUCED = {
    "add": lambda x: x.sum(axis=0, dtype=x.dtype),
    "minsi": lambda x: x.min(axis=0),
    "maxsi": lambda x: x.max(axis=0),
    "minui": lambda x: x.view(np.uint32).min(axis=0).view(np.int32),
    "maxui": lambda x: x.view(np.uint32).max(axis=0).view(np.int32),
    "and": lambda x: np.bitwise_and.reduce(x, axis=0),
    "or": lambda x: np.bitwise_or.reduce(x, axis=0),
    "xor": lambda x: np.bitwise_xor.reduce(x, axis=0),
}


@pytest.mark.parametrize(
    ("kind", "element"), [*((kind, "i32") for kind in REDUCED), ("add", "i64")]
)
def test_stores_are_combined(kind: str, element: str, device: str) -> None:
    """All CTAs of a cluster combine into the words of rank 0, its own ones too."""
    dtype = DTYPES[element]
    start = -1 if kind in ("and", "minui") else 2**31 - 1 if kind == "minsi" else 0
    start = -(2**31) if kind == "maxsi" else start
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        type_ = ir.Type.parse(element)
        given = ir.MemRefType.get([CLUSTER * THREADS], type_)
        made = ir.MemRefType.get([THREADS], type_)
        buffer = build.workgroup_memref([THREADS], type_)
        with build.kernel(
            *(module, "combine", [given, made]),
            block=THREADS,
            cluster=CLUSTER,
            workgroup=[buffer],
            insert_sync=True,
        ) as kernel:
            (a, b), (dst,) = kernel.arguments, kernel.workgroup
            bars = barriers()
            thread, place = gpu.thread_id(gpu.Dimension.x), gpu.global_id(gpu.Dimension.x)
            memref.store(arith.constant(type_, start), dst, [thread])
            gpu.barrier()
            is_zero = arith.cmpi(arith.CmpIPredicate.eq, rank_in_cluster(), build.i32(0))
            with build.if_true(arith.andi(is_zero, is_first())):
                tile.expect(bars, [dst] * CLUSTER)
            value = memref.load(a, [place])
            tile.store_async(value, dst, thread, bars, rank=0, reduce=kind)
            with build.if_true(is_zero):
                tile.wait(bars, False)
                memref.store(memref.load(dst, [thread]), b, [thread])
        build.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
        executable = mt.compile(module)
    draw = np.random.default_rng(3)
    a = draw.integers(-(2**31), 2**31 - 1, CLUSTER * THREADS).astype(dtype)
    b = np.zeros(THREADS, dtype)
    executable.invoke("main", a, b, device=device)
    assert (b == REDUCED[kind](a.reshape(CLUSTER, THREADS))).all()


def peer_program(body: Any, element: str, layout: str = "") -> Any:
    """Compile `main(a, b)`: each CTA has a row of 32 elements in shared memory."""
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        type_ = ir.Type.parse(element)
        given = ir.MemRefType.get([CLUSTER, THREADS], type_)
        attribute = ir.Attribute.parse(layout) if layout else None
        buffer = build.workgroup_memref([4, 8], type_, attribute)
        with build.kernel(
            *(module, "kernel", [given, given]),
            block=THREADS,
            cluster=CLUSTER,
            workgroup=[buffer],
            insert_sync=True,
        ) as kernel:
            (a, b), (own,) = kernel.arguments, kernel.workgroup
            rank = arith.index_cast(ir.IndexType.get(), rank_in_cluster())
            thread = gpu.thread_id(gpu.Dimension.x)
            i, j = (op(thread, build.index(8)) for op in (arith.divui, arith.remui))
            memref.store(memref.load(a, [rank, thread]), own, [i, j])
            meet()
            body(own, i, j, thread)
            meet()
            memref.store(memref.load(own, [i, j]), b, [rank, thread])
        build.main(module, kernel, grid=CLUSTER, copy_in=[0], copy_out=[1])
        return mt.compile(module)


def meet() -> None:
    nvvm.cluster_arrive()
    nvvm.cluster_wait()


LAYOUTS = ["", "#tile.layout<(4, 8) : (8, 1), swizzle = <1, 2, 1>>", "strided<[1, 4]>"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_peer_is_loaded_from_and_stored_to(layout: str, device: str) -> None:
    """Each CTA adds what the next one has into what the one after has, and then others do."""

    def body(own: ir.Value, i: ir.Value, j: ir.Value, thread: ir.Value) -> None:
        value = memref.load(tile.peer(own, rank=next_rank()), [i, j])
        meet()
        memref.store(arith.addf(value, value), tile.peer(own, rank=next_rank(2)), [i, j])

    executable = peer_program(body, "f32", layout)
    a = np.random.default_rng(0).random((CLUSTER, THREADS), np.float32)
    b = np.zeros_like(a)
    executable.invoke("main", a, b, device=device)
    assert (b == np.roll(2 * a, 1, axis=0)).all()


@pytest.mark.parametrize("element", ["f32", "i32"])
def test_all_ctas_add_into_one_peer(element: str, device: str) -> None:
    def body(own: ir.Value, i: ir.Value, j: ir.Value, thread: ir.Value) -> None:
        one = arith.constant(ir.Type.parse(element), 1 if element == "i32" else 1.0)
        kind = arith.AtomicRMWKind.addi if element == "i32" else arith.AtomicRMWKind.addf
        place = [build.index(2), build.index(3)]
        memref.atomic_rmw(kind, one, tile.peer(own, rank=3), place)

    executable = peer_program(body, element)
    a = np.zeros((CLUSTER, THREADS), DTYPES[element])
    b = np.ones_like(a)
    executable.invoke("main", a, b, device=device)
    assert b[3, 2 * 8 + 3] == CLUSTER * THREADS
    assert b.sum() == CLUSTER * THREADS


def test_a_vector_of_a_slice_of_a_peer(device: str) -> None:
    """One thread of each CTA reads a row of the next one at once, through a view of a view."""

    def body(own: ir.Value, i: ir.Value, j: ir.Value, thread: ir.Value) -> None:
        row = build.tile_at(tile.peer(own, rank=next_rank()), i)
        with build.if_true(arith.cmpi(arith.CmpIPredicate.eq, j, build.index(0))):
            four = ir.VectorType.get([4], ir.F32Type.get())
            read = vector.load(four, row, [build.index(4)])
            memref_row = build.tile_at(own, i)
            vector.store(read, memref_row, [build.index(0)])

    executable = peer_program(body, "f32")
    a = np.random.default_rng(0).random((CLUSTER, THREADS), np.float32)
    b = np.zeros_like(a)
    executable.invoke("main", a, b, device=device)
    expected = a.reshape(CLUSTER, 4, 8).copy()
    expected[:, :, :4] = np.roll(expected[:, :, 4:], -1, axis=0)
    assert (b == expected.reshape(CLUSTER, THREADS)).all()


PTX = {
    "ld.shared::cluster.b32": "load",
    "st.shared::cluster.b32": "store",
    "atom.shared::cluster.add.f32": "atomic",
}


@pytest.mark.parametrize("instruction", PTX)
def test_accesses_are_those_of_the_cluster(instruction: str) -> None:
    def body(own: ir.Value, i: ir.Value, j: ir.Value, thread: ir.Value) -> None:
        there = tile.peer(own, rank=next_rank())
        value = memref.load(own, [i, j])
        if PTX[instruction] == "load":
            memref.store(memref.load(there, [i, j]), own, [i, j])
        elif PTX[instruction] == "store":
            memref.store(value, there, [i, j])
        else:
            memref.atomic_rmw(arith.AtomicRMWKind.addf, value, there, [i, j])

    ptx = peer_program(body, "f32").ptx["kernels"]
    assert instruction in ptx or instruction.replace("atom", "red") in ptx
