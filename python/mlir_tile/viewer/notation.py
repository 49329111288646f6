# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as people write them: `#tile.layout<...>`, `(8,64):(64,1)`, a memref.

MLIR reads all three: extents and strides alone as what they are between the brackets of the
attribute. So they mean the same, and fail for the same reasons.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from mlir import ir

from .._tile import LayoutAttr, element_bits

EXAMPLE = "(8,64):(64,1) f16"
DEFAULT_ELEMENT = "f16"
_ATTRIBUTE = "#tile.layout"
_PLAIN = re.compile(r"[-\d(), ]*:[-\d(), ]*")


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
    if text.startswith(_ATTRIBUTE, start):
        end = _end_of_attribute(text, start)
        layout = _parse(ir.Attribute, text, start, end)
    elif plain := _PLAIN.match(text, start):
        end = plain.end()
        layout = _parse(ir.Attribute, text, start, end, f"{_ATTRIBUTE}<", ">")
    else:
        raise NotationError(
            text, start, "expected extents : strides, #tile.layout or memref", f"write '{EXAMPLE}'"
        )
    written = text[end:].strip()
    if not written:
        return Spec(layout, ir.Type.parse(DEFAULT_ELEMENT), True)
    column = text.index(written, end)
    try:
        element = ir.Type.parse(written)
    except ir.MLIRError:
        raise NotationError(
            text,
            column,
            f"expected a type of elements, got '{written}'",
            f"write a layout and a type, such as '{EXAMPLE}'; an offset and a swizzle belong into "
            f"{_ATTRIBUTE}<...>",
        ) from None
    _check_element(text, column, element)
    return Spec(layout, element)


def of_memref(text: str, type_: Any) -> Spec:
    """Return the layout and the element of a ranked memref of static extents."""
    fix = "write a memref of static extents, as in 'memref<8x64xf16>'"
    if not isinstance(type_, ir.MemRefType):
        raise NotationError(text, 0, "expected a ranked memref", fix)
    if not type_.has_static_shape:
        raise NotationError(text, max(text.find("?"), 0), "extents must be static, got '?'", fix)
    # Upstream counts strides without looking whether they fit, and aborts.
    if 0 in type_.shape:
        raise NotationError(text, 0, "extents must be positive, got 0", fix)
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


def _end_of_attribute(text: str, start: int) -> int:
    """Return the column after the bracket that closes the first one, or that of the end."""
    depth = 0
    for column in range(start, len(text)):
        depth += (text[column] == "<") - (text[column] == ">")
        if text[column] == ">" and depth == 0:
            return column + 1
    return len(text)


def _parse(what: Any, text: str, start: int, end: int, before: str = "", after: str = "") -> Any:
    """Let MLIR read a part of `text` between two others, and show its error at its place."""
    try:
        return what.parse(before + text[start:end] + after)
    except ir.MLIRError as error:
        found = error.error_diagnostics
        location = found[0].location if found else None
        at = location.start_col - 1 if location and location.is_a_file() else 0
        column = min(max(start + at - len(before), start), len(text.rstrip()))
        message = found[0].message if found else "not a layout"
        raise NotationError(text, column, message) from None
