# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures as SVG: one file for documents and notebooks, on light and dark pages."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from . import looks
from .model import Cell, Grid, Picture

MARGIN = 16
LINE = 18
CELL_HEIGHT = 32
GAP = 40
CHARACTER = 7.3
"""Width of a character of 12 pixels; the font has one width."""
SMALL = 6.1
"""The same of 10 pixels."""
WIDEST = 1280
"""Grids that are wider together go below each other."""

STYLE = (
    "svg.tile{--page:#ffffff;--ink:#1a1a1a;--dim:#57606a;--empty:#eeeeee}"
    "@media(prefers-color-scheme:dark){"
    "svg.tile{--page:#0d1117;--ink:#e6edf3;--dim:#9aa4af;--empty:#c9d1d9}}"
    ".tile text{font:12px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1a1a1a;"
    "fill:var(--ink);white-space:pre}"
    ".tile .page{fill:#ffffff;fill:var(--page)}"
    ".tile .h{font-weight:bold}.tile .d{fill:#57606a;fill:var(--dim)}"
    ".tile .c rect{stroke:#ffffff;stroke:var(--page);stroke-width:1.5}"
    ".tile .c .e{fill:#eeeeee;fill:var(--empty)}"
    ".tile .c text{fill:#000000;text-anchor:middle}.tile .c .s{font-size:10px}"
    ".tile .c .m{fill:none;stroke:#000000;stroke-width:3}"
    ".tile .k{fill:#000000}"
)


def render(pictures: Sequence[Picture], tooltips: bool = False, data: bool = False) -> str:
    """Return pictures below each other as one SVG document.

    `tooltips` gives each cell a text that browsers show; `data` gives it attributes for a script.
    """
    parts: list[str] = []
    width, height = 0.0, 0.0
    for picture in pictures:
        drawn = _Drawing(picture, tooltips, data)
        parts.append(f'<g transform="translate(0 {_n(height)})">{drawn.text}</g>')
        width, height = max(width, drawn.width), height + drawn.height
    size = f"{_n(width)} {_n(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tile" viewBox="0 0 {size}" '
        f'width="{_n(width)}" height="{_n(height)}">\n<style>{STYLE}</style>\n'
        f'<rect class="page" width="100%" height="100%"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


