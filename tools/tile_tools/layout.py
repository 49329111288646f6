# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-layout: show where the elements of a tile are, and how a copy of it is cut."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import TYPE_CHECKING

from tile_emulator.usage import file_name, positive

from .errors import report
from .guard import guarded, watch
from .startup import import_mlir_without_numpy
from .usage import check_outputs, tool_parser

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlir_tile.viewer.model import Picture, Window

    Draw = Callable[[Window], Picture]

DESCRIPTION = """\
Show where the elements of a tile are in its buffer, and how copies of it are cut.

  tile-layout LAYOUT        one layout: the place and the bank of each element
  tile-layout SRC DST       a copy from one layout into another, as the analysis plans it
  tile-layout FILE          every tile.copy_async of an MLIR module; - reads standard input

A layout is written as one of

  '(8,64):(64,1) f16'                        extents : strides, then the type of elements
  '#tile.layout<(8, 64) : (64, 1), offset = 64, swizzle = <3, 3, 3>> f16'
  'memref<8x64xf16, strided<[128, 1]>>'

Elements are f16 where the layout does not say. A copy that is refused is shown with
the reason, and with a mark at the coordinate of the first divergence."""

EPILOG = """\
examples:
  tile-layout '#tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>> f16' --color phase
  tile-layout '(64,64):(64,1) f32' '(64,64):(1,64) f32' --issue cta --html copy.html
  tile-layout kernels.mlir --svg copies.svg

Colours are used on a terminal, unless NO_COLOR is set to something.
Exit status: 0 on success, a declined copy included; 1 for a wrong input; 2 for wrong usage."""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    usage = "%(prog)s [options] (LAYOUT | SRC DST | FILE)"
    made = tool_parser("tile-layout", DESCRIPTION, EPILOG, usage)
    made.add_argument("what", nargs="+", metavar="LAYOUT", type=file_name, help=argparse.SUPPRESS)
    made.add_argument(
        "--color",
        choices=("chunk", "bank", "phase"),
        help="colour by copy (default for copies), bank (default for layouts) or swizzle",
    )
    made.add_argument(
        "--svg",
        metavar="FILE",
        type=file_name,
        help="write a picture there, - for standard output",
    )
    made.add_argument(
        "--html",
        metavar="FILE",
        type=file_name,
        help="write an interactive page",
    )
    made.add_argument(
        "--issue",
        choices=("thread", "warp", "cta"),
        help="who executes the copy between two layouts (default thread)",
    )
    made.add_argument("--variant", metavar="V", type=name, help="force a variant, bulk or st_async")
    made.add_argument(
        "--threads",
        type=positive,
        metavar="N",
        help="threads of the CTA, a multiple of 32 (default 256)",
    )
    made.add_argument("--copy", type=positive, metavar="N", help="only the Nth copy of a file")
    made.add_argument("--rows", type=drawn, metavar="N", help="draw at most so many rows")
    made.add_argument("--columns", type=drawn, metavar="N", help="and so many cells of a row")
    made.add_argument(
        "--at", type=coordinate, metavar="I,J", help="draw the part around this coordinate"
    )
    return made


MAX_DRAWN = 4096
"""Rows, and cells of a row: more fill the memory."""


def drawn(text: str) -> int:
    """Parse a number of rows or cells."""
    number = positive(text)
    if number > MAX_DRAWN:
        raise argparse.ArgumentTypeError(f"must be {MAX_DRAWN} at most, got '{text}'")
    return number


def name(text: str) -> str:
    """Parse the name of a variant; the dialect checks that it exists."""
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(f"must be a name such as bulk, got '{text}'")
    return text


