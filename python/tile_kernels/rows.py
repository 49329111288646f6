# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One row of a tensor on one cluster: which thread has which elements, and how they come and go.

A kernel makes a `Row`, reduces it, and writes what it finds. Vectors of 16 bytes begin at the first
address of the row that is a multiple of 16; the elements before and after them, its edges, are
loaded one by one. A row that fits into the registers of its cluster stays there, and one that does
not is read again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith, gpu, llvm, memref, scf, vector

from mlir_tile import builders
from mlir_tile.dialects import tile

from .plans import VECTOR_BYTES, Plan
from .tensors import ELEMENT_BYTES

LOG2_E = 1.4426950408889634
LOADED_TOGETHER = 16
"""Elements that a thread loads of other tensors before it stores a result."""

State: TypeAlias = Sequence[ir.Value]
"""What a reduction knows of some elements."""


@dataclass(frozen=True)
class Piece:
    """`lanes` elements of a row from `column` on, which are the thread's own where `inside`."""

    column: ir.Value
    inside: ir.Value
    lanes: int


@dataclass
class Row:
    """The row of `x` that the executing cluster works on.

    `alignments` has, of each other tensor, the bytes of which the addresses of its vectors are
    multiples, and `shared` is where the plan's vectors in shared memory are.
    """

    plan: Plan
    x: ir.Value
    alignments: dict[ir.Value, int]
    shared: ir.Value | None = None
    number: ir.Value = field(init=False)
    length: ir.Value = field(init=False)

    def __post_init__(self) -> None:
        plan, index = self.plan, builders.index
        self.number = gpu.cluster_id(gpu.Dimension.x)
        self.rank = gpu.cluster_block_id(gpu.Dimension.x)
        self.length = memref.dim(self.x, index(1))
        first = arith.muli(self.rank, index(plan.block))
        self.thread = gpu.thread_id(gpu.Dimension.x)
        self.worker = arith.addi(first, self.thread)
        self._head = self._elements_before_vectors() if plan.has_edges else index(0)
        rest = arith.subi(self.length, self._head)
        self._vectors = arith.divui(rest, index(plan.lanes))
        self._held: list[tuple[Piece, ir.Value]] = []

    def _elements_before_vectors(self) -> ir.Value:
        index, size = builders.index, ELEMENT_BYTES[self.plan.element]
        _, offset, _, _, step, _ = memref.extract_strided_metadata(self.x)
        elements = arith.addi(offset, arith.muli(self.number, step))
        address = arith.addi(
            memref.extract_aligned_pointer_as_index(self.x), arith.muli(elements, index(size))
        )
        missing = arith.andi(arith.subi(index(0), address), index(VECTOR_BYTES - 1))
        return arith.minui(arith.divui(missing, index(size)), self.length)

    def edges(self) -> list[Piece]:
        """Return the element before or after the vectors that the thread has."""
        if not self.plan.has_edges:
            return []
        inner = arith.muli(self._vectors, builders.index(self.plan.lanes))
        inside = less(self.worker, arith.subi(self.length, inner))
        skipped = arith.addi(self.worker, inner)
        column = arith.select(less(self.worker, self._head), self.worker, skipped)
        return [Piece(column, inside, 1)]

    def batch(self, first: ir.Value) -> list[Piece]:
        """Return the thread's vectors of a batch, whose first vector in the row is `first`."""
        plan, pieces = self.plan, []
        mine = arith.addi(first, self.worker)
        column = arith.addi(self._head, arith.muli(mine, builders.index(plan.lanes)))
        for step in range(plan.vectors):
            # Sums with constants, which become constants in addresses.
            skipped = step * plan.cluster * plan.block
            place = arith.addi(column, builders.index(skipped * plan.lanes))
            inside = less(mine, arith.subi(self._vectors, builders.index(skipped)))
            pieces.append(Piece(place, inside, plan.lanes))
        return pieces

    def piece(self, number: ir.Value, is_there: ir.Value) -> Piece:
        """Return a vector of the row, which is the thread's own where `is_there`."""
        column = arith.addi(self._head, arith.muli(number, builders.index(self.plan.lanes)))
        inside = arith.andi(is_there, less(number, self._vectors))
        return Piece(column, inside, self.plan.lanes)

    def batches(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        plan = self.plan
        step = plan.vectors * plan.cluster * plan.block
        return builders.index(0), self._vectors, builders.index(step)

    def load(self, buffer: ir.Value, piece: Piece, fill: float = 0.0) -> ir.Value:
        """Load a piece, or as many times `fill` where it is not the thread's own."""
        type_ = ir.VectorType.get([piece.lanes], ir.MemRefType(buffer.type).element_type)
        place, alignment = self._place(buffer, piece), self._alignment(buffer, piece)
        return builders.if_else(
            piece.inside,
            type_,
            lambda: vector.load(type_, buffer, place, alignment=alignment),
            lambda: splat(fill, type_),
        )

    def store(self, buffer: ir.Value, piece: Piece, make: Callable[[], ir.Value]) -> None:
        """Store what `make()` is to a piece, rounded to the elements of `buffer`.

        It is made only where the piece is the thread's own, so that it is not made early, when
        registers are few.
        """
        place, alignment = self._place(buffer, piece), self._alignment(buffer, piece)
        with builders.if_true(piece.inside):
            rounded = round_to(make(), ir.MemRefType(buffer.type).element_type)
            vector.store(rounded, buffer, place, alignment=alignment)

    def store_once(self, buffer: ir.Value, value: ir.Value) -> None:
        """Store a scalar, rounded, to the place of the row in `buffer`."""
        rounded = round_to(value, ir.MemRefType(buffer.type).element_type)
        with builders.if_true(less(self.worker, builders.index(1))):
            memref.store(rounded, buffer, [self.number])

    def _place(self, buffer: ir.Value, piece: Piece) -> list[ir.Value]:
        """Return the indices of a piece of a tensor, or of a vector that is for all rows."""
        is_vector = ir.MemRefType(buffer.type).rank == 1
        return [piece.column] if is_vector else [self.number, piece.column]

    def _alignment(self, buffer: ir.Value, piece: Piece) -> int | None:
        """Return what is known of its address: of an edge, no more than of its element."""
        return self.alignments.get(buffer, VECTOR_BYTES) if piece.lanes > 1 else None

    def elements(self) -> ir.Value:
        """Return the length of the row in f32."""
        length = arith.index_cast(ir.IntegerType.get_signless(32), self.length)
        return arith.sitofp(ir.F32Type.get(), length)

    def reduce(
        self,
        fill: float,
        digest: Callable[[list[ir.Value], list[Piece]], State],
        combine: Callable[[State, State], State],
    ) -> State:
        """Return what `digest` finds in the whole row, to all threads of the cluster.

        `digest` takes the vectors of some pieces, in which `fill` stands for no element, and
        `combine` two of its results.
        """
        if self.plan.is_held:
            mine: State | None = None
            for pieces in self._batches_held():
                values = [self.load(self.x, piece, fill) for piece in pieces]
                found = digest(values, pieces)
                mine = found if mine is None else combine(mine, found)
                self._keep(pieces, values)
            assert mine is not None
        else:
            edges = self.edges() or [Piece(builders.index(0), boolean(False), 1)]
            mine = digest([self.load(self.x, piece, fill) for piece in edges], edges)
            loop = scf.ForOp(*self.batches(), list(mine))
            with ir.InsertionPoint(loop.body):
                pieces = self.batch(loop.induction_variable)
                found = digest([self.load(self.x, piece, fill) for piece in pieces], pieces)
                scf.yield_(combine(list(loop.inner_iter_args), found))
            mine = list(loop.results)
        whole: State = tile.all_reduce(mine, combine)
        return whole

    def _batches_held(self) -> list[list[Piece]]:
        """Return the thread's pieces of a row that is held: the last ones stay in registers."""
        plan = self.plan
        step = plan.vectors * plan.cluster * plan.block
        places = range(plan.shared // plan.vectors, -1, -1)
        batches = [self.batch(builders.index(place * step)) for place in places]
        batches[-1] += self.edges()
        return batches

    def _keep(self, pieces: list[Piece], values: list[ir.Value]) -> None:
        """Keep values until they are written: as many as shared memory has room for there."""
        for piece, value in zip(pieces, values, strict=True):
            if len(self._held) < self.plan.shared:
                vector.store(value, self.shared, self._own(), alignment=VECTOR_BYTES)
            self._held.append((piece, value))

    def _own(self) -> list[ir.Value]:
        """Return where in shared memory the thread's next vector is kept."""
        return [builders.index(len(self._held)), self.thread, builders.index(0)]

    def _kept(self) -> tuple[Piece, ir.Value]:
        """Return the piece that was kept last, and its values."""
        piece, value = self._held.pop()
        if len(self._held) >= self.plan.shared:
            return piece, anew(value)
        return piece, vector.load(value.type, self.shared, self._own(), alignment=VECTOR_BYTES)

    def write(
        self, y: ir.Value, finish: Callable[..., ir.Value], columns: Sequence[ir.Value] = ()
    ) -> None:
        """Store what `finish(values, *others)` makes of each piece of the row to its place in `y`.

        The others are the same piece of each tensor of `columns`.
        """
        if self.plan.is_held:
            while self._held:
                together = LOADED_TOGETHER // (self.plan.lanes * max(1, len(columns)))
                count = min(len(self._held), max(1, together) if columns else 1)
                self._finish(y, [self._kept() for _ in range(count)], finish, columns)
            return
        for piece in self.edges():
            self._finish(y, [(piece, self.load(self.x, piece))], finish, columns)
        for first in scf.for_(*self.batches()):
            loaded = [(piece, self.load(self.x, piece)) for piece in self.batch(first)]
            self._finish(y, loaded, finish, columns)
            scf.yield_([])

    def _finish(
        self,
        y: ir.Value,
        kept: list[tuple[Piece, ir.Value]],
        finish: Callable[..., ir.Value],
        columns: Sequence[ir.Value],
    ) -> None:
        """Write some pieces: the compiler moves no load over a store, so loads come first."""
        others = [[self.load(buffer, piece) for buffer in columns] for piece, _ in kept]
        for (piece, values), more in zip(kept, others, strict=True):
            self.store(y, piece, functools.partial(finish, values, *more))


def less(a: ir.Value, b: ir.Value) -> ir.Value:
    """Return whether `a` is less than `b`, both signed."""
    return arith.cmpi(arith.CmpIPredicate.slt, a, b)


def boolean(value: bool) -> ir.Value:
    """Return a constant."""
    return arith.constant(ir.IntegerType.get_signless(1), int(value))


def f32(value: float) -> ir.Value:
    """Return a constant."""
    return arith.constant(ir.F32Type.get(), float(value))


def splat(value: float, type_: ir.VectorType) -> ir.Value:
    """Return a vector of one constant."""
    element = ir.FloatAttr.get(type_.element_type, value)
    return arith.constant(type_, ir.DenseElementsAttr.get_splat(type_, element))


def like(scalar: ir.Value, values: ir.Value) -> ir.Value:
    """Return `scalar` in each lane of a vector as long as `values`."""
    return vector.broadcast(ir.VectorType.get(values.type.shape, scalar.type), scalar)


def to_f32(values: ir.Value) -> ir.Value:
    """Return a vector or a scalar in f32."""
    return round_to(values, ir.F32Type.get())


def round_to(values: ir.Value, element: ir.Type) -> ir.Value:
    """Return a vector or a scalar with elements of another float type."""
    is_vector = isinstance(values.type, ir.VectorType)
    given = values.type.element_type if is_vector else values.type
    if given == element:
        return values
    type_ = ir.VectorType.get(values.type.shape, element) if is_vector else element
    return (arith.extf if element.width > given.width else arith.truncf)(type_, values)


def anew(values: ir.Value) -> ir.Value:
    """Return the same vector as one that no compiler knows to be the same.

    What was computed of its elements is computed again, instead of being kept in registers: of
    elements of 16 bits, it takes twice as many.
    """
    type_ = ir.VectorType(values.type)
    width, count = type_.element_type.width, type_.shape[0]
    if width == 32 or count == 1:
        return values
    word = ir.IntegerType.get_signless(32)
    words = vector.bitcast(ir.VectorType.get([count * width // 32], word), values)
    hidden = [_same_word(vector.extract(words, [], [n])) for n in range(words.type.shape[0])]
    return vector.bitcast(type_, vector.from_elements(words.type, hidden))


def _same_word(word: ir.Value) -> ir.Value:
    """Return both halves of a word put together again, which ptxas does not see through."""
    prmt = "prmt.b32 $0, $1, $1, 0x7610;"
    return llvm.inline_asm(word.type, [word], prmt, "=r,r", has_side_effects=True)


def reduced(
    values: Sequence[ir.Value],
    kind: str,
    pairwise: Callable[[ir.Value, ir.Value], ir.Value],
) -> ir.Value:
    """Return all lanes of all vectors combined: those of equal length lane by lane at first."""
    by_type: dict[ir.Type, ir.Value] = {}
    for value in values:
        known = by_type.get(value.type)
        by_type[value.type] = value if known is None else pairwise(known, value)
    scalars = [vector.reduction(value.type.element_type, kind, value) for value in by_type.values()]
    result = scalars[0]
    for scalar in scalars[1:]:
        result = pairwise(result, scalar)
    return result


def maximum(values: Sequence[ir.Value]) -> ir.Value:
    """Return the largest element in f32; a NaN counts only where there is nothing else."""
    return to_f32(reduced(values, "maxnumf", arith.maxnumf))


def total(values: Sequence[ir.Value]) -> ir.Value:
    """Return the sum of all elements, which are f32."""
    return reduced(values, "add", arith.addf)


def exp(value: ir.Value) -> ir.Value:
    """Return e to the power of a scalar or a vector of f32; what is less than 2^-126 becomes 0.

    Without that, each power takes three instructions more.
    """
    if not isinstance(value.type, ir.VectorType):
        return _exp2(arith.mulf(value, f32(LOG2_E)))
    scaled = arith.mulf(value, like(f32(LOG2_E), value))
    lanes = range(value.type.shape[0])
    powers = [_exp2(vector.extract(scaled, [], [lane])) for lane in lanes]
    return vector.from_elements(value.type, powers)


def _exp2(value: ir.Value) -> ir.Value:
    return llvm.inline_asm(value.type, [value], "ex2.approx.ftz.f32 $0, $1;", "=f,f")
