# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a picture shows, without any looks: grids of cells, each a few neighbouring elements.

Places come from the layout algebra, chunks from a plan. A cell is the longest piece of a row, up to
16 bytes, that is contiguous in each grid; large tiles are cut to a window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .._tile import LayoutAttr
from .chunks import Chunks, Moved
from .copies import Copy
from .notation import Spec, extents

BANKS = 32
BANK_BITS = 32
PIECE_BITS = 128
"""Bits that one thread can load or store at once."""
FEW_COLUMNS = 16
"""Rows of so many elements are drawn element by element."""

Coordinate = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """The most rows and cells of a row to draw, and a coordinate that must be among them."""

    rows: int = 32
    columns: int = 16
    at: Coordinate | None = None


@dataclass(frozen=True)
class Cell:
    """Neighbouring elements of a row that are contiguous in memory.

    `place` is the first one's, in elements from the buffer's start; `phase` is what the swizzle
    XORs its unit's number with. `moved` is the copy that moves it. `marked` is where the analysis
    found fault.
    """

    coordinate: Coordinate
    place: int
    bank: int
    phase: int = 0
    moved: Moved = Moved()  # noqa: RUF009  (frozen)
    marked: bool = False


@dataclass(frozen=True)
class Grid:
    """One side of a picture; `piece` is the number of elements in a cell."""

    title: str
    layout: str
    element: str
    element_bits: int
    piece: int
    row_labels: list[str]
    column_labels: list[str]
    rows: list[list[Cell]]
    hidden: str = ""

    def cells(self) -> Iterator[Cell]:
        """Yield all cells, row by row."""
        for row in self.rows:
            yield from row


