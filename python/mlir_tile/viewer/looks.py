# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all renderers share: what a cell is coloured by, and what is written in it.

Colours only help the eye: whatever they say is in the cell as a number too.
"""

from __future__ import annotations

from .model import BANK_BITS, BANKS, Cell, Grid, Picture

# Paul Tol's scheme "light", made for labelled cells: distinct for all kinds of colour vision, and
# light enough for black text.
PALETTE = (
    "#77aadd", "#eedd88", "#ee8866", "#44bb99", "#ffaabb", "#bbcc33", "#99ddff", "#dddddd",
)  # fmt: skip


def bits_of(grid: Grid) -> int:
    """Return the bits of a whole cell."""
    return grid.piece * grid.element_bits


def banks_of(cell: Cell, grid: Grid) -> str:
    """Return the banks of a cell, as `4` or `4-7`."""
    first_bit = cell.place * grid.element_bits
    words = (first_bit + bits_of(grid) - 1) // BANK_BITS - first_bit // BANK_BITS
    return str(cell.bank) if words == 0 else f"{cell.bank}-{(cell.bank + words) % BANKS}"


def number(cell: Cell, color: str) -> int | None:
    """Return the number that a cell is coloured by."""
    return {"chunk": cell.moved.chunk, "bank": cell.bank, "phase": cell.phase}[color]


def fill(cell: Cell, color: str) -> str | None:
    """Return the colour of a cell, or None for none."""
    value = number(cell, color)
    if value is None:
        return None
    if color == "bank":
        # As many banks share a colour as make eight of them for all.
        value //= BANKS // len(PALETTE)
    return PALETTE[value % len(PALETTE)]


def value(cell: Cell, grid: Grid, color: str) -> str:
    """Return what a cell is coloured by, as text."""
    if color == "bank":
        return "b" + banks_of(cell, grid)
    if color == "phase":
        return f"^{cell.phase}"
    return "" if cell.moved.chunk is None else f"#{cell.moved.chunk}"


def has_conflict(cell: Cell) -> bool:
    """Whether banks give what is loaded together with a cell in more than one clock."""
    return cell.moved.cycles > 1


def key(picture: Picture, conflict: str, marked: str) -> list[str]:
    """Return what the numbers and the marks of a picture mean, a line each."""
    cells = [cell for grid in picture.grids for cell in grid.cells()]
    if not cells:
        return []
    pieces = sorted({grid.piece for grid in picture.grids})
    unit = "byte" if picture.grids[0].element == "byte" else "element"
    what = f"{pieces[0]} {unit}s" if pieces[0] != 1 else f"one {unit}"
    meaning = {
        "bank": "b, colour: bank of shared memory",
        "phase": "^, colour: what the swizzle XORs the number of its unit with",
        "chunk": "#, colour: the copy that moves it, in issue order",
    }[picture.color]
    lines = [f"each cell is {what}: its place, counted in {unit}s; {meaning}"]
    slowest = max(cell.moved.cycles for cell in cells)
    if slowest > 1:
        lines.append(f"{conflict}: bank conflict, a load of up to {slowest} cycles instead of 1")
    if any(cell.marked for cell in cells):
        lines.append(f"{marked}: where the layouts do not fit, see below")
    return lines + sorted({grid.hidden for grid in picture.grids} - {""})
