# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines of the tools share, and checks for wrong usage (status 2)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from .version import PrintVersion


def tool_parser(
    tool: str, description: str, epilog: str, usage: str | None = None
) -> argparse.ArgumentParser:
    """Return the parser of a tool, with `--version` and texts that are shown as they are."""
    made = argparse.ArgumentParser(
        tool,
        usage=usage,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--version", action=PrintVersion)
    return made


TARGET = ("chip", "features", "opt_level", "line_info")


def add_target_options(made: argparse.ArgumentParser) -> None:
    """Add the options of `mlir_tile.compile`, None where they are not given."""
    made.add_argument("--chip", metavar="C", help="LLVM processor, sm_90 or newer (default sm_90)")
    made.add_argument(
        "--features", metavar="F", help="PTX version, +ptx80 or newer (default +ptx81)"
    )
    made.add_argument(
        "--opt-level",
        metavar="N",
        type=int,
        choices=range(4),
        help="LLVM optimization level, 0 to 3 (default 3)",
    )
    made.add_argument(
        "--line-info",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="keep source places as .loc lines of the PTX, for reports and debuggers "
        "(default: in what is run or saved as a program)",
    )


def target_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `add_target_options` that were given."""
    return {name: value for name in TARGET if (value := getattr(options, name)) is not None}


def check_outputs(
    usage: argparse.ArgumentParser, source: str | None, outputs: Sequence[tuple[str, str | None]]
) -> None:
    """End with a usage error where an output would replace the source or another output.

    `outputs` are options and the files that they name, None where they are not given.
    """
    seen = [("the input", source)] if source is not None else []
    for option, file in outputs:
        if file is None:
            continue
        for other, taken in seen:
            if is_same_file(file, taken):
                usage.error(f"{option} {file} would replace {other}: name another file")
        seen.append((f"the file of {option}", file))


def is_same_file(one: str, other: str) -> bool:
    """Whether both name one file on disk; pipes and devices have room for several."""
    if "-" in (one, other):
        return False
    if os.path.exists(one) and os.path.exists(other):
        return os.path.isfile(one) and os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)