@dataclass(frozen=True)
class Picture:
    """Grids side by side, what to colour them by, and lines of text below."""

    title: str
    color: str
    grids: list[Grid]
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Plane:
    """A tile seen as rows and columns: the last dimension runs along a row.

    A tile of one dimension is wrapped; rows of the others are numbered row-major.
    """

    extents: tuple[int, ...]
    columns: int
    rows: int

    @staticmethod
    def of(shape: tuple[int, ...], wrap: int) -> _Plane:
        if len(shape) == 1:
            columns = min(shape[0], wrap)
            return _Plane(shape, columns, -(-shape[0] // columns))
        columns = shape[-1] if shape else 1
        return _Plane(shape, columns, math.prod(shape[:-1]))

    def length(self, row: int) -> int:
        """Return the elements of a row; the last one of a wrapped tile may be shorter."""
        if len(self.extents) == 1:
            return min(self.columns, self.extents[0] - row * self.columns)
        return self.columns

    def coordinate(self, row: int, column: int) -> Coordinate:
        if len(self.extents) == 1:
            return (row * self.columns + column,)
        if not self.extents:
            return ()
        leading = []
        for extent in reversed(self.extents[:-1]):
            leading.append(row % extent)
            row //= extent
        return (*reversed(leading), column)

    def row_of(self, coordinate: Coordinate) -> tuple[int, int]:
        """Return the row and the column of a coordinate."""
        if len(self.extents) == 1:
            return divmod(coordinate[0], self.columns)
        row = 0
        for extent, index in zip(self.extents[:-1], coordinate[:-1], strict=True):
            row = row * extent + index
        return row, coordinate[-1] if coordinate else 0

    def label(self, row: int) -> str:
        if len(self.extents) == 1:
            return str(row * self.columns)
        leading = self.coordinate(row, 0)[:-1]
        return ",".join(map(str, leading))


@dataclass(frozen=True)
class _Side:
    """What one grid is made of: places with and without the swizzle, and a plan's chunks."""

    title: str
    spec: Spec
    known_offset: Any
    plain: Any
    moved_by: Callable[[Coordinate], Moved]

    @staticmethod
    def of(
        title: str, spec: Spec, moved_by: Callable[[Coordinate], Moved] = lambda _: Moved()
    ) -> _Side:
        layout = spec.layout
        offset = layout.offset or 0
        known = LayoutAttr.get(layout.shape, layout.stride, offset, layout.swizzle)
        plain = LayoutAttr.get(layout.shape, layout.stride, offset)
        return _Side(title, spec, known, plain, moved_by)

    def place(self, coordinate: Coordinate) -> int:
        return int(self.known_offset(*coordinate))

    def byte(self, coordinate: Coordinate) -> int:
        return self.place(coordinate) * self.spec.element_bits // 8

    def cell(self, coordinate: Coordinate, marked: bool) -> Cell:
        place = self.place(coordinate)
        bit = place * self.spec.element_bits
        phase = 0
        if self.spec.layout.swizzle:
            phase = (place ^ self.plain(*coordinate)) >> self.spec.layout.swizzle[1]
        bank = bit // BANK_BITS % BANKS
        return Cell(coordinate, place, bank, phase, self.moved_by(coordinate), marked)


def picture_of_layout(spec: Spec, color: str | None, window: Window) -> Picture:
    """Describe one layout; it is coloured by bank where nothing else is asked for."""
    lines = []
    if spec.layout.offset is None:
        lines.append("the offset is known at run time only, and drawn as 0")
    if spec.assumed:
        lines.append(f"elements taken to be {spec.element}")
    few = not spec.layout.shape or extents(spec.layout)[-1] <= FEW_COLUMNS
    bits = spec.element_bits if few else PIECE_BITS
    grids = _grids([_Side.of("", spec)], window, [], bits)
    return Picture(_heading(spec), color or "bank", grids, lines)


def picture_of_copy(copy: Copy, color: str | None, window: Window) -> Picture:
    """Describe both sides of a copy, its plan, and what the analysis said."""
    lines = [str(copy.plan)] if copy.plan is not None else []
    lines += copy.said
    title = (f"{copy.where}: " if copy.where else "") + "tile.copy_async"
    title += f" issue({copy.issue})" if copy.issue != "thread" else ""
    title += "" if copy.plan is not None else ": declined"
    if copy.src is None or copy.dst is None:
        return Picture(title, color or "chunk", [], lines)
    most = PIECE_BITS
    if copy.plan is not None and copy.plan.count:
        chunks = Chunks(copy.plan, copy.src.layout.stride, copy.dst.layout.stride)
        most = min(most, 8 * chunks.part_bytes)
        dst = _Side.of("destination", copy.dst, lambda at: chunks.at_destination(dst.byte(at)))
        src = _Side.of("source", copy.src, lambda at: chunks.at_source(src.byte(at), dst.byte(at)))
        sides = [src, dst]
    else:
        sides = [_Side.of("source", copy.src), _Side.of("destination", copy.dst)]
    if copy.marks and window.at is None:
        window = Window(window.rows, window.columns, copy.marks[0])
    grids = _grids(sides, window, copy.marks, most)
    return Picture(title, color or ("chunk" if copy.plan is not None else "bank"), grids, lines)


def picture_of_plan(plan: Any, window: Window) -> Picture:
    """Describe the buffers of a plan byte by byte; a row is what all banks hold at once."""
    lines = [str(plan)]
    # Where only the run time knows a step, there is no one picture.
    if plan.count == 0 or None in (*plan.src.steps, *plan.dst.steps):
        return Picture("", "chunk", [], lines)
    chunks = Chunks(plan)
    piece = min(PIECE_BITS // 8, chunks.part_bytes)
    grids = [
        _memory("source", chunks.source_pieces(piece), piece, window),
        _memory("destination", chunks.destination_pieces(piece), piece, window),
    ]
    return Picture("", "chunk", grids, lines)


def _memory(title: str, pieces: dict[int, Moved], piece: int, window: Window) -> Grid:
    """Describe a buffer, given what moves each of its pieces, by their first bytes."""
    row_bytes = BANKS * BANK_BITS // 8
    used = sorted({byte // row_bytes for byte in pieces})
    drawn = used[: window.rows]
    hidden = f"only {len(drawn)} of {len(used)} rows are drawn" if len(drawn) < len(used) else ""
    return Grid(
        title=title,
        layout="",
        element="byte",
        element_bits=8,
        piece=piece,
        row_labels=[str(row * row_bytes) for row in drawn],
        column_labels=[str(column) for column in range(0, row_bytes, piece)],
        rows=[
            [
                Cell((byte,), byte, byte * 8 // BANK_BITS % BANKS, 0, pieces.get(byte, Moved()))
                for byte in range(row * row_bytes, (row + 1) * row_bytes, piece)
            ]
            for row in drawn
        ],
        hidden=hidden,
    )


def _heading(spec: Spec) -> str:
    return f"{str(spec.layout).removeprefix('#tile.layout<').removesuffix('>')} {spec.element}"


def _grids(
    sides: list[_Side], window: Window, marks: list[Coordinate], piece_bits: int
) -> list[Grid]:
    """Cut all sides into the same cells, and keep those in the window."""
    shape = extents(sides[0].spec.layout)
    if window.at is not None and not _inside(window.at, shape):
        at = ",".join(map(str, window.at))
        whole = ", ".join(map(str, shape))
        raise ValueError(f"coordinate must be inside the tile of ({whole}), got ({at})")
    piece = piece_bits // max(side.spec.element_bits for side in sides)
    piece = 1 << max(piece, 1).bit_length() - 1
    while True:
        plane = _Plane.of(shape, min(FEW_COLUMNS, window.columns) * piece)
        rows, columns = _visible(plane, window, piece)
        if piece == 1 or _in_pieces(plane, rows, columns, piece, sides):
            break
        piece //= 2
    hidden = _hidden(plane, rows, columns)
    return [_grid(side, plane, rows, columns, piece, marks, hidden) for side in sides]


def _inside(coordinate: Coordinate, shape: tuple[int, ...]) -> bool:
    return len(coordinate) == len(shape) and all(
        0 <= index < extent for index, extent in zip(coordinate, shape, strict=True)
    )


def _visible(plane: _Plane, window: Window, piece: int) -> tuple[range, range]:
    """Return the rows and the columns of elements to draw."""
    row, column = plane.row_of(window.at) if window.at is not None else (0, 0)
    first_row = max(0, min(row - window.rows // 2, plane.rows - window.rows))
    cells = -(-plane.columns // piece)
    first = max(0, min(column // piece - window.columns // 2, cells - window.columns))
    return (
        range(first_row, min(plane.rows, first_row + window.rows)),
        range(first * piece, min(plane.columns, (first + window.columns) * piece)),
    )


def _in_pieces(plane: _Plane, rows: range, columns: range, piece: int, sides: list[_Side]) -> bool:
    """Whether each cell of `piece` elements is contiguous on each side."""
    if plane.columns % piece or plane.length(plane.rows - 1) % piece:
        return False
    for side in sides:
        for row in rows:
            for column in range(columns.start, min(columns.stop, plane.length(row)), piece):
                first = side.place(plane.coordinate(row, column))
                if first % piece:
                    return False
                for i in range(1, min(piece, plane.length(row) - column)):
                    if side.place(plane.coordinate(row, column + i)) != first + i:
                        return False
    return True


def _hidden(plane: _Plane, rows: range, columns: range) -> str:
    """Return a line on the part of the tile that is not drawn."""
    parts = []
    if len(rows) < plane.rows:
        parts.append(f"rows {rows.start} to {rows.stop - 1} of {plane.rows}")
    if len(columns) < plane.columns:
        parts.append(f"columns {columns.start} to {columns.stop - 1} of {plane.columns}")
    return f"only {' and '.join(parts)} are drawn" if parts else ""


def _grid(
    side: _Side,
    plane: _Plane,
    rows: range,
    columns: range,
    piece: int,
    marks: list[Coordinate],
    hidden: str,
) -> Grid:
    marked = {(row, column // piece) for row, column in (plane.row_of(mark) for mark in marks)}
    return Grid(
        title=side.title,
        layout=str(side.spec.layout),
        element=str(side.spec.element),
        element_bits=side.spec.element_bits,
        piece=piece,
        row_labels=[plane.label(row) for row in rows],
        column_labels=[str(column) for column in columns[::piece]],
        rows=[
            [
                side.cell(plane.coordinate(row, column), (row, column // piece) in marked)
                for column in range(columns.start, min(columns.stop, plane.length(row)), piece)
            ]
            for row in rows
        ],
        hidden=hidden,
    )
