# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frame around a kernel, built: declarations, launches, host functions, views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mlir import ir
from mlir.dialects import arith, func, gpu, memref

import mlir_tile as mt
from mlir_tile import builders


@pytest.fixture
def module() -> Iterator[ir.Module]:
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        yield module
        assert module.operation.verify()


def f32s(*shape: int) -> ir.MemRefType:
    return ir.MemRefType.get(shape, ir.F32Type.get())


def test_a_kernel_says_its_sizes_and_buffers(module: ir.Module) -> None:
    shared = builders.workgroup_memref([8, 16], ir.F32Type.get())
    with builders.kernel(
        module, "k", [f32s(8)], block=(32, 2, 1), cluster=2, workgroup=[shared, shared]
    ) as kernel:
        assert [value.type for value in kernel.arguments] == [f32s(8)]
        assert [value.type for value in kernel.workgroup] == [shared, shared]
    assert (kernel.name, kernel.block, kernel.cluster) == (("kernels", "k"), (32, 2, 1), (2, 1, 1))
    text = str(kernel.function)
    assert "known_block_size = array<i32: 32, 2, 1>" in text
    assert "known_cluster_size = array<i32: 2, 1, 1>" in text
    assert "workgroup(%arg1 : memref<8x16xf32, #gpu.address_space<workgroup>>, %arg2" in text
    assert "tile.insert_sync" not in text
    assert "gpu.return" in text


def test_a_kernel_leaves_registers_for_others(module: ir.Module) -> None:
    with builders.kernel(module, "k", [], block=256, cluster=1, ctas_per_sm=4):
        pass
    assert ".minnctapersm 4" in mt.compile(module).ptx["kernels"]


@pytest.mark.parametrize("count", [0, 33, "4"])
def test_so_many_ctas_are_on_no_sm(module: ir.Module, count: Any) -> None:
    with (
        pytest.raises((TypeError, ValueError), match="ctas_per_sm must be"),
        builders.kernel(module, "k", [], block=32, cluster=1, ctas_per_sm=count),
    ):
        pass


@pytest.mark.parametrize("given", [True, False])
def test_a_value_of_one_of_two_branches(given: bool) -> None:
    with mt.context(), ir.Location.unknown():
        module, number = ir.Module.create(), ir.IntegerType.get_signless(32)
        truth = ir.IntegerType.get_signless(1)
        with builders.kernel(
            module, "k", [ir.MemRefType.get([1], number), truth], block=32, cluster=1
        ) as kernel:
            out, condition = kernel.arguments
            value = builders.if_else(
                condition, number, lambda: builders.i32(7), lambda: builders.i32(9)
            )
            memref.store(value, out, [builders.index(0)])
        made = mt.compile(module).kernel("kernels", "k", device="emulator")
    found = np.zeros(1, np.int32)
    made[1](found, given)
    assert found[0] == (7 if given else 9)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ({"insert_sync": True}, "tile.insert_sync}"),
        (
            {"insert_sync": True, "war_fences": False},
            "tile.insert_sync = {war_fences = false}}",
        ),
    ],
)
def test_a_kernel_asks_for_its_fences(
    module: ir.Module, asked: dict[str, bool], written: str
) -> None:
    with builders.kernel(module, "k", [], block=32, cluster=2, **asked) as kernel:
        pass
    assert written in str(kernel.function)


def test_kernels_share_a_module_by_name(module: ir.Module) -> None:
    for name, gpu_module in ("a", "kernels"), ("b", "kernels"), ("c", "others"):
        with builders.kernel(module, name, [], block=32, cluster=1, gpu_module=gpu_module):
            pass
    names = [
        [op.attributes["sym_name"].value for op in device.bodyRegion.blocks[0]]
        for device in module.body
    ]
    assert names == [["a", "b"], ["c"]]


def test_a_body_that_raises_leaves_the_exception(module: ir.Module) -> None:
    with (
        pytest.raises(KeyError, match="mine"),
        builders.kernel(module, "k", [], block=32, cluster=1) as kernel,
    ):
        raise KeyError("mine")
    kernel.function.operation.erase()


