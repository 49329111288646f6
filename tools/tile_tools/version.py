# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `--version` says; the version itself is in pyproject.toml only."""

import argparse
from typing import Any


def version_line(tool: str) -> str:
    """Return the versions of the project and of the MLIR below it."""
    from importlib import metadata

    try:
        below = metadata.version("xtc-mlir-python-bindings")
    except metadata.PackageNotFoundError:  # put there by hand
        below = "of unknown version"
    return f"{tool} {metadata.version('mlir-tile')} (MLIR {below})"


class PrintVersion(argparse.Action):
    """Print the version and end; finding it out takes a while, so not before."""

    def __init__(self, option_strings: list[str], dest: str, **others: Any) -> None:
        shown = "print the version and end"
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=shown)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print and end with status 0."""
        print(version_line(parser.prog))
        parser.exit()
