# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as people write them: `(8,64):(64,1) f16 swizzle<3,3,3>`, `#tile.layout<...>`, a memref.

The short form is rewritten as the attribute and read by the attribute's own parser, so that both
forms mean the same and fail for the same reasons.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .._tile import LayoutAttr, element_bits

EXAMPLE = "(8,64):(64,1) f16 swizzle<3,3,3>"
DEFAULT_ELEMENT = "f16"
_ATTRIBUTE = "#tile.layout"
# What mends a layout that breaks a constraint of the attribute.
_FIXES = {
    "l1": "give each extent one stride, nested alike",
    "l2": "drop the dimension, or give it an extent of 1 or more",
    "l3": "choose bits of 1 or more, base of 0 or more and shift of at least bits",
    "l4": "choose smaller strides, or an offset that keeps the tile behind the buffer's start",
}
_TOKEN = re.compile(r"-?\d+|[A-Za-z_]\w*|[()<>:,=?]|\s+|.")


class NotationError(ValueError):
    """A layout that cannot be read; the message shows the text with a mark at `column`."""

    def __init__(self, text: str, column: int, message: str, fix: str = "") -> None:
        lines = [f"{message}, in layout '{text}'", f"  {text}", f"  {' ' * column}^"]
        super().__init__("\n".join(lines + ([f"note: {fix}"] if fix else [])))
        self.column = column


@dataclass(frozen=True)
class Spec:
    """A layout and the type of its elements; `assumed` where the text did not say the type."""

    layout: Any
    element: Any
    assumed: bool = False

    @property
    def element_bits(self) -> int:
        """Bits of an element."""
        return int(element_bits(self.element))

    @property
    def memref(self) -> str:
        """The type of a buffer in shared memory with this layout."""
        shape = "".join(f"{extent}x" for extent in extents(self.layout))
        return f"memref<{shape}{self.element}, {self.layout}, #gpu.address_space<workgroup>>"


def extents(layout: Any) -> tuple[int, ...]:
    """Return one extent for each dimension."""
    return tuple(n if isinstance(n, int) else math.prod(n) for n in layout.shape)


def parse(text: str) -> Spec:
    """Read a layout in the current context; raise `NotationError` for what is none."""
    text = re.sub(r"\s", " ", text)
    start = len(text) - len(text.lstrip())
    if text.startswith("memref", start):
        spec = of_memref(text, _parse(ir.Type, text, 0, len(text)))
        _check_element(text, max(text.rfind(str(spec.element)), start), spec.element)
        return spec
    reader = _Reader(text)
    if text.startswith(_ATTRIBUTE, start):
        end = reader.skip_attribute(start)
        layout = _parse(ir.Attribute, text, start, end)
        return _with_element(reader, layout)
    return _short(reader)


def of_memref(text: str, type_: Any) -> Spec:
    """Return the layout and the element of a ranked memref of static extents."""
    fix = "write a memref of static extents, as in 'memref<8x64xf16>'"
    if not isinstance(type_, ir.MemRefType):
        raise NotationError(text, 0, "expected a ranked memref", fix)
    if not type_.has_static_shape:
        raise NotationError(text, max(text.find("?"), 0), "extents must be static, got '?'", fix)
    # Upstream counts strides without looking whether they fit, and aborts.
    if 0 in type_.shape:
        raise NotationError(text, 0, "extents must be positive, got 0", _FIXES["l2"])
    if math.prod(type_.shape) >= 1 << 63:
        raise NotationError(text, 0, "tile must have fewer than 2^63 elements", fix)
    if isinstance(type_.layout, LayoutAttr):
        return Spec(type_.layout, type_.element_type)
    try:
        strides, offset = type_.get_strides_and_offset()
    except (ValueError, RuntimeError):
        raise NotationError(
            text, 0, "layout must be strided or #tile.layout", "say the layout as #tile.layout"
        ) from None
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    if dynamic in strides:
        raise NotationError(text, max(text.find("?"), 0), "strides must be static, got '?'", fix)
    try:
        layout = LayoutAttr.get(type_.shape, strides, None if offset == dynamic else offset)
    except ValueError as error:
        raise NotationError(text, 0, str(error), fix) from None
    return Spec(layout, type_.element_type)


def _check_element(text: str, column: int, element: Any) -> None:
    """Refuse elements that take no known number of bits."""
    try:
        element_bits(element)
    except ValueError as error:
        fix = "take a number type, such as f16"
        raise NotationError(text, column, f"{error}: {element}", fix) from None


