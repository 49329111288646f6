# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures as lines of text, with colours for terminals that want them."""

from __future__ import annotations

from . import looks
from .model import Cell, Grid, Picture

GAP = "    "


def render(picture: Picture, width: int, colored: bool) -> str:
    """Return a picture as text; grids are side by side where `width` characters allow."""
    blocks = [_grid(grid, picture.color, colored) for grid in picture.grids]
    parts = [[picture.title]] if picture.title else []
    if sum(size for _, size in blocks) + len(GAP) * (len(blocks) - 1) <= width:
        parts.append(_beside(blocks))
    else:
        parts += [[line.rstrip() for line in lines] for lines, _ in blocks]
    parts.append(looks.key(picture, "!", "*"))
    parts.append(picture.lines)
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def width_of(grid: Grid, color: str) -> int:
    """Return how many characters wide the cells of a grid are drawn."""
    edge, size = _sizes(grid, color)
    return edge + (size + 1) * len(grid.column_labels)


def _sizes(grid: Grid, color: str) -> tuple[int, int]:
    """Return the width of the row labels and of a cell."""
    texts = [_text(cell, grid, color) for cell in grid.cells()]
    return max(map(len, grid.row_labels)), max(map(len, [*texts, *grid.column_labels]))


def _grid(grid: Grid, color: str, colored: bool) -> tuple[list[str], int]:
    """Return the lines of a grid, all as long as shown, and that length."""
    edge, size = _sizes(grid, color)
    title = [f"{grid.title}: {grid.layout} {grid.element}"] if grid.title else []
    width = width_of(grid, color)
    padding = " " * (max([width, *map(len, title)]) - width)
    lines = [line.ljust(width + len(padding)) for line in title]
    labels = "".join(f" {label:>{size}}" for label in grid.column_labels)
    lines.append(" " * edge + labels + padding)
    for label, cells in zip(grid.row_labels, grid.rows, strict=True):
        shown = [f"{_text(cell, grid, color):>{size}}" for cell in cells]
        if colored:
            shown = [_paint(t, c, color) for t, c in zip(shown, cells, strict=True)]
        missing = " " * (size + 1) * (len(grid.column_labels) - len(cells))
        lines.append(f"{label:>{edge}} " + " ".join(shown) + missing + padding)
    return lines, width + len(padding)


def _text(cell: Cell, grid: Grid, color: str) -> str:
    mark = ("*" if cell.marked else "") + ("!" if looks.has_conflict(cell) else "")
    return f"{cell.place} {looks.value(cell, grid, color)}".rstrip() + mark


def _paint(text: str, cell: Cell, color: str) -> str:
    """Set the background of a cell's text to its colour, in 24 bits; marked cells are inverse."""
    fill = looks.fill(cell, color)
    if cell.marked:
        return f"\x1b[7m{text}\x1b[0m"
    if fill is None:
        return text
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return f"\x1b[30;48;2;{red};{green};{blue}m{text}\x1b[0m"


def _beside(blocks: list[tuple[list[str], int]]) -> list[str]:
    height = max((len(lines) for lines, _ in blocks), default=0)
    rows = [[*lines, *[" " * size] * (height - len(lines))] for lines, size in blocks]
    return [GAP.join(line).rstrip() for line in zip(*rows, strict=True)]
