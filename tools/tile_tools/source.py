# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading programs: MLIR text or bytecode, from a file or standard input, or compiled and saved."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir

    from mlir_tile.runtime.executable import Executable


def read_module(file: str) -> ir.Module:
    """Parse `file`, `-` for standard input, in the current context.

    Raises `OSError` for what cannot be read and `mlir_tile.CompileError` for what is no module.
    """
    import mlir_tile as mt

    return mt.parse(sys.stdin.buffer.read()) if file == "-" else mt.parse_file(file)


def read_saved(file: str) -> Executable | None:
    """Return the program that `Executable.save` wrote to `file`; None where it is another file.

    Raises `OSError` and `mlir_tile.LoadError`. Standard input is left alone.
    """
    from mlir_tile import saved

    if file == "-":
        return None
    with Path(file).open("rb") as opened:
        if not saved.is_saved(opened.read(64)):
            return None
    return saved.load(file)
