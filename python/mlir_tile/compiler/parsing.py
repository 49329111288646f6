# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage verify: parse modules, and refuse text on which MLIR would end the process."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlir import ir

from .. import _tile
from ..contexts import one_thread
from ..diagnostics import diagnostic_lines
from ..errors import CompileError, Diagnostic


def parse(text: str | bytes) -> ir.Module:
    """Parse the module `text`, as text or bytecode, in the current context.

    Raises `CompileError` with the diagnostics of the parser and the verifier, `RuntimeError` where
    there is no context.
    """
    return parse_named(text.encode() if isinstance(text, str) else text, "-")


def parse_file(path: str | os.PathLike[str]) -> ir.Module:
    """Parse the module in a file, as text or bytecode, in the current context.

    Diagnostics name `path`. Raises `OSError` where it cannot be read, else as `parse` does.
    """
    # MLIR takes UTF-8 only, which names of files need not be.
    name = os.fspath(path).encode(errors="backslashreplace").decode()
    return parse_named(Path(path).read_bytes(), name)


def parse_named(content: bytes, name: str) -> ir.Module:
    """Parse the module in `content`, whose locations and diagnostics call it `name`.

    Raises as `parse` does.
    """
    current = ir.Context.current
    if current is None:
        raise RuntimeError(
            "a module must be parsed in a context: enter `with mlir_tile.context():`"
        )
    is_text = not content.startswith(_BYTECODE)
    if is_text:
        _check_strings(content, name, is_text)
        _check_numbers(content, name)
        _check_nesting(content, name)
    said: list[Diagnostic] = []

    def note(diagnostic: ir.Diagnostic) -> bool:
        is_error: bool = diagnostic.severity == ir.DiagnosticSeverity.ERROR
        if is_error:
            try:
                said.extend(diagnostic_lines(diagnostic))
            except (RuntimeError, UnicodeError) as error:
                # The bindings cannot decode the text.
                why = f"cannot be parsed, and the reason cannot be decoded: {error}"
                said.append(Diagnostic.elsewhere(name, why))
        return is_error

    handler = current.attach_diagnostic_handler(note)
    try:
        with one_thread(current):
            module = _tile.parse(current, content, name)
    finally:
        handler.detach()
    if module is None:
        what = "the module" if name == "-" else name
        raise CompileError("" if said else f"cannot parse {what}", said)
    if not is_text:
        printed = module.operation.get_asm(enable_debug_info=True)
        _check_strings(printed.encode(), name, is_text)
    return module


def _check_strings(text: bytes, name: str, is_text: bool) -> None:
    """Raise `CompileError` for a string in MLIR's text that is not UTF-8, at its place.

    Upstream's bindings cannot make a `str` of it, in a diagnostic or a pass. LLVM ends the process
    on a zero byte in the name of a symbol.
    """
    if text.isascii() and not _UNUSUAL_ESCAPE.search(text):
        return
    for string in _STRING.finditer(text):
        begin = text.rfind(b"\n", 0, string.start()) + 1
        before = text[begin : string.start()]
        if b"//" in before:
            continue
        value = _ESCAPE.sub(lambda e: e[2] or bytes.fromhex(e[1].decode()), string[1])
        if b"\0" in value and before.endswith((b"@", b"sym_name = ")):
            rule = "symbol must have no zero byte"
        elif not _is_utf8(value):
            rule = "text in a module must be UTF-8"
        else:
            continue
        message = f"{rule}, got {string[0].decode(errors='backslashreplace')}"
        if not is_text:
            raise CompileError(diagnostics=[Diagnostic.elsewhere(name, message)])
        raise _error(text, name, string.start(), message)


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_numbers(text: bytes, name: str) -> None:
    """Raise `CompileError` for a number that upstream's parser would take too long to read."""
    for number in _LONG_NUMBER.finditer(text):
        begin = text.rfind(b"\n", 0, number.start()) + 1
        if b"//" not in text[begin : number.start()]:
            message = f"number must have at most {_MAX_DIGITS} digits, got {len(number[0])}"
            raise _error(text, name, number.start(), message)


def _check_nesting(text: bytes, name: str) -> None:
    """Raise `CompileError` for nesting that makes upstream's parser run out of stack."""
    if sum(map(text.count, _OPEN)) <= _MAX_BRACKETS:
        return
    depth = 0
    for token in _BRACKET.finditer(text):
        depth += (token[0] in _OPEN) - (token[0] in _CLOSED)
        if depth > _MAX_BRACKETS:
            message = f"nesting must be at most {_MAX_BRACKETS} brackets deep"
            raise _error(text, name, token.start(), message)


def _error(text: bytes, name: str, offset: int, message: str) -> CompileError:
    """Return the error at byte `offset` of `text`, which is called `name`."""
    line = text.count(b"\n", 0, offset) + 1
    column = offset - text.rfind(b"\n", 0, offset)
    return CompileError(diagnostics=[Diagnostic.at(name, line, column, message)])


# Upstream's parser has no limits, and its lexer has no bindings: these match its tokens.
_MAX_BRACKETS = 1000
_OPEN, _CLOSED = (b"[", b"{", b"<"), (b"]", b"}", b">")
# A string or a comment, angles that are no brackets, or a bracket.
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*|->|[<>]=|[][{}<>]')
_MAX_DIGITS = 1000
_LONG_NUMBER = re.compile(rb"(?<![\w.\"])\d{%d,}" % (_MAX_DIGITS + 1))
_BYTECODE = b"ML\xefR"
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(rb"\\(?:([0-9a-fA-F]{2})|(.))")
_UNUSUAL_ESCAPE = re.compile(rb"\\(?:[89a-fA-F][0-9a-fA-F]|00)")