@pytest.fixture
def host(module: ir.Module) -> Iterator[func.FuncOp]:
    """Give a host function beside a kernel `k` without arguments, to build launches in."""
    with builders.kernel(module, "k", [], block=32, cluster=2):
        pass
    with ir.InsertionPoint(module.body):
        host = func.FuncOp("host", ([], []))
    with ir.InsertionPoint(host.add_entry_block()):
        end = func.ReturnOp([])
    with ir.InsertionPoint(end):
        yield host


def launches(host: func.FuncOp) -> list[str]:
    return [line.strip() for line in str(host).splitlines() if "launch_func" in line]


def test_a_launch_has_clusters(host: func.FuncOp) -> None:
    launch = builders.launch(("kernels", "k"), [], grid=4, block=(32, 2, 1), cluster=2)
    assert len(launch.results) == 0
    assert launches(host) == [
        "gpu.launch_func  @kernels::@k clusters in (%c2, %c1, %c1) blocks in (%c4, %c1, %c1) "
        "threads in (%c32, %c2, %c1)"
    ]


def test_a_launch_takes_values_shared_memory_and_tokens(host: func.FuncOp) -> None:
    grid = builders.index(6)
    ready = gpu.WaitOp(gpu.AsyncTokenType.get(), []).result
    launch = builders.launch(
        ("kernels", "k"), [], grid=grid, block=32, dynamic_shared_bytes=1024, after=[ready]
    )
    assert launch.result.type == gpu.AsyncTokenType.get()
    gpu.WaitOp(None, [launch.result])
    (text,) = launches(host)
    assert "gpu.launch_func async [%0] @kernels::@k blocks in (%c6, %c1, %c1)" in text
    assert text.endswith("dynamic_shared_memory_size %c1024_i32")


def test_a_host_function_moves_what_it_is_told(module: ir.Module) -> None:
    i32 = ir.IntegerType.get_signless(32)
    numbers = ir.MemRefType.get([64], i32)
    with builders.kernel(module, "scale", [numbers, i32, numbers], block=32, cluster=2) as kernel:
        a, factor, b = kernel.arguments
        thread, block = gpu.thread_id(gpu.Dimension.x), gpu.block_id(gpu.Dimension.x)
        place = arith.addi(thread, arith.muli(block, builders.index(32)))
        with builders.if_true(arith.cmpi(arith.CmpIPredicate.ult, place, builders.index(60))):
            memref.store(arith.muli(memref.load(a, [place]), factor), b, [place])
    builders.main(module, kernel, grid=2, copy_in=[0, 2], copy_out=[2], name="run")
    executable = mt.compile(module)
    a, b = np.arange(64, dtype=np.int32), np.full(64, -1, np.int32)
    executable.invoke("run", a, 3, b, device="emulator")
    np.testing.assert_array_equal(a, np.arange(64))
    np.testing.assert_array_equal(b[:60], 3 * a[:60])
    np.testing.assert_array_equal(b[60:], -1)


def test_only_memrefs_are_moved(module: ir.Module) -> None:
    with builders.kernel(module, "k", [f32s(8), ir.F32Type.get()], block=32, cluster=1) as kernel:
        pass
    with pytest.raises(ValueError, match=r"copy_out must be .* memrefs, \[0\], got \[1\]"):
        builders.main(module, kernel, grid=1, copy_in=[0], copy_out=[1])


@pytest.mark.parametrize(
    ("place", "buffer", "tile"),
    [
        (2, "memref<4x8x16xf32>", "memref<8x16xf32, strided<[16, 1], offset: 256>>"),
        (None, "memref<4x8x16xf32>", "memref<8x16xf32, strided<[16, 1], offset: ?>>"),
        (
            1,
            "memref<2x8xf16, strided<[24, 3], offset: 5>, #gpu.address_space<workgroup>>",
            "memref<8xf16, strided<[3], offset: 29>, #gpu.address_space<workgroup>>",
        ),
        (
            1,
            "memref<2x8xf16, strided<[8, 1], offset: ?>>",
            "memref<8xf16, strided<[1], offset: ?>>",
        ),
    ],
)
def test_a_tile_of_a_ring_is_a_view(
    module: ir.Module, place: int | None, buffer: str, tile: str
) -> None:
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("f", ([ir.Type.parse(buffer), ir.IndexType.get()], []))
    with ir.InsertionPoint(function.add_entry_block()):
        ring, step = function.arguments
        assert str(builders.tile_at(ring, step if place is None else place).type) == tile
        func.ReturnOp([])
