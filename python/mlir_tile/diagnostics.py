# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's diagnostics as text and as exceptions of ours."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from mlir import ir

from .errors import CompileError, CompileWarning


def compile_error(what: str, error: ir.MLIRError) -> CompileError:
    """Turn MLIR's exception into ours, with each diagnostic and its notes as text."""
    diagnostics = [text for info in error.error_diagnostics for text in diagnostic_lines(info)]
    return CompileError("\n".join(diagnostics) or what, diagnostics)


@contextlib.contextmanager
def diagnostics_of(context: ir.Context) -> Iterator[list[str]]:
    """Give a list of what is said in `context`; others hear it too."""
    said: list[str] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        said.append("\n".join(diagnostic_lines(diagnostic)))
        return False

    handler = context.attach_diagnostic_handler(note)
    try:
        yield said
    finally:
        handler.detach()


def warn_of(said: list[str], stacklevel: int) -> None:
    """Issue a `CompileWarning` for each warning among what was said."""
    for text in said:
        if ": warning: " in text.partition("\n")[0]:
            warnings.warn(text, CompileWarning, stacklevel=stacklevel + 1)


def diagnostic_lines(info: ir.DiagnosticInfo | ir.Diagnostic) -> list[str]:
    """Return a diagnostic and its notes as lines of `place: severity: message`."""
    severity = info.severity.name.lower()
    inner, *callers = frames(info.location)
    lines = [f"{place(inner)}: {severity}: {info.message}"]
    lines += [f"{place(caller)}: note: called from" for caller in callers]
    # MLIR prints the whole operation before our own notes, which say how to mend it.
    notes = [note for note in info.notes if not note.message.startswith("see current operation")]
    return lines + [line for note in notes for line in diagnostic_lines(note)]


def frames(location: ir.Location) -> list[ir.Location]:
    """Return the places of a location inside of calls, the innermost first."""
    if location.is_a_name() and location.child_loc != ir.Location.unknown(location.context):
        return frames(location.child_loc)
    if location.is_a_callsite():
        return frames(location.callee) + frames(location.caller)
    if location.is_a_fused() and location.locations:
        return frames(location.locations[0])
    return [location]


def place(location: ir.Location) -> str:
    """Return `file:line:column`, or the location as MLIR prints it; of calls, the innermost."""
    inner = frames(location)[0]
    if inner.is_a_name():
        return f'"{inner.name_str}"'
    if inner.is_a_file():
        return f"{inner.filename}:{inner.start_line}:{inner.start_col}"
    return str(inner).removeprefix("loc(").removesuffix(")")
