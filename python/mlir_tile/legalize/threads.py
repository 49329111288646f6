# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of the executing threads does what: linear numbers, and the election of one lane."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, gpu, nvvm

from ..builders import if_true
from .values import built_once, i32

LANES = 32
MAX_CTAS = 16


@dataclass(frozen=True)
class Threads:
    """Those that execute an op: `issue` is thread, warp or cta."""

    issue: str

    def number(self) -> ir.Value:
        """Return the number of the thread among them, an `i32`."""
        return lane() if self.issue == "warp" else thread_in_block(known_block_size())

    @contextmanager
    def one(self) -> Iterator[None]:
        """Let one of them execute what is built inside.

        Of a warp or a CTA this is an elected lane of a converged warp: under any other condition
        the PTX assembler puts a loop over the active lanes around each bulk copy.
        """
        if self.issue == "thread":
            yield
            return
        elected = ir.IntegerType.get_signless(1)
        sizes = known_block_size()
        if self.issue == "warp" or (sizes and sizes[0] * sizes[1] * sizes[2] == LANES):
            with if_true(nvvm.elect_sync(elected)):
                yield
            return
        thread = thread_in_block(sizes)
        with (
            if_true(arith.cmpi(arith.CmpIPredicate.ult, thread, i32(LANES))),
            if_true(nvvm.elect_sync(elected)),
        ):
            yield


@built_once
def lane() -> ir.Value:
    """Return the number of the thread in its warp, an `i32`."""
    return nvvm.read_ptx_sreg_laneid(ir.IntegerType.get_signless(32))


@built_once
def thread_in_block(sizes: tuple[int, ...] | None) -> ir.Value:
    """Return the linear number of the thread in its CTA, an `i32`: x + y * dx + z * dx * dy.

    `sizes` are the extents of the CTA, where they are known.
    """
    type_ = ir.IntegerType.get_signless(32)
    linear: ir.Value | None = None
    for dimension in reversed([gpu.Dimension.x, gpu.Dimension.y, gpu.Dimension.z]):
        known = sizes[int(dimension)] if sizes else None
        if known != 1:
            coordinate = arith.index_cast(type_, gpu.thread_id(dimension))
            linear = coordinate if linear is None else arith.addi(linear, coordinate)
        if linear is not None and dimension != gpu.Dimension.x:
            inner = gpu.Dimension(int(dimension) - 1)
            size = sizes[int(inner)] if sizes else None
            if size != 1:
                factor = i32(size) if size else arith.index_cast(type_, gpu.block_dim(inner))
                linear = arith.muli(linear, factor)
    return i32(0) if linear is None else linear


@built_once
def known_block_size() -> tuple[int, ...] | None:
    """Return `known_block_size` of the function that is built in, or None without one."""
    return known_size("known_block_size")


@built_once
def most_ctas() -> int:
    """Return how many CTAs a cluster of the function that is built in has at most."""
    return math.prod(known_size("known_cluster_size") or (MAX_CTAS,))


def known_size(name: str) -> tuple[int, ...] | None:
    """Return what the attribute `name` of the function that is built in says."""
    parent = ir.InsertionPoint.current.block.owner.operation
    while parent is not None:
        if parent.name == "gpu.func":
            known = parent.attributes.get(name)
            return None if known is None else tuple(ir.DenseI32ArrayAttr(known))
        parent = parent.parent
    return None
