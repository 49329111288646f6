# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that reduce over a cluster, drawn at random, and what they must compute.

A kernel keeps some values a thread, changes them by the thread's own number, and combines them
over the cluster, in loops and branches that all threads of the cluster go through alike. Floats are
whole numbers, so that what is computed does not depend on the order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from mlir import ir
from mlir.dialects import arith, gpu, memref, scf

import mlir_tile as mt
import mlir_tile.builders as build
from mlir_tile.dialects import tile

Array = np.ndarray
Values = list[Any]


@dataclass(frozen=True)
class Type:
    """A type of values, and the kinds that combine them exactly."""

    name: str
    dtype: Any
    kinds: tuple[str, ...]

    def ir(self) -> ir.Type:
        return ir.Type.parse(self.name)


INTEGER_KINDS = ("add", "minui", "minsi", "maxui", "maxsi", "and", "or", "xor")
FLOAT_KINDS = ("add", "minnumf", "maxnumf", "minimumf", "maximumf")
TYPES = (
    Type("i32", np.int32, INTEGER_KINDS),
    Type("i64", np.int64, INTEGER_KINDS),
    Type("f32", np.float32, FLOAT_KINDS),
    Type("f64", np.float64, FLOAT_KINDS),
    Type("f16", np.float16, FLOAT_KINDS[1:]),
)
KINDS: dict[str, Callable[[Array], Any]] = {
    "add": lambda x: x.sum(dtype=x.dtype),
    "minui": lambda x: x.view(unsigned(x)).min().view(x.dtype),
    "maxui": lambda x: x.view(unsigned(x)).max().view(x.dtype),
    "minsi": np.min,
    "maxsi": np.max,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
    "minnumf": np.min,
    "maxnumf": np.max,
    "minimumf": np.min,
    "maximumf": np.max,
}


def unsigned(x: Array) -> str:
    return f"u{x.dtype.itemsize}"


@dataclass
class Program:
    """A module, `main(out)` with an output for each variable, and what each must be."""

    module: ir.Module
    types: list[Type]
    expected: list[Array]
    parts: list[str] = field(default_factory=list)

    def outputs(self) -> list[Array]:
        return [np.zeros_like(values) for values in self.expected]


