# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's diagnostics as lines of text, and as this package's exceptions."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from mlir import ir

from .errors import CompileError, CompileWarning, Diagnostic


def compile_error(what: str, error: ir.MLIRError) -> CompileError:
    """Turn an exception of MLIR into a `CompileError`, one line per diagnostic and note."""
    diagnostics = [line for info in error.error_diagnostics for line in diagnostic_lines(info)]
    return CompileError("" if diagnostics else what, diagnostics)


def refusal(location: ir.Location, message: str, fix: str) -> CompileError:
    """Return the error for a program that is refused at `location`, with the fix as a note."""
    inner = frames(location)[0]
    return CompileError(diagnostics=[_line(inner, message), _line(inner, fix, "note")])


@contextlib.contextmanager
def diagnostics_of(context: ir.Context) -> Iterator[list[list[Diagnostic]]]:
    """Collect the diagnostics in `context`, each with its notes; other handlers get them too."""
    said: list[list[Diagnostic]] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        said.append(diagnostic_lines(diagnostic))
        return False

    handler = context.attach_diagnostic_handler(note)
    try:
        yield said
    finally:
        handler.detach()


def warn_of(said: list[list[Diagnostic]], stacklevel: int) -> None:
    """Issue a `CompileWarning` for each warning among `diagnostics_of` a context."""
    for lines in said:
        if lines[0].severity == "warning":
            warnings.warn("\n".join(lines), CompileWarning, stacklevel=stacklevel + 1)


def diagnostic_lines(info: ir.DiagnosticInfo | ir.Diagnostic) -> list[Diagnostic]:
    """Return a diagnostic and its notes, one line each."""
    inner, *callers = frames(info.location)
    lines = [_line(inner, info.message, info.severity.name.lower())]
    lines += [_line(caller, "called from", "note") for caller in callers]
    # MLIR adds the whole operation as a note, which only its text tells from other notes.
    notes = [note for note in info.notes if not note.message.startswith("see current operation")]
    return lines + [line for note in notes for line in diagnostic_lines(note)]


def _line(at: ir.Location, message: str, severity: str = "error") -> Diagnostic:
    if at.is_a_file():
        return Diagnostic.at(at.filename, at.start_line, at.start_col, message, severity)
    return Diagnostic.elsewhere(place(at), message, severity)


def frames(location: ir.Location) -> list[ir.Location]:
    """Return the locations of a call stack, the innermost first."""
    if location.is_a_name() and location.child_loc != ir.Location.unknown(location.context):
        return frames(location.child_loc)
    if location.is_a_callsite():
        return frames(location.callee) + frames(location.caller)
    if location.is_a_fused() and location.locations:
        return frames(location.locations[0])
    return [location]


def place(location: ir.Location) -> str:
    """Return the innermost location as `file:line:column`, or as MLIR prints it."""
    inner = frames(location)[0]
    if inner.is_a_name():
        return f'"{inner.name_str}"'
    if inner.is_a_file():
        return f"{inner.filename}:{inner.start_line}:{inner.start_col}"
    return str(inner).removeprefix("loc(").removesuffix(")")
