# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading programs: MLIR text or bytecode, from a file or standard input, or compiled and saved.

A file is opened and read once: a pipe cannot be read twice.
"""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir

    from mlir_tile.runtime.executable import Executable


@dataclass(frozen=True)
class Source:
    """The name of a program's source, as the user gave it, and its bytes."""

    name: str
    content: bytes

    def module(self) -> ir.Module:
        """Parse it in the current context; its locations and diagnostics name the file.

        Raises `mlir_tile.CompileError` if it is not a module.
        """
        from mlir_tile.compiler.parsing import parse_named

        return parse_named(self.content, self.name)

    def program(self) -> Executable | None:
        """Return the program that `Executable.save` wrote; None if it is something else.

        Raises `mlir_tile.LoadError`.
        """
        from mlir_tile.runtime import saved

        if not saved.is_saved(self.content):
            return None
        return saved.from_bytes(self.content, name=self.name)


def read(file: str) -> Source:
    """Read `file`, `-` for standard input; raises `OSError`."""
    if file == "-":
        try:
            return Source(file, sys.stdin.buffer.read())
        except OSError as error:
            number = error.errno or errno.EIO
            raise OSError(number, os.strerror(number), "standard input") from None
    # MLIR takes UTF-8 only, which names of files need not be.
    name = file.encode(errors="backslashreplace").decode()
    return Source(name, Path(file).read_bytes())
