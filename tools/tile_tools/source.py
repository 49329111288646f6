# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading programs: MLIR text or bytecode, from a file or standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir


def read_module(file: str) -> ir.Module:
    """Parse `file`, `-` for standard input, in the current context.

    Raises `OSError` for what cannot be read and `mlir_tile.CompileError` for what is no module.
    """
    import mlir_tile as mt

    return mt.parse(sys.stdin.buffer.read()) if file == "-" else mt.parse_file(file)