class Writer:
    """Builds a kernel and computes it at once: a variable is an SSA value and an array."""

    def __init__(self, draw: random.Random, clusters: int, cluster: int, threads: int) -> None:
        self.draw, self.clusters, self.cluster, self.threads = draw, clusters, cluster, threads
        self.parts: list[str] = []
        self.count = clusters * cluster * threads

    def of_clusters(self, values: Array) -> Array:
        return values.reshape(self.clusters, -1)

    def body(
        self, types: Sequence[Type], now: Values, steps: int, depth: int
    ) -> tuple[Values, Any]:
        """Build some steps; return the new SSA values, and a function that computes them."""
        computes = []
        for _ in range(steps):
            step = self.draw.choice(["reduce", "reduce", "mix", "several", "loop", "branch"])
            if depth == 0 and step in ("loop", "branch"):
                step = "reduce"
            now, compute = getattr(self, step)(types, now, depth)
            computes.append(compute)

        def compute_all(arrays: list[Array]) -> list[Array]:
            for compute in computes:
                arrays = compute(arrays)
            return arrays

        return now, compute_all

    def reduce(self, types: Sequence[Type], now: Values, depth: int) -> tuple[Values, Any]:
        """Combine one variable by a kind, and add the thread's own share again."""
        place = self.draw.randrange(len(now))
        type_ = types[place]
        kind = self.draw.choice(type_.kinds)
        self.parts.append(f"{kind} of {type_.name}")
        result = tile.all_reduce(now[place], kind)
        now = list(now)
        now[place] = self.shared(type_, result)

        def compute(arrays: list[Array]) -> list[Array]:
            arrays = list(arrays)
            all_ = self.of_clusters(arrays[place])
            made = np.array([KINDS[kind](values) for values in all_], arrays[place].dtype)
            made = np.repeat(made, all_.shape[1])
            arrays[place] = self.share(type_, made)
            return arrays

        return now, compute

    def shared(self, type_: Type, value: Any) -> Any:
        """Keep the value small, and make it the thread's own again."""
        if isinstance(type_.ir(), ir.IntegerType):
            own = arith.index_cast(type_.ir(), self.thread)
            return arith.addi(arith.andi(value, arith.constant(type_.ir(), 1023)), own)
        number = arith.index_cast(ir.IntegerType.get_signless(32), self.thread)
        own = arith.sitofp(type_.ir(), number)
        # Halves and more go to the low bits, which stay few.
        low = arith.minimumf(value, arith.constant(type_.ir(), 100.0))
        return arith.addf(low, own)

    def share(self, type_: Type, values: Array) -> Array:
        own = np.tile(np.arange(self.threads), self.clusters * self.cluster)
        if np.issubdtype(type_.dtype, np.integer):
            return (values & 1023) + own.astype(type_.dtype)
        return np.minimum(values, type_.dtype(100)) + own.astype(type_.dtype)

    def mix(self, types: Sequence[Type], now: Values, depth: int) -> tuple[Values, Any]:
        """Give one variable the CTA's share."""
        place = self.draw.randrange(len(now))
        type_ = types[place]
        number = arith.index_cast(ir.IntegerType.get_signless(32), self.rank)
        now = list(now)
        if isinstance(type_.ir(), ir.IntegerType):
            now[place] = arith.xori(now[place], arith.index_cast(type_.ir(), self.rank))
        else:
            now[place] = arith.addf(now[place], arith.sitofp(type_.ir(), number))
        ranks = np.tile(np.repeat(np.arange(self.cluster), self.threads), self.clusters)

        def compute(arrays: list[Array]) -> list[Array]:
            arrays = list(arrays)
            own = ranks.astype(type_.dtype)
            integer = np.issubdtype(type_.dtype, np.integer)
            arrays[place] = arrays[place] ^ own if integer else arrays[place] + own
            return arrays

        return now, compute

    def several(self, types: Sequence[Type], now: Values, depth: int) -> tuple[Values, Any]:
        """Take all variables of the thread in which one is largest, the first of such threads."""
        place = self.draw.randrange(len(now))
        self.parts.append(f"argmax of {types[place].name} among {len(now)}")
        integer = np.issubdtype(types[place].dtype, np.integer)

        def combine(left: list[ir.Value], right: list[ir.Value]) -> list[ir.Value]:
            if integer:
                less = arith.cmpi(arith.CmpIPredicate.slt, left[place], right[place])
            else:
                less = arith.cmpf(arith.CmpFPredicate.OLT, left[place], right[place])
            return [arith.select(less, b, a) for a, b in zip(left, right, strict=True)]

        results = tile.all_reduce(now, combine)
        shared = [self.shared(type_, one) for type_, one in zip(types, results, strict=True)]

        def compute(arrays: list[Array]) -> list[Array]:
            first = self.of_clusters(arrays[place]).argmax(axis=1)
            made = []
            for type_, values in zip(types, arrays, strict=True):
                all_ = self.of_clusters(values)
                chosen = all_[np.arange(self.clusters), first]
                made.append(self.share(type_, np.repeat(chosen, all_.shape[1])))
            return made

        return shared, compute

    def loop(self, types: Sequence[Type], now: Values, depth: int) -> tuple[Values, Any]:
        """Repeat some steps; how often, an argument or the cluster's number says."""
        by_cluster = self.draw.random() < 0.4
        self.parts.append("loop by the cluster" if by_cluster else "loop")
        if by_cluster:
            trips = arith.addi(self.cluster_id, build.index(1))
        else:
            rounds = self.draw.randint(0, 3)
            trips = build.index(rounds)
        op = scf.ForOp(build.index(0), trips, build.index(1), now)
        with ir.InsertionPoint(op.body):
            made, inner = self.body(
                types, list(op.inner_iter_args), self.draw.randint(1, 2), depth - 1
            )
            scf.yield_(made)

        def compute(arrays: list[Array]) -> list[Array]:
            if not by_cluster:
                for _ in range(rounds):
                    arrays = inner(arrays)
                return arrays
            counts = np.repeat(np.arange(self.clusters) + 1, self.cluster * self.threads)
            for done in range(self.clusters):
                after = inner(arrays)
                arrays = [np.where(counts > done, b, a) for a, b in zip(arrays, after, strict=True)]
            return arrays

        return list(op.results), compute

    def branch(self, types: Sequence[Type], now: Values, depth: int) -> tuple[Values, Any]:
        """Go one of two ways: by the cluster's number, or by what a reduction has shown."""
        self.parts.append("branch")
        one = build.index(1)
        parity = arith.remui(self.cluster_id, build.index(2))
        condition = arith.cmpi(arith.CmpIPredicate.eq, parity, one)
        op = scf.IfOp(condition, [value.type for value in now], has_else=True)
        ways = []
        for block in (op.then_block, op.else_block):
            with ir.InsertionPoint(block):
                made, compute = self.body(types, now, self.draw.randint(0, 2), depth - 1)
                scf.yield_(made)
                ways.append(compute)
        goes = np.repeat(np.arange(self.clusters) % 2 == 1, self.cluster * self.threads)

        def compute_both(arrays: list[Array]) -> list[Array]:
            yes, no = ways[0](arrays), ways[1](arrays)
            return [np.where(goes, a, b) for a, b in zip(yes, no, strict=True)]

        return list(op.results), compute_both


