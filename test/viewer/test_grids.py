# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The numbers in a picture, against what the references say of each element and each byte."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator

import layouts_by_definition as definition
import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.viewer import copies, model
from mlir_tile.viewer.model import Cell, Grid, Window
from mlir_tile.viewer.notation import Spec, parse

EVERYTHING = Window(rows=4096, columns=4096)


@pytest.fixture(autouse=True)
def context() -> Iterator[None]:
    with mt.context():
        yield


def elements(grid: Grid) -> Iterator[tuple[tuple[int, ...], int, Cell]]:
    """Yield (coordinate, place, cell) of each element: those of a cell go on from its first."""
    for cell in grid.cells():
        for i in range(grid.piece):
            if cell.coordinate:
                yield (*cell.coordinate[:-1], cell.coordinate[-1] + i), cell.place + i, cell
            else:
                yield (), cell.place, cell


def by_definition(spec: Spec, coordinate: tuple[int, ...]) -> int:
    """Return where an element lies, from the numbers that the layout was made of."""
    dimensions = []
    for shape, stride in zip(spec.layout.shape, spec.layout.stride, strict=True):
        shapes = (shape,) if isinstance(shape, int) else shape
        strides = (stride,) if isinstance(stride, int) else stride
        dimensions.append(tuple(zip(shapes, strides, strict=True)))
    return definition.place(dimensions, coordinate, spec.layout.offset or 0, spec.layout.swizzle)


def check_places(grid: Grid, spec: Spec) -> None:
    """Assert that each element is there once, at its place."""
    shape = [n if isinstance(n, int) else math.prod(n) for n in spec.layout.shape]
    seen = [coordinate for coordinate, _, _ in elements(grid)]
    assert sorted(seen) == list(itertools.product(*map(range, shape)))
    for coordinate, place, cell in elements(grid):
        assert place == by_definition(spec, coordinate), coordinate
        assert cell.bank == definition.bank(cell.place * grid.element_bits // 8)


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("#tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>> f16", 8),
        ("#tile.layout<(8, 64) : (64, 1), swizzle = <2, 2, 3>> f16", 4),
        ("(64,64):(1,64) f32", 1),
        ("(8,(2,32)):(32,(256,1)) bf16", 8),
        ("#tile.layout<(4, 4) : (4, 1), swizzle = <1, 1, 1>> i8", 1),
        ("(2,3,64):(192,64,1) i32", 4),
        ("#tile.layout<(2, (2, 3), 20) : (2000, (400, 100), 1), offset = 2> f64", 2),
        ("(100):(1) i16", 4),
        ("(257):(1) i16", 1),
        ("((4,64)):((1,4)) f16", 1),
        ("#tile.layout<(4, 64) : (64, -1), offset = 300> f16", 1),
        ("(8,128):(128,1) i4", 32),
        ("(8):(0) f32", 1),
        ("():() f32", 1),
    ],
)
def test_places_and_banks_are_those_of_the_definition(text: str, piece: int) -> None:
    spec = parse(text)
    (grid,) = model.picture_of_layout(spec, None, EVERYTHING).grids
    assert grid.piece == piece
    check_places(grid, spec)
    assert grid.hidden == ""


def test_phases_are_those_of_the_definition() -> None:
    spec = parse("#tile.layout<(64, 64) : (64, 1), offset = 512, swizzle = <3, 3, 3>> f16")
    plain = parse("#tile.layout<(64, 64) : (64, 1), offset = 512> f16")
    (grid,) = model.picture_of_layout(spec, "phase", EVERYTHING).grids
    for cell in grid.cells():
        x = by_definition(plain, cell.coordinate)
        assert cell.phase == definition.phase(x, (3, 3, 3))
    assert {cell.phase for cell in grid.cells()} == set(range(8))


