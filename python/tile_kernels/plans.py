# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a row is spread over a cluster: the sizes that were measured to be fast."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from .tensors import ELEMENT_BYTES, Rows

VECTOR_BYTES = 16


@dataclass(frozen=True)
class Plan:
    """What a kernel is compiled for.

    A row of `element`s is on a cluster of `cluster` CTAs of `block` threads, each of which has
    `vectors` vectors at a time. With `is_held`, these and `shared` vectors in shared memory are all
    of the row. With `has_edges` the row need not begin and end at a multiple of 16 bytes.
    `ctas_per_sm` CTAs are to find registers on an SM.
    """

    element: str
    cluster: int
    block: int
    vectors: int
    shared: int
    is_held: bool
    has_edges: bool
    ctas_per_sm: int

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return VECTOR_BYTES // ELEMENT_BYTES[self.element]


MAX_CLUSTER = 16
REGISTERS_OF_SM, THREADS_OF_SM, CTAS_OF_SM = 65536, 2048, 32


class Sizes(NamedTuple):
    """CTAs of a cluster, threads of a CTA, and vectors of a thread in registers and elsewhere."""

    cluster: int
    block: int
    vectors: int
    shared: int = 0

    @property
    def capacity(self) -> int:
        """Vectors of a row that a cluster can hold."""
        return self.cluster * self.block * (self.vectors + self.shared)


_SIZES: ContextVar[Sizes | None] = ContextVar("sizes", default=None)


@contextlib.contextmanager
def sizes(cluster: int, block: int, vectors: int, shared: int = 0) -> Iterator[None]:
    """Let all plans have these sizes meanwhile, to measure or to test them."""
    token = _SIZES.set(Sizes(cluster, block, vectors, shared))
    try:
        yield
    finally:
        _SIZES.reset(token)


def chosen_sizes() -> Sizes | None:
    """Return the sizes that all plans have now, if there are some."""
    return _SIZES.get()


def plan_for(x: Rows, fast: Callable[[int, int], Sizes], *, is_read_again: bool) -> Plan:
    """Return the plan for the rows of `x`, of the sizes that are `fast`.

    A row that is read again is held where it fits.
    """
    rows, length = x.tensor.shape
    size = ELEMENT_BYTES[x.element]
    ends = [x.pointer, length * size, *([x.step * size] if rows > 1 else [])]
    has_edges = any(end % VECTOR_BYTES for end in ends)
    vectors_of_row = -(-length * size // VECTOR_BYTES)
    chosen = _SIZES.get() or fast(rows, vectors_of_row)
    is_held = is_read_again and chosen.capacity >= vectors_of_row
    cluster, block, vectors, shared = chosen
    registers = 32 if vectors <= 2 else 48 if vectors <= 4 else 64 if vectors <= 8 else 128
    ctas_per_sm = min(REGISTERS_OF_SM // registers, THREADS_OF_SM) // block
    return Plan(
        x.element,
        cluster,
        block,
        vectors,
        shared if is_held else 0,
        is_held,
        has_edges,
        min(max(1, ctas_per_sm), CTAS_OF_SM),
    )


def sizes_for(rows: int, vectors_of_row: int) -> Sizes:
    """Return the sizes for rows of so many vectors, as they were measured to be fast."""
    return _first_that_holds(_MANY if rows > FEW_ROWS else _FEW, vectors_of_row)


def sizes_with_columns(rows: int, vectors_of_row: int) -> Sizes:
    """Return the sizes where each row is combined with a tensor that all rows share.

    Every cluster reads that tensor from the L2 cache: larger CTAs do so at a higher rate.
    """
    table = _MANY_WITH_COLUMNS if rows > FEW_ROWS else _FEW_WITH_COLUMNS
    return _first_that_holds(table, vectors_of_row)


def _first_that_holds(table: list[Sizes], vectors_of_row: int) -> Sizes:
    return next((sizes_ for sizes_ in table if sizes_.capacity >= vectors_of_row), _LONGEST)


def sizes_for_one_pass(rows: int, vectors_of_row: int) -> Sizes:
    """Return the sizes for rows that are read once: enough CTAs for all SMs to have several."""
    cluster = 1
    while cluster < MAX_CLUSTER and rows * cluster < MANY_CTAS:
        if 2 * cluster * _ONE_PASS.capacity > vectors_of_row:
            break
        cluster *= 2
    return _ONE_PASS._replace(cluster=cluster)


_ONE_PASS = Sizes(1, 256, 8)
MANY_CTAS = 1024
FEW_ROWS = 40
_LONGEST = Sizes(16, 512, 8)
_SHORT = [Sizes(1, 32, 1), Sizes(1, 64, 2)]
_MANY = [
    *_SHORT,
    Sizes(1, 128, 4),
    Sizes(1, 128, 8),
    Sizes(2, 128, 8),
    Sizes(4, 128, 8),
    Sizes(8, 128, 8),
    Sizes(16, 128, 8),
    Sizes(16, 256, 8),
    Sizes(16, 256, 8, 8),
    Sizes(16, 512, 8, 8),
]
_FEW = [
    *_SHORT,
    Sizes(1, 256, 2),
    Sizes(2, 256, 2),
    Sizes(4, 256, 2),
    Sizes(8, 256, 2),
    Sizes(16, 256, 2),
    Sizes(16, 256, 4),
    Sizes(16, 256, 8),
    Sizes(16, 256, 8, 8),
    Sizes(16, 512, 8, 8),
]
_MANY_WITH_COLUMNS = [
    *_SHORT,
    Sizes(1, 128, 4),
    Sizes(1, 256, 4),
    Sizes(1, 256, 8),
    Sizes(1, 256, 16),
    Sizes(4, 256, 8),
    Sizes(4, 512, 4, 4),
    Sizes(8, 512, 4, 4),
    Sizes(16, 512, 4, 4),
    Sizes(16, 512, 8, 8),
]
_FEW_WITH_COLUMNS = [
    *_SHORT,
    Sizes(1, 256, 2),
    Sizes(2, 256, 2),
    Sizes(4, 256, 2),
    Sizes(8, 256, 2),
    Sizes(8, 512, 2),
    Sizes(8, 512, 4),
    Sizes(8, 1024, 4),
    Sizes(8, 1024, 4, 4),
    Sizes(16, 512, 8, 8),
]
