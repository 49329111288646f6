# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cut PTX text into tokens; the only place that knows comments and spellings of numbers.

An opcode with its modifiers is one token; of directives and types each is one, so that `.reg.b32`
means the same as `.reg .b32`.
"""

from __future__ import annotations

import bisect
import re
from typing import NamedTuple

from tile_emulator.errors import PTXError

_TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r\f\v\n]+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"[^"\n]*")
  | (?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)
  | (?P<word>\.[A-Za-z_][\w$]*(?:::[\w$]+)*|[A-Za-z_$%][\w$]*(?:(?:\.|::)[\w$]+)*)
  | (?P<punct>[{}()\[\],;:@!+\-|<>=~*/&^?])
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One token; `offset` counts characters from the start of the text."""

    kind: str
    text: str
    offset: int


class Lines:
    """Turns offsets into lines and columns, both counted from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        self._starts.extend(match.end() for match in re.finditer("\n", text))
        self._text = text

    def line(self, offset: int) -> int:
        return bisect.bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        return offset - self._starts[self.line(offset) - 1] + 1

    def text(self, line: int) -> str:
        """Give the text of a line without surrounding white space."""
        start = self._starts[line - 1]
        end = self._text.find("\n", start)
        return self._text[start : end if end >= 0 else len(self._text)].strip()


def tokenize(text: str, lines: Lines) -> list[Token]:
    """Return the tokens of `text`; raises PTXError at a character that starts none."""
    tokens = []
    position = 0
    scan = _TOKEN.match
    while position < len(text):
        match = scan(text, position)
        if match is None:
            raise PTXError(
                f"unexpected character {text[position]!r}",
                lines.line(position),
                lines.column(position),
            )
        kind = match.lastgroup
        if kind != "skip":
            assert kind is not None
            tokens.append(Token(kind, match.group(), position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def number(text: str) -> tuple[str, int]:
    """Return the kind (`int`, `f32`, `f64`) and the value or bits of a number token."""
    head = text[:2].lower()
    if head == "0f":
        return "f32", int(text[2:], 16)
    if head == "0d":
        return "f64", int(text[2:], 16)
    digits = text.rstrip("U")
    if head == "0x":
        return "int", int(digits, 16)
    if head == "0b":
        return "int", int(digits[2:], 2)
    if "." in digits or "e" in digits or "E" in digits:
        import struct

        return "f64", int(struct.unpack("<Q", struct.pack("<d", float(digits)))[0])
    if len(digits) > 1 and digits[0] == "0" and all(c in "01234567" for c in digits):
        return "int", int(digits, 8)
    return "int", int(digits)