class _Drawing:
    """One picture, drawn from its upper left corner."""

    def __init__(self, picture: Picture, tooltips: bool, data: bool) -> None:
        self.parts: list[str] = []
        self.picture = picture
        self.tooltips, self.data = tooltips, data
        sizes = [_size(grid, picture.color) for grid in picture.grids]
        together = sum(width for width, _ in sizes) + GAP * (len(sizes) - 1)
        beside = together + 2 * MARGIN <= WIDEST
        widest = max([together if beside else max(width for width, _ in sizes), 640] if sizes
                     else [640])  # fmt: skip
        self.width = widest + 2 * MARGIN
        self.y = float(MARGIN)
        if picture.title:
            self._text(MARGIN, picture.title, "h")
            self.y += LINE / 2 if len(picture.grids) != 1 else 0
        x, top = float(MARGIN), self.y
        for grid, (width, height) in zip(picture.grids, sizes, strict=True):
            self._grid(grid, x, top)
            if beside:
                x += width + GAP
                self.y = max(self.y, top + height)
            else:
                top += height + LINE
                self.y = top
        if picture.grids:
            self.y += LINE / 2
        for style, lines in (
            ("d", looks.key(picture, "black corner", "black frame")),
            ("", picture.lines),
        ):
            for line in lines:
                for part in textwrap.wrap(
                    line, int(widest / CHARACTER), subsequent_indent="  ", break_on_hyphens=False
                ):
                    self._text(MARGIN, part, style)
            self.y += LINE / 2
        self.height = self.y + MARGIN / 2
        self.text = "\n".join(self.parts)

    def _text(self, x: float, text: str, style: str) -> None:
        self.y += LINE
        class_ = f' class="{style}"' if style else ""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(self.y - 5)}"{class_}>{escape(text)}</text>')

    def _grid(self, grid: Grid, x: float, y: float) -> None:
        width = _cell_width(grid, self.picture.color)
        if grid.title:
            self.parts.append(
                f'<text x="{_n(x)}" y="{_n(y + 13)}"><tspan class="h">{grid.title}</tspan> '
                f"{escape(_subtitle(grid))}</text>"
            )
            y += LINE
        edge = _edge(grid)
        for number, label in enumerate(grid.column_labels):
            at = x + edge + (number + 0.5) * width
            self.parts.append(
                f'<text x="{_n(at)}" y="{_n(y + 13)}" class="d" text-anchor="middle">{label}</text>'
            )
        y += LINE
        for row, (label, cells) in enumerate(zip(grid.row_labels, grid.rows, strict=True)):
            top = y + row * CELL_HEIGHT
            self.parts.append(
                f'<text x="{_n(x + edge - 8)}" y="{_n(top + 20)}" class="d" text-anchor="end">'
                f"{label}</text>"
            )
            for number, cell in enumerate(cells):
                self._cell(cell, grid, x + edge + number * width, top, width)

    def _cell(self, cell: Cell, grid: Grid, x: float, y: float, width: float) -> None:
        color = self.picture.color
        fill = looks.fill(cell, color)
        paint = f' fill="{fill}"' if fill else ' class="e"'
        middle = _n(width / 2)
        text = [
            f'<g class="c" transform="translate({_n(x)} {_n(y)})"{self._data(cell, grid)}>',
            f'<rect width="{_n(width)}" height="{CELL_HEIGHT}"{paint}/>',
            f'<text x="{middle}" y="14">{cell.place}</text>',
        ]
        if value := looks.value(cell, grid, color):
            text.append(f'<text x="{middle}" y="27" class="s">{value}</text>')
        if looks.has_conflict(cell):
            text.append('<path class="k" d="M1 1h7l-7 7z"/>')
        if cell.marked:
            inner = f'width="{_n(width - 5)}" height="{CELL_HEIGHT - 5}"'
            text.append(f'<rect class="m" x="2.5" y="2.5" {inner}/>')
        if self.tooltips:
            text.append(f"<title>{escape(describe(cell, grid))}</title>")
        self.parts.append("".join(text) + "</g>")

    def _data(self, cell: Cell, grid: Grid) -> str:
        if not self.data:
            return ""
        values = {
            "at": ",".join(map(str, cell.coordinate)),
            "place": cell.place,
            "piece": grid.piece,
            "bits": grid.element_bits,
            "chunk": cell.moved.chunk,
            "thread": cell.moved.thread,
            "cycles": cell.moved.cycles or None,
            "phase": cell.phase or None,
        }
        return "".join(f' data-{k}="{v}"' for k, v in values.items() if v is not None)


def describe(cell: Cell, grid: Grid) -> str:
    """Return all that is known of the first element of a cell, a line each."""
    bit = cell.place * grid.element_bits
    byte = str(bit // 8) if bit % 8 == 0 else f"{bit // 8}, bit {bit % 8}"
    at = ", ".join(map(str, cell.coordinate))
    lines = [f"({at})", f"place {cell.place}, byte {byte}", f"banks {looks.banks_of(cell, grid)}"]
    if cell.phase:
        lines.append(f"swizzle XOR {cell.phase}")
    if cell.moved.chunk is not None:
        lines.append(f"copy {cell.moved.chunk}")
    if cell.moved.thread is not None:
        lines.append(f"thread {cell.moved.thread}")
    if looks.has_conflict(cell):
        lines.append(f"loaded in {cell.moved.cycles} cycles instead of 1")
    return "\n".join(lines)


def _subtitle(grid: Grid) -> str:
    return f"{grid.layout.removeprefix('#tile.layout')} {grid.element}".lstrip()


def _cell_width(grid: Grid, color: str) -> float:
    place = max(len(str(cell.place)) for cell in grid.cells())
    value = max(len(looks.value(cell, grid, color)) for cell in grid.cells())
    label = max(map(len, grid.column_labels))
    return max(round(max(place, label) * CHARACTER, 1), round(value * SMALL, 1)) + 12


def _edge(grid: Grid) -> float:
    """Return the width of the row labels."""
    return max(map(len, grid.row_labels)) * CHARACTER + 10


def _size(grid: Grid, color: str) -> tuple[float, float]:
    title = f"{grid.title} {_subtitle(grid)}"
    width = _edge(grid) + len(grid.column_labels) * _cell_width(grid, color)
    height = LINE + len(grid.rows) * CELL_HEIGHT + (LINE if grid.title else 0)
    return max(width, len(title) * CHARACTER if grid.title else 0), height


def _n(number: float) -> str:
    """Write a number of pixels, the same everywhere."""
    return f"{number:.1f}".removesuffix(".0")
