# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builders of stores to peers, views of peers and reductions: what they take and refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mlir import ir
from mlir.dialects import arith, nvgpu

import mlir_tile as mt
import mlir_tile.builders as build
from mlir_tile.dialects import tile


@pytest.fixture
def kernel() -> Iterator[build.Kernel]:
    """The body of a kernel with a f32 and a buffer, at whose end the next op goes."""
    with mt.context(), ir.Location.unknown():
        module, f32 = ir.Module.create(), ir.F32Type.get()
        buffer = build.workgroup_memref([8, 16], f32)
        with build.kernel(module, "k", [f32], block=32, cluster=2, workgroup=[buffer]) as made:
            yield made
        assert module.operation.verify()


def ops(kernel: build.Kernel) -> list[str]:
    return [op.operation.name for op in kernel.function.body.blocks[0]]


def test_a_reduction_gives_as_much_as_it_takes(kernel: build.Kernel) -> None:
    (x,) = kernel.arguments
    assert tile.all_reduce(x, "add").type == x.type
    assert tile.all_reduce(x, tile.ReductionKind.MaxNumF).type == x.type
    assert tile.all_reduce(x, lambda a, b: arith.addf(a[0], b[0])).type == x.type
    both = tile.all_reduce([x, x], lambda a, b: [a[0], b[1]])
    assert [one.type for one in both] == [x.type, x.type]


def test_a_reduction_names_the_argument(kernel: build.Kernel) -> None:
    (x,) = kernel.arguments
    before = ops(kernel)
    with pytest.raises(ValueError, match=r"combine must be one of add, mul.*got 'sum'"):
        tile.all_reduce(x, "sum")
    with pytest.raises(ValueError, match="combine must be a function for 2 values, got 'add'"):
        tile.all_reduce([x, x], "add")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="values must be at least one, got none"):
        tile.all_reduce([], lambda a, b: [])
    with pytest.raises(TypeError, match="values must be a value or a sequence of values, got 1"):
        tile.all_reduce(1, "add")
    with pytest.raises(ZeroDivisionError):
        tile.all_reduce(x, lambda a, b: 1 // 0)
    with pytest.raises(TypeError, match="combine must be values, got 'x'"):
        tile.all_reduce([x], lambda a, b: ["x"])
    assert ops(kernel) == before, "a call that raises leaves the IR as it was"


def test_a_store_takes_numbers(kernel: build.Kernel) -> None:
    (x,), (dst,) = kernel.arguments, kernel.workgroup
    bars = nvgpu.mbarrier_create(build.barrier_group(2))
    op = tile.store_async(x, dst, [1, build.index(2)], (bars, 1), rank=1)
    assert op.rank.type == ir.IntegerType.get_signless(32)
    assert op.reduce is None
    with pytest.raises(ValueError, match="indices must be 2, got 1"):
        tile.store_async(x, dst, 1, (bars, 1), rank=1)
    with pytest.raises(ValueError, match="rank must be in 0 to 15, got 16"):
        tile.store_async(x, dst, [0, 0], (bars, 1), rank=16)
    with pytest.raises(TypeError, match="dst must be a memref"):
        tile.store_async(x, x, [0, 0], (bars, 1), rank=1)
    with pytest.raises(ValueError, match="reduce must be one of"):
        tile.store_async(x, dst, [0, 0], (bars, 1), rank=1, reduce="sum")


def test_a_peer_has_the_type_of_its_buffer_in_space_7(kernel: build.Kernel) -> None:
    (dst,) = kernel.workgroup
    assert str(tile.peer(dst, rank=1).type) == "memref<8x16xf32, 7>"
    with pytest.raises(TypeError, match="source must be a memref"):
        tile.peer(kernel.arguments[0], rank=1)