def coordinate(text: str) -> tuple[int, ...]:
    """Parse `I,J`."""
    parts = text.strip("()").split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"must be numbers as in 8,0, got '{text}'")
    return tuple(int(part) for part in parts)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return its exit status."""
    return report(lambda: run(argv))


def run(argv: list[str] | None) -> None:
    """Read the command line and show what it asks for; raise what goes wrong."""
    options = parsed(argv)
    if argv is None:
        import_mlir_without_numpy()
    show(options)


def parsed(argv: list[str] | None) -> argparse.Namespace:
    """Return the options; end with a usage error for those that do not go together."""
    usage = parser()
    options = usage.parse_args(argv)
    if len(options.what) > 2:
        usage.error(f"expected one layout, two, or a file, got {len(options.what)} arguments")
    from_file = len(options.what) == 1 and is_file(options.what[0])
    if len(options.what) == 2 and any(map(is_file, options.what)):
        usage.error("expected one file alone, or two layouts")
    for option in ("issue", "variant", "threads"):
        if getattr(options, option) is not None and len(options.what) != 2:
            usage.error(f"--{option} is for a copy between two layouts")
    if (options.threads or 0) % 32:
        usage.error(f"--threads must be a multiple of 32, got {options.threads}")
    if options.copy is not None and not from_file:
        usage.error("--copy is for a file")
    if [options.svg, options.html].count("-") == 2:
        usage.error("only one of --svg and --html can be standard output")
    source = options.what[0] if from_file else None
    check_outputs(usage, source, [("--svg", options.svg), ("--html", options.html)])
    return options


def is_file(text: str) -> bool:
    """Whether an argument names a file: no layout ends like one, or is one's name."""
    return text == "-" or text.endswith((".mlir", ".mlirbc")) or os.path.exists(text)


def show(options: argparse.Namespace) -> None:
    """Draw what is asked for; raise what is wrong with it."""
    import mlir_tile as mt

    with mt.context() as context:
        watch(context)
        draw = pictures(options)
        if options.svg is None and options.html is None:
            from mlir_tile.viewer import terminal

            width = shutil.get_terminal_size((160, 24)).columns
            colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            drawn = fitted(options, draw, width)
            print("\n".join(terminal.render(picture, width, colored) for picture in drawn), end="")
            return
        from .compile import write

        drawn = [picture(window(options, 32, 16)) for picture in draw]
        if options.svg is not None:
            from mlir_tile.viewer import svg

            write(options.svg, svg.render(drawn))
        if options.html is not None:
            from mlir_tile.viewer import html

            write(options.html, html.page(drawn))


def window(options: argparse.Namespace, rows: int, columns: int) -> Window:
    """Return how much of a tile to draw."""
    from mlir_tile.viewer.model import Window

    return Window(options.rows or rows, options.columns or columns, options.at)


def fitted(options: argparse.Namespace, draw: list[Draw], width: int) -> list[Picture]:
    """Draw with as many columns as `width` characters hold, unless their number is given."""
    from mlir_tile.viewer import terminal

    found = []
    for picture in draw:
        columns = max(1, width // 5)
        while True:
            drawn = picture(window(options, 16, columns))
            needed = max((terminal.width_of(grid, drawn.color) for grid in drawn.grids), default=0)
            if options.columns or columns == 1 or needed <= width:
                break
            # Half of what is too much: fewer columns have shorter numbers too.
            columns -= max(1, columns * (needed - width) // needed // 2)
        found.append(drawn)
    return found


def pictures(options: argparse.Namespace) -> list[Draw]:
    """Read the layouts or the file; return what describes each picture there is to see."""
    from mlir_tile.viewer import copies, model, notation

    from .source import read

    def draw(copy: copies.Copy) -> Draw:
        return lambda window: model.picture_of_copy(copy, options.color, window)

    if len(options.what) == 2:
        src, dst = map(notation.parse, options.what)
        threads = options.threads or 256
        issue = options.issue or "thread"
        return [draw(copies.between(src, dst, issue, options.variant, threads))]
    (what,) = options.what
    if not is_file(what):
        if options.color == "chunk":
            raise ValueError("--color chunk needs a copy: give two layouts, or take bank or phase")
        try:
            spec = notation.parse(what)
        except notation.NotationError as error:
            if any(mark in what for mark in "(<"):
                raise
            raise ValueError(f"'{what}' is no file that is there, nor a layout: {error}") from None
        return [lambda window: model.picture_of_layout(spec, options.color, window)]
    found = copies.analyzed(read(what).module())
    if not found:
        raise ValueError(f"{what}: no tile.copy_async in it to show")
    if options.copy is not None:
        if options.copy > len(found):
            raise ValueError(f"{what}: copy {options.copy} is not there, it has {len(found)}")
        found = [found[options.copy - 1]]
    return [draw(copy) for copy in found]


def command() -> int:
    """Run on `sys.argv` as a tool; return the exit status."""
    return guarded(main)


if __name__ == "__main__":
    sys.exit(command())