COPIES = [
    ("(8,64):(64,1) f16", "(8,(2,32)):(32,(256,1)) f16", "thread"),
    ("(8,64):(64,1) f16", "(8,64):(64,1) f16", "thread"),
    ("#tile.layout<(32, 64) : (64, 1), swizzle = <3, 3, 3>> f16", "(32,64):(64,1) f16", "thread"),
    (
        "#tile.layout<(16, 64) : (64, 1), swizzle = <2, 3, 3>> f16",
        "#tile.layout<(16, 64) : (64, 1), swizzle = <3, 3, 3>> f16",
        "warp",
    ),
    (
        "#tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>> f16",
        "#tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>> f16",
        "cta",
    ),
    ("(64,64):(64,1) f16", "#tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>> f16", "cta"),
    ("(64,64):(64,1) f32", "(64,64):(1,64) f32", "cta"),
    ("(64,64):(64,1) f16", "(64,64):(1,64) f16", "cta"),
    ("(64,16):(16,1) f32", "(64,16):(17,1) f32", "warp"),
    ("#tile.layout<(32, 32) : (-32, 1), offset = 992> f32", "(32,32):(32,1) f32", "thread"),
    ("(8,64):(0,1) f16", "(8,64):(64,1) f16", "cta"),
    ("(16,16):(16,1) f64", "(16,16):(1,16) f64", "warp"),
    ("#tile.layout<(100) : (1), offset = 4> f32", "(100):(1) f32", "warp"),
    ("(8,64):(64,1) i4", "(8,64):(128,1) i4", "thread"),
    # The last group of lanes is a single one, without conflicts.
    ("(25,4):(8,1) f32", "(25,4):(4,1) f32", "warp"),
]


