# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`LayoutAttr`: what layouts are made of, and what is made from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.dialects.tile import LayoutAttr


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mt.context():
        yield


def swizzled() -> LayoutAttr:
    return LayoutAttr.get((8, 64), (64, 1), swizzle=(3, 3, 3))


def panels() -> LayoutAttr:
    return LayoutAttr.get((8, (2, 32)), (32, (256, 1)))


def test_a_layout_is_made_of_its_parts() -> None:
    layout = LayoutAttr.get((8, (2, 32)), (32, (256, 1)), offset=4, swizzle=(1, 2, 3))
    assert str(layout) == (
        "#tile.layout<(8, (2, 32)) : (32, (256, 1)), offset = 4, swizzle = <1, 2, 3>>"
    )
    assert (layout.shape, layout.stride) == ((8, (2, 32)), (32, (256, 1)))
    assert (layout.offset, layout.swizzle) == (4, (1, 2, 3))
    assert (swizzled().offset, panels().swizzle) == (0, None)


def test_a_run_time_offset_is_none() -> None:
    layout = LayoutAttr.get((8,), (1,), offset=None)
    assert str(layout) == "#tile.layout<(8) : (1), offset = ?>"
    assert layout.offset is None
    assert layout.cosize is None
    with pytest.raises(ValueError, match="known at run time only"):
        layout(0)


def test_repr_evaluates_to_an_equal_layout() -> None:
    for layout in (swizzled(), panels(), LayoutAttr.get((8,), (1,), offset=None)):
        assert eval(repr(layout)) == layout


def test_equal_layouts_have_equal_hashes() -> None:
    assert swizzled() == swizzled()
    assert hash(swizzled()) == hash(swizzled())
    assert swizzled() != panels()


def test_parsed_attributes_and_types_give_this_class() -> None:
    type_ = ir.Type.parse("memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>")
    assert isinstance(ir.MemRefType(type_).layout, LayoutAttr)
    assert ir.MemRefType(type_).layout == swizzled()


def test_a_call_gives_the_place_of_an_element() -> None:
    for i, j in itertools.product(range(8), range(64)):
        assert swizzled()(i, j) == (64 * i + j) ^ (i << 3)
        assert panels()(i, j) == 32 * i + 256 * (j // 32) + j % 32
    with pytest.raises(IndexError, match="in 0 to 63, got 64"):
        swizzled()(0, 64)
    with pytest.raises(ValueError, match="2 dimensions, got 1"):
        swizzled()(0)


def test_the_affine_map_is_exact() -> None:
    with ir.Location.unknown():
        type_ = ir.MemRefType.get([8, 64], ir.F16Type.get(), layout=swizzled())
    text = str(type_.affine_map)
    body = text.split(" -> ")[1].removesuffix(">")
    body = body.replace("floordiv", "//").replace("mod", "%")
    for i, j in itertools.product(range(8), range(64)):
        assert eval(body, {"d0": i, "d1": j}) == swizzled()(i, j)


def test_size_counts_coordinates_and_cosize_places() -> None:
    assert (swizzled().size, swizzled().cosize) == (512, 512)
    assert LayoutAttr.get((4, 20), (24, 1)).cosize == 92
    # The last row of half a block is moved to the upper half.
    half = LayoutAttr.get((8, 32), (64, 1), swizzle=(3, 3, 3))
    assert half.cosize == 1 + max(half(i, j) for i in range(8) for j in range(32))


def test_coalesce_keeps_the_mapping_and_the_dimensions() -> None:
    layout = LayoutAttr.get((8, (2, 1, 32)), (64, (32, 7, 1)))
    assert layout.coalesce() == LayoutAttr.get((8, 64), (64, 1))
    assert panels().coalesce() == panels()


def test_compose_looks_up_row_major_indices() -> None:
    inner = LayoutAttr.get((4, 32), (128, 1))
    outer = panels()
    result = outer.compose(inner)
    for i, j in itertools.product(range(4), range(32)):
        index = inner(i, j)
        assert result(i, j) == outer(index // 64, index % 64)
    with pytest.raises(ValueError, match="not a layout"):
        outer.compose(LayoutAttr.get((3,), (24,)))


def test_divide_counts_tiles_and_coordinates_inside() -> None:
    result = swizzled().divide([2, 16])
    assert result.shape == (4, 4, 2, 16)
    for a, b, i, j in itertools.product(range(4), range(4), range(2), range(16)):
        assert result(a, b, i, j) == swizzled()(2 * a + i, 16 * b + j)
    with pytest.raises(ValueError, match="does not divide"):
        swizzled().divide([3, 16])


def test_what_is_no_layout_raises_what_the_verifier_says() -> None:
    with pytest.raises(ValueError, match="extents must be positive"):
        LayoutAttr.get((0,), (1,))
    with pytest.raises(ValueError, match="same nesting"):
        LayoutAttr.get((8, (2, 32)), (32, 256))
    with pytest.raises(ValueError, match="shift must be at least its bits"):
        LayoutAttr.get((8,), (1,), swizzle=(2, 0, 1))
