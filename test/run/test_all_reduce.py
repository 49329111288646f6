# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over a cluster: values as NumPy's, and the same bits in all threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvvm, scf
from reductions import compiled

import mlir_tile as mt
import mlir_tile.builders as build
from mlir_tile.dialects import tile
from mlir_tile.runtime.devices import device_info

DTYPES = {"i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
SCHEDULES = ("eager", "late", "random:1")

Body = Callable[[list[ir.Value]], list[ir.Value]]


def program(
    types: list[str],
    body: Body,
    *,
    cluster: int | tuple[int, int, int] = 2,
    block: int | tuple[int, int, int] = 64,
    ctas: int | None = None,
    known_cluster: bool = True,
) -> Any:
    """Compile `main(inputs..., outputs...)`: `body` makes a thread's outputs of its inputs."""
    size, threads = int(np.prod(cluster)), int(np.prod(block))
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        memrefs = [
            ir.MemRefType.get([(ctas or size) * threads], ir.Type.parse(type_)) for type_ in types
        ]
        with build.kernel(
            module, "kernel", [*memrefs, *memrefs], block=block, cluster=cluster
        ) as k:
            rank = arith.index_cast(ir.IndexType.get(), rank_in_cluster())
            place = arith.addi(arith.muli(rank, build.index(threads)), linear_thread(block))
            if ctas:  # the grid is a row
                place = gpu.global_id(gpu.Dimension.x)
            inputs = [memref.load(argument, [place]) for argument in k.arguments[: len(types)]]
            for output, value in zip(k.arguments[len(types) :], body(inputs), strict=True):
                memref.store(value, output, [place])
        if not known_cluster:
            del k.function.attributes["known_cluster_size"]
        count = len(types)
        grid = ctas or cluster
        build.main(
            *(module, k),
            grid=grid,
            copy_in=range(count),
            copy_out=range(count, 2 * count),
        )
        return mt.compile(module)


def rank_in_cluster() -> ir.Value:
    return nvvm.read_ptx_sreg_cluster_ctarank(ir.IntegerType.get_signless(32))


def linear_thread(block: int | tuple[int, int, int]) -> ir.Value:
    x, y, _ = block if isinstance(block, tuple) else (block, 1, 1)
    dimensions = (gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z)
    i, j, k = (gpu.thread_id(dimension) for dimension in dimensions)
    rows = arith.addi(j, arith.muli(k, build.index(y)))
    return arith.addi(i, arith.muli(rows, build.index(x)))


def run(executable: Any, inputs: list[np.ndarray], device: str, **options: Any) -> list[np.ndarray]:
    outputs = [np.zeros_like(values) for values in inputs]
    executable.invoke("main", *inputs, *outputs, device=device, **options)
    return outputs


KINDS: dict[str, tuple[str, Callable[[np.ndarray], Any]]] = {
    "add": ("i32 i64 f32 f64", lambda x: x.sum(dtype=x.dtype)),
    "mul": ("i32 i64 f32 f64", lambda x: x.prod(dtype=x.dtype)),
    "minsi": ("i32 i64", np.min),
    "maxsi": ("i32 i64", np.max),
    "minui": ("i32 i64", lambda x: x.view(f"u{x.itemsize}").min().view(x.dtype)),
    "maxui": ("i32 i64", lambda x: x.view(f"u{x.itemsize}").max().view(x.dtype)),
    "and": ("i32 i64", np.bitwise_and.reduce),
    "or": ("i32 i64", np.bitwise_or.reduce),
    "xor": ("i32 i64", np.bitwise_xor.reduce),
    "minnumf": ("f16 f32 f64", np.min),
    "maxnumf": ("f16 f32 f64", np.max),
    "minimumf": ("f16 f32 f64", np.min),
    "maximumf": ("f16 f32 f64", np.max),
}


@pytest.mark.parametrize(
    ("kind", "type_"), [(kind, t) for kind, (types, _) in KINDS.items() for t in types.split()]
)
def test_each_kind_is_that_of_numpy(kind: str, type_: str, device: str) -> None:
    draw, dtype = np.random.default_rng(5), DTYPES[type_]
    if np.issubdtype(dtype, np.integer):
        a = draw.integers(-(2**31), 2**31 - 1, 128).astype(dtype)
    elif kind == "mul":  # powers of two have an exact product
        a = np.exp2(draw.integers(-1, 2, 128)).astype(dtype)
    else:
        a = draw.integers(-1000, 1000, 128).astype(dtype)
    executable = program([type_], lambda inputs: [tile.all_reduce(inputs[0], kind)])
    (b,) = run(executable, [a], device)
    with np.errstate(over="ignore"):
        assert (b == KINDS[kind][1](a)).all()


SHAPES: list[tuple[Any, Any]] = [
    *((cluster, 64) for cluster in (1, 2, 3, 4, 7, 8, 16)),
    *((2, block) for block in (32, 96, 256, 1024)),
    (1, 32),
    ((2, 2, 2), (8, 4, 2)),
    (16, 32),
    (1, 1024),
]


@pytest.mark.parametrize(("cluster", "block"), SHAPES)
@pytest.mark.parametrize("known_cluster", [True, False])
def test_every_shape_of_cluster_and_block(
    cluster: Any, block: Any, known_cluster: bool, device: str
) -> None:
    executable = program(
        *(["f32"], lambda inputs: [tile.all_reduce(inputs[0], "add")]),
        cluster=cluster,
        block=block,
        known_cluster=known_cluster,
    )
    a = np.random.default_rng(7).random(int(np.prod(cluster) * np.prod(block)), np.float32)
    (b,) = run(executable, [a], device)
    assert (b == b[0]).all(), "all threads have the same bits"
    assert np.isclose(b[0], a.sum(dtype=np.float64), rtol=1e-5)
    assert (run(executable, [a], device)[0] == b).all(), "and have them again"


def test_a_combination_need_not_commute(device: str) -> None:
    """Affine maps: the left one comes first, by thread and by rank."""

    def compose(left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        factor = arith.muli(left[0], right[0])
        return [factor, arith.addi(arith.muli(left[1], right[0]), right[1])]

    executable = program(
        ["i32", "i32"], lambda inputs: tile.all_reduce(inputs, compose), cluster=4, block=96
    )
    draw = np.random.default_rng(9)
    factors, shifts = (draw.integers(-5, 6, 384).astype(np.int32) for _ in range(2))
    factor, shift = np.int64(1), np.int64(0)
    for f, s in zip(factors.astype(np.int64), shifts.astype(np.int64), strict=True):
        factor, shift = factor * f % 2**32, (shift * f + s) % 2**32
    b, c = run(executable, [factors, shifts], device)
    assert (b.view(np.uint32) == factor).all()
    assert (c.view(np.uint32) == shift).all()


def test_values_of_several_types_go_together(device: str) -> None:
    """The largest f16 with where it is, as an i64, and the sum of a f64."""

    def combine(left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        less = arith.cmpf(arith.CmpFPredicate.OLT, left[0], right[0])
        chosen = [arith.select(less, b, a) for a, b in zip(left, right, strict=True)]
        return [*chosen[:2], arith.addf(left[2], right[2])]

    executable = program(
        ["f16", "i64", "f64"], lambda inputs: tile.all_reduce(inputs, combine), cluster=8, block=32
    )
    draw = np.random.default_rng(11)
    a = draw.integers(0, 50, 256).astype(np.float16)
    where, numbers = np.arange(256), draw.integers(0, 1000, 256).astype(np.float64)
    b, c, d = run(executable, [a, where, numbers], device)
    assert (b == a.max()).all()
    assert (c == a.argmax()).all()
    assert (d == numbers.sum()).all()


@pytest.mark.parametrize("cluster", [1, 2])
def test_the_larger_of_two_f64_is_stored_whole(cluster: int, device: str) -> None:
    """The halves of a selected f64 are not rounded to integers, as a ptxas does to a lone one."""

    def larger(left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        less = arith.cmpf(arith.CmpFPredicate.OLT, left[0], right[0])
        return [arith.select(less, right[0], left[0])]

    executable = program(
        *(["f64"], lambda inputs: tile.all_reduce(inputs, larger)), cluster=cluster, block=64
    )
    a = np.random.default_rng(19).random(cluster * 64)
    (b,) = run(executable, [a], device)
    assert (b == a.max()).all()


def test_many_values_and_many_warps_are_combined_by_lanes(device: str) -> None:
    """More words than one thread combines: 5 of 8 bytes from 32 warps and 16 CTAs."""

    def combine(left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
        return [arith.addi(a, b) for a, b in zip(left, right, strict=True)]

    executable = program(
        ["i64"] * 5, lambda inputs: tile.all_reduce(inputs, combine), cluster=16, block=256
    )
    draw = np.random.default_rng(13)
    inputs = [draw.integers(-(2**60), 2**60, 16 * 256) for _ in range(5)]
    for values, result in zip(inputs, run(executable, inputs, device), strict=True):
        assert (result == values.sum()).all()


ORDERED: dict[str, tuple[Any, Callable[[np.ndarray], Any]]] = {
    "sum": (arith.addi, lambda x: x.sum(dtype=x.dtype)),
    "first": (lambda left, right: left, lambda x: x[0]),
    "last": (lambda left, right: right, lambda x: x[-1]),
}


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize(("cluster", "block"), [(1, 64), (4, 32), (3, 96), (16, 256)])
def test_every_number_of_values_is_combined_in_order(
    count: int, name: str, cluster: int, block: int, device: str
) -> None:
    """Lanes load some of the rows each; each value still comes from all threads, in their order."""
    combine, expected = ORDERED[name]
    types = ["i64" if count % 2 else "i32"] * count
    executable = program(
        *(types, lambda inputs: tile.all_reduce(inputs, lambda a, b: list(map(combine, a, b)))),
        cluster=cluster,
        block=block,
        known_cluster=name != "sum",
    )
    draw = np.random.default_rng(count)
    dtype = DTYPES[types[0]]
    inputs = [draw.integers(-(2**31), 2**31, cluster * block).astype(dtype) for _ in types]
    for values, result in zip(inputs, run(executable, inputs, device), strict=True):
        assert (result == expected(values)).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rounds_of_a_loop_do_not_meet(schedule: str) -> None:
    """Twenty rounds, each of what the one before has made, over two clusters at once."""

    def body(inputs: list[ir.Value]) -> list[ir.Value]:
        loop = scf.ForOp(build.index(0), build.index(20), build.index(1), inputs)
        with ir.InsertionPoint(loop.body):
            (x,) = loop.inner_iter_args
            own = arith.index_cast(x.type, gpu.thread_id(gpu.Dimension.x))
            scf.yield_([arith.xori(tile.all_reduce(x, "add"), own)])
        return list(loop.results)

    executable = program(["i32"], body, cluster=4, block=32, ctas=8)
    a = np.arange(256, dtype=np.int32)
    (b,) = run(executable, [a], "emulator", schedule=schedule)
    expected = a.reshape(2, 128)
    for _ in range(20):
        own = np.tile(np.arange(32, dtype=np.int32), 4)
        expected = expected.sum(axis=1, dtype=np.int32, keepdims=True) ^ own
    assert (b.reshape(2, 128) == expected).all()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_drawn_programs_are_right_and_silent(seed: int, schedule: str) -> None:
    for drawn, executable in compiled(seed, largest_cluster=8, largest_block=128):
        outputs = drawn.outputs()
        executable.invoke("main", *outputs, device="emulator", schedule=schedule)
        for output, expected in zip(outputs, drawn.expected, strict=True):
            assert (output == expected).all(), drawn.parts


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(40))
def test_drawn_programs_are_right_on_a_gpu(seed: int) -> None:
    for drawn, executable in compiled(seed):
        outputs = drawn.outputs()
        executable.invoke("main", *outputs, device="cuda", timeout=60)
        for output, expected in zip(outputs, drawn.expected, strict=True):
            assert (output == expected).all(), drawn.parts


def test_more_programs_as_asked(request: pytest.FixtureRequest) -> None:
    """`--cases N` draws N programs more, from `--first-case` on, on a GPU where there is one."""
    count = request.config.getoption("--cases") or 0
    first = request.config.getoption("--first-case")
    if not count:
        pytest.skip("draws programs with --cases N")
    for seed in range(first, first + count):
        for drawn, executable in compiled(seed, largest_cluster=8, largest_block=128):
            runs = [
                {"device": "emulator", "schedule": name} for name in (*SCHEDULES, f"random:{seed}")
            ]
            if device_info().usable:
                runs.append({"device": "cuda", "timeout": 60})
            for options in runs:
                outputs = drawn.outputs()
                executable.invoke("main", *outputs, **options)
                for output, expected in zip(outputs, drawn.expected, strict=True):
                    assert (output == expected).all(), (seed, options, drawn.parts)
