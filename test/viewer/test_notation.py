# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as text: three forms of one layout, and what is wrong with a text, at its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mlir_tile as mt
from mlir_tile.viewer.notation import NotationError, parse

SWIZZLED = "#tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>"


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mt.context():
        yield


@pytest.mark.parametrize(
    ("text", "layout", "element"),
    [
        ("(8,64):(64,1) f16", "#tile.layout<(8, 64) : (64, 1)>", "f16"),
        (" ( 8 , 64 ) : ( 64 , 1 )  f16 ", "#tile.layout<(8, 64) : (64, 1)>", "f16"),
        (f"{SWIZZLED} f16", SWIZZLED, "f16"),
        (f" {SWIZZLED}f16", SWIZZLED, "f16"),
        (f"memref<8x64xf16, {SWIZZLED}, 3>", SWIZZLED, "f16"),
        ("(8):(-1) f32", "#tile.layout<(8) : (-1)>", "f32"),
        ("():() i4", "#tile.layout<() : ()>", "i4"),
        ("(2,(2,2)):(2,(4,1)) bf16", "#tile.layout<(2, (2, 2)) : (2, (4, 1))>", "bf16"),
        ("(4):(1) vector<2xf16>", "#tile.layout<(4) : (1)>", "vector<2xf16>"),
        ("memref<8x64xf32>", "#tile.layout<(8, 64) : (64, 1)>", "f32"),
        (
            "memref<8x64xi8, strided<[128, 1], offset: 4>>",
            "#tile.layout<(8, 64) : (128, 1), offset = 4>",
            "i8",
        ),
    ],
)
def test_each_form_is_read(text: str, layout: str, element: str) -> None:
    spec = parse(text)
    assert (str(spec.layout), str(spec.element), spec.assumed) == (layout, element, False)


def test_elements_are_f16_where_the_text_does_not_say() -> None:
    for text in ("(8):(1)", "#tile.layout<(8) : (1)>"):
        assert (str(parse(text).element), parse(text).assumed) == ("f16", True)


# The mark stands below the first character of the line under it.
@pytest.mark.parametrize(
    ("text", "mark", "message"),
    [
        *((text, 0, "expected extents : strides") for text in ("", "(8,64) (64,1)", "(8,x):(1,1)")),
        ("(8,64:(64,1)", 0, "unbalanced '('"),
        ("64:1", 0, "expected '('"),
        ("(8,64):", 7, "expected '('"),
        ("(8,0):(64,1)", 0, "layout extents must be positive (l2), got 0"),
        ("(8,64):(64)", 0, "layout shape and strides must have the same nesting (l1)"),
        ("(8,64):(64,1) f17", 14, "expected a type of elements, got 'f17'"),
        ("(8,64):(64,1) i7", 14, "elements of this type have no packing: i7"),
        ("(8,64):(64,1) f16 offset 1", 14, "expected a type of elements, got 'f16 offset 1'"),
        ("(99999999999999999999):(1)", 1, "integer value too large"),
        (f"{SWIZZLED} f16 4", len(SWIZZLED) + 1, "expected a type of elements, got 'f16 4'"),
        ("#tile.layout<(8, 0) : (64, 1)>", 12, "layout extents must be positive (l2), got 0"),
        ("#tile.layout<(8) : (1), swizzle = <3, 3>>", 34, "must be <bits, base, shift>"),
        ("#tile.layout f16", 12, "expected '<'"),
        ("memref<8x?xf16>", 9, "extents must be static, got '?'"),
        ("memref<8x64xf17>", 12, "expected non-function type"),
        ("memref<0x4xf16>", 0, "extents must be positive, got 0"),
        ("memref<99999999999x99999999999xf16>", 0, "fewer than 2^63 elements"),
        ("memref<8x8xf16, affine_map<(i, j) -> (i + j mod 2, j)>>", 0, "must be strided"),
    ],
)
def test_what_is_wrong_is_marked_at_its_place(text: str, mark: int, message: str) -> None:
    with pytest.raises(NotationError) as caught:
        parse(text)
    first, shown, caret, *fixes = str(caught.value).splitlines()
    assert message in first
    assert first.endswith(f"in layout '{text}'")
    assert shown == f"  {text}"
    assert caret == "  " + " " * mark + "^"
    assert all(fix.startswith("note: ") for fix in fixes)