class _Reader:
    """The tokens of a text, with their columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            (match.group(), match.start())
            for match in _TOKEN.finditer(text)
            if not match.group().isspace()
        ]
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next][0] if self.next < len(self.tokens) else ""

    def column(self) -> int:
        end = len(self.text.rstrip())
        return self.tokens[self.next][1] if self.next < len(self.tokens) else end

    def take(self) -> tuple[str, int]:
        self.next += 1
        return self.tokens[self.next - 1]

    def fail(self, expected: str, fix: str = f"write '{EXAMPLE}'") -> NotationError:
        got = f"'{self.peek()}'" if self.peek() else "the end"
        return NotationError(self.text, self.column(), f"expected {expected}, got {got}", fix)

    def balanced(self, opening: str, closing: str) -> Iterator[tuple[str, int]]:
        """Take an opening token and all up to the one that closes it."""
        first, depth = self.column(), 0
        while self.peek():
            depth += (self.peek() == opening) - (self.peek() == closing)
            yield self.take()
            if depth == 0:
                return
        raise NotationError(
            self.text, first, f"'{opening}' is not closed", f"close it with '{closing}'"
        )

    def skip_attribute(self, start: int) -> int:
        """Take `#tile.layout<...>`; return the column behind it."""
        while self.peek() and self.column() < start + len(_ATTRIBUTE):
            self.take()
        if self.peek() != "<":
            raise self.fail("'<' behind #tile.layout", "write #tile.layout<(8, 64) : (64, 1)>")
        return list(self.balanced("<", ">"))[-1][1] + 1


def _short(reader: _Reader) -> Spec:
    """Rewrite the short form as an attribute, and remember where each character came from."""
    written: list[tuple[str, int]] = [("#tile.layout<", reader.column())]
    written += _modes(reader, "extents")
    if reader.peek() != ":":
        raise reader.fail("':' between extents and strides")
    written.append(reader.take())
    rules = {"l1": reader.column()}
    written += _modes(reader, "strides")
    element = None
    given: set[str] = set()
    while reader.peek():
        if reader.peek() == ",":
            reader.take()
        word, column = reader.peek(), reader.column()
        if word in given:
            raise NotationError(reader.text, column, f"'{word}' is given twice", "say it once")
        if word == "offset":
            given.add(word)
            written += [(", ", column), reader.take(), ("=", column)]
            if reader.peek() == "=":
                reader.take()
            if not re.fullmatch(r"-?\d+|\?", reader.peek()):
                raise reader.fail("a number of elements behind 'offset'", "write 'offset = 64'")
            written.append(reader.take())
        elif word == "swizzle":
            given.add(word)
            rules["l3"] = column
            written += [(", ", column), reader.take(), ("=", column)]
            if reader.peek() == "=":
                reader.take()
            if reader.peek() != "<":
                raise reader.fail("'<bits, base, shift>' behind 'swizzle'")
            written += reader.balanced("<", ">")
        elif element is None and re.match(r"[A-Za-z]", word):
            element = _element(reader)
        else:
            raise reader.fail("an element type, offset or swizzle")
    end = len(reader.text.rstrip())
    written.append((">", end))
    text = "".join(word for word, _ in written)
    # What was taken lies in the text as it was written; what was put in has one place.
    origin = [
        column + i if reader.text.startswith(word, column) else column
        for word, column in written
        for i in range(len(word))
    ]
    layout = _parse(ir.Attribute, text, 0, len(text), (reader.text, origin, rules))
    return Spec(layout, element or ir.Type.parse(DEFAULT_ELEMENT), element is None)


def _modes(reader: _Reader, what: str) -> list[tuple[str, int]]:
    """Take `(8, (2, 32))`, or a number as a list of one."""
    if re.fullmatch(r"-?\d+", reader.peek()):
        word, column = reader.take()
        return [("(", column), (word, column), (")", column)]
    if reader.peek() != "(":
        raise reader.fail(f"'(' before the {what}")
    taken = list(reader.balanced("(", ")"))
    for word, column in taken:
        if not re.fullmatch(r"-?\d+|[(),]", word):
            message = f"expected a number among the {what}, got '{word}'"
            raise NotationError(reader.text, column, message, f"write '{EXAMPLE}'")
        if what == "extents" and re.fullmatch(r"-\d+|0+", word):
            message = f"extents must be positive, got {word}"
            raise NotationError(reader.text, column, message, _FIXES["l2"])
    return taken


def _element(reader: _Reader) -> Any:
    """Take the type of elements, such as `f16` or `vector<2xf16>`."""
    _, start = reader.take()
    if reader.peek() == "<":
        list(reader.balanced("<", ">"))
    last, column = reader.tokens[reader.next - 1]
    element = _parse(ir.Type, reader.text, start, column + len(last))
    _check_element(reader.text, start, element)
    return element


def _with_element(reader: _Reader, layout: Any) -> Spec:
    """Take what may stand behind an attribute: the type of elements."""
    if not isinstance(layout, LayoutAttr):
        raise NotationError(reader.text, 0, "expected #tile.layout", f"write '{EXAMPLE}'")
    if not reader.peek():
        return Spec(layout, ir.Type.parse(DEFAULT_ELEMENT), True)
    if not re.match(r"[A-Za-z]", reader.peek()):
        raise reader.fail("an element type behind the attribute", "write it as in '#... f16'")
    element = _element(reader)
    if reader.peek():
        raise reader.fail("the end", "write offset and swizzle inside #tile.layout<...>")
    return Spec(layout, element)


def _parse(
    what: Any,
    text: str,
    start: int,
    end: int,
    shown: tuple[str, list[int], dict[str, int]] | None = None,
) -> Any:
    """Let MLIR read a part of `text`.

    Its error is shown at its place there, or in what `text` was rewritten from: that text, where
    each character came from, and the column to mark where a constraint is broken.
    """
    try:
        return what.parse(text[start:end])
    except ir.MLIRError as error:
        found = error.error_diagnostics
        location = found[0].location if found else None
        column = location.start_col - 1 if location and location.is_a_file() else 0
        column = min(start + column, end)
        message = found[0].message if found else "not a layout"
        if what is ir.Type and not text.lstrip().startswith("memref"):
            message = f"no type of elements: '{text[start:end]}'"
        rule = re.search(r"\((l\d)\)", message)
        if shown is not None:
            text, origin, rules = shown
            column = origin[min(column, len(origin) - 1)]
            column = rules.get(rule[1], column) if rule else column
        fix = _FIXES.get(rule[1], "") if rule else ""
        raise NotationError(text, column, message, fix or f"write '{EXAMPLE}'") from None