@pytest.mark.parametrize(("src", "dst", "issue"), COPIES)
def test_chunks_are_those_of_the_plan_when_it_is_executed(src: str, dst: str, issue: str) -> None:
    specs = parse(src), parse(dst)
    copy = copies.between(*specs, issue, None, 256)
    picture = model.picture_of_copy(copy, None, EVERYTHING)
    plan = copy.plan
    writes = {to: (number, at) for number, at, to in definition.moved_bytes(plan)}
    assert len(writes) == plan.total_bytes
    for grid, spec in zip(picture.grids, specs, strict=True):
        check_places(grid, spec)
    source, destination = picture.grids
    bits = source.element_bits
    for (coordinate, at, from_), (_, to, into) in zip(
        elements(source), elements(destination), strict=True
    ):
        number, byte = writes[to * bits // 8]
        assert byte == at * bits // 8, coordinate
        assert from_.moved.chunk == into.moved.chunk == number, coordinate
        thread = number % plan.threads if plan.threads else None
        assert from_.moved.thread == into.moved.thread == thread


@pytest.mark.parametrize(("src", "dst", "issue"), COPIES)
def test_conflicts_are_those_of_banks_that_give_a_word_a_clock(
    src: str, dst: str, issue: str
) -> None:
    copy = copies.between(parse(src), parse(dst), issue, None, 256)
    source, destination = model.picture_of_copy(copy, None, EVERYTHING).grids
    assert {cell.moved.cycles for cell in destination.cells()} == {0}
    if copy.plan.variant != "st_async":
        assert {cell.moved.cycles for cell in source.cells()} == {0}
        return
    part_bytes = (copy.plan.src.gather or [copy.plan.chunk_bytes])[0]
    loads: dict[tuple[int, int], list[int]] = {}
    for index, (number, at, _) in enumerate(definition.moved_bytes(copy.plan)):
        part, rest = divmod(index % copy.plan.chunk_bytes, part_bytes)
        if rest == 0:
            loads.setdefault((number // 32, part), []).append(at)
    clocks = {
        (warp * 32 + lane, part): cycles
        for (warp, part), places in loads.items()
        for lane, cycles in enumerate(definition.load_cycles(places, part_bytes))
    }
    reads = {
        (number, at): index % copy.plan.chunk_bytes // part_bytes
        for index, (number, at, _) in enumerate(definition.moved_bytes(copy.plan))
    }
    for cell in source.cells():
        byte = cell.place * source.element_bits // 8
        part = reads[cell.moved.chunk, byte]
        assert cell.moved.cycles == clocks[cell.moved.chunk, part]
    # The analysis says the mean of the warps, rounded up, in its remark.
    groups = sum(
        sum(definition.load_cycles(places, part_bytes)[:: min(32, 128 // max(4, part_bytes))])
        for places in loads.values()
    )
    said = re.search(r"st_async: .*?(\d+) cycles for a warp to load", "\n".join(copy.said))
    assert said and int(said[1]) == -(-groups // len(loads))


def test_some_of_these_copies_have_conflicts_and_some_have_none() -> None:
    worst = []
    for src, dst, issue in COPIES:
        copy = copies.between(parse(src), parse(dst), issue, None, 256)
        if copy.plan.variant == "st_async":
            source, _ = model.picture_of_copy(copy, None, EVERYTHING).grids
            worst.append(max(cell.moved.cycles for cell in source.cells()))
    assert min(worst) == 1 < max(worst)


def test_a_declined_copy_marks_where_the_layouts_part() -> None:
    src, dst = parse("((4,64)):((64,1))"), parse("((4,64)):((1,4))")
    copy = copies.between(src, dst, "thread", None, 256)
    assert copy.plan is None
    picture = model.picture_of_copy(copy, None, Window())
    assert "declined" in picture.title
    for grid in picture.grids:
        assert [cell.coordinate for cell in grid.cells() if cell.marked] == [(64,)]
    # By the definition: element 64 is the first that goes on from the one before on no side.
    order = sorted(range(256), key=lambda i: by_definition(dst, (i,)))
    goes_on = by_definition(src, (order[1],)) - by_definition(src, (order[0],))
    assert order[1] == 64 and goes_on != 1


def test_a_destination_that_overlaps_itself_marks_both_elements() -> None:
    copy = copies.between(parse("(8,64):(64,1)"), parse("(8,64):(0,1)"), "thread", None, 256)
    _, destination = model.picture_of_copy(copy, None, EVERYTHING).grids
    marked = [cell for cell in destination.cells() if cell.marked]
    assert [cell.coordinate for cell in marked] == [(0, 0), (1, 0)]
    assert marked[0].place == marked[1].place


def test_the_window_of_a_declined_copy_holds_its_mark() -> None:
    text = "(512,64):(64,1) f16", "#tile.layout<(512, 64) : (64, 1), offset = 8> f16"
    src, dst = parse("((512,64)):((64,1))"), parse("((512,64)):((1,512))")
    copy = copies.between(src, dst, "thread", None, 256)
    for grid in model.picture_of_copy(copy, None, Window(4, 4)).grids:
        assert len(grid.rows) == 4 and len(grid.rows[0]) == 4
        assert any(cell.marked for cell in grid.cells())
    # The control differs in its layouts only.
    control = copies.between(*map(parse, text), "thread", None, 256)
    for grid in model.picture_of_copy(control, None, Window(4, 4)).grids:
        assert not any(cell.marked for cell in grid.cells())


def test_a_large_tile_is_cut_to_the_window_with_a_note() -> None:
    (grid,) = model.picture_of_layout(parse("(128,64):(64,1) f16"), None, Window(32, 16)).grids
    assert len(grid.rows) == 32
    assert grid.hidden == "only rows 0 to 31 of 128 are drawn"
    (grid,) = model.picture_of_layout(
        parse("(32768,32768):(1,32768) f16"), None, Window(8, 4, at=(20000, 32767))
    ).grids
    assert grid.hidden == (
        "only rows 19996 to 20003 of 32768 and columns 32764 to 32767 of 32768 are drawn"
    )
    assert (20000, 32767) in [cell.coordinate for cell in grid.cells()]


def test_a_coordinate_outside_the_tile_is_refused() -> None:
    for at in ((8, 0), (0, 64), (0,)):
        with pytest.raises(ValueError, match=r"inside the tile of \(8, 64\), got"):
            model.picture_of_layout(parse("(8,64):(64,1)"), None, Window(at=at))
    model.picture_of_layout(parse("(8,64):(64,1)"), None, Window(at=(7, 63)))


@pytest.mark.parametrize(("src", "dst", "issue"), COPIES)
def test_a_plan_is_drawn_byte_by_byte(src: str, dst: str, issue: str) -> None:
    plan = copies.between(parse(src), parse(dst), issue, None, 256).plan
    source, destination = model.picture_of_plan(plan, EVERYTHING).grids
    moved = list(definition.moved_bytes(plan))
    read: dict[int, set[int]] = {}
    for number, at, _ in moved:
        read.setdefault(at, set()).add(number)
    written = {to: number for number, _, to in moved}
    for grid, numbers in ((source, read), (destination, written)):
        shown = {
            cell.place + i: cell.moved.chunk
            for cell in grid.cells()
            for i in range(grid.piece)
            if cell.moved.chunk is not None
        }
        assert shown.keys() == numbers.keys()
        for byte, number in shown.items():
            assert number == numbers[byte] if grid is destination else number in numbers[byte]


def test_a_plan_of_no_bytes_has_no_grids() -> None:
    plan = ir.Attribute.parse(
        "#tile.copy_plan<bulk, chunk = 0, count = 0, loops = [], src = <start = 0, steps = []>, "
        "dst = <start = 0, steps = []>>"
    )
    assert model.picture_of_plan(plan, Window()).grids == []