def drawn(seed: int, *, largest_cluster: int = 16, largest_block: int = 256) -> Program:
    """Draw a program; the current context must be one of `mlir_tile`."""
    draw = random.Random(seed)
    cluster = draw.choice([n for n in (1, 2, 2, 3, 4, 4, 5, 8, 16) if n <= largest_cluster])
    threads = draw.choice([n for n in (32, 64, 96, 128, 256, 1024) if n <= largest_block])
    clusters = draw.choice([1, 2, 3])
    writer = Writer(draw, clusters, cluster, threads)
    types = [draw.choice(TYPES) for _ in range(draw.randint(1, 3))]
    module = ir.Module.create()
    memrefs = [ir.MemRefType.get([writer.count], type_.ir()) for type_ in types]
    with build.kernel(module, "kernel", memrefs, block=threads, cluster=cluster) as kernel:
        writer.thread = gpu.thread_id(gpu.Dimension.x)
        writer.rank = gpu.cluster_block_id(gpu.Dimension.x)
        writer.cluster_id = gpu.cluster_id(gpu.Dimension.x)
        place = gpu.global_id(gpu.Dimension.x)
        zero = [arith.constant(type_.ir(), type_.dtype(0).item()) for type_ in types]
        start = [writer.shared(type_, value) for type_, value in zip(types, zero, strict=True)]
        results, compute = writer.body(types, start, draw.randint(1, 4), 2)
        for output, value in zip(kernel.arguments, results, strict=True):
            memref.store(value, output, [place])
    if draw.random() < 0.2:
        del kernel.function.attributes["known_cluster_size"]
        writer.parts.append("a cluster of a size that is not known")
    outputs = list(range(len(types)))
    build.main(module, kernel, grid=clusters * cluster, copy_in=[], copy_out=outputs)
    arrays = [np.zeros(writer.count, type_.dtype) for type_ in types]
    arrays = [writer.share(type_, values) for type_, values in zip(types, arrays, strict=True)]
    size = f"{clusters} clusters of {cluster} CTAs of {threads} threads"
    return Program(module, types, compute(arrays), [size, *writer.parts])


def compiled(seed: int, **limits: int) -> Iterator[tuple[Program, Any]]:
    """Draw and compile a program."""
    with mt.context(), ir.Location.unknown():
        program = drawn(seed, **limits)
        yield program, mt.compile(program.module)
