# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading programs: MLIR text or bytecode, from a file or standard input, or compiled and saved.

What is given is opened and read once: a pipe has nothing to say the second time.
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

# What MLIR calls text that comes without a name.
_UNNAMED = "-"


@dataclass(frozen=True)
class Source:
    """What a program was read from, by the name that its user gave, and its bytes."""

    name: str
    content: bytes

    def named(self, text: str) -> str:
        """Return a diagnostic of `content` with our name for the file."""
        if text.startswith(f"{_UNNAMED}:"):
            return self.name + text.removeprefix(_UNNAMED)
        return text

    def module(self) -> ir.Module:
        """Parse it in the current context; its locations and diagnostics name the file.

        Raises `mlir_tile.CompileError` for what is no module.
        """
        import mlir_tile as mt

        try:
            module = mt.parse(self.content)
        except mt.CompileError as error:
            lines = [self.named(line) for line in error.diagnostics]
            what = "\n".join(lines) or f"{self.name}: error: cannot parse the module"
            raise mt.CompileError(what, lines) from None
        if self.name != _UNNAMED:
            _relocate(module, self.name)
        return module

    def program(self) -> Executable | None:
        """Return the program that `Executable.save` wrote; None where it is something else.

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


def _relocate(module: ir.Module, name: str) -> None:
    """Let the locations that the parser made name the file `name`."""
    from mlir import ir

    def renamed(location: ir.Location) -> ir.Location | None:
        if not location.is_a_file() or location.filename != _UNNAMED:
            return None
        return ir.Location.file(name, location.start_line, location.start_col)

    def visit(op: ir.Operation) -> ir.WalkResult:
        if location := renamed(op.location):
            op.location = location
        for region in op.regions:
            for block in region:
                for argument in block.arguments:
                    if location := renamed(argument.location):
                        argument.set_location(location)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
