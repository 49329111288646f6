# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts near the limits of 64 bits, against Python's integers: right or refused, not wrapped."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import layout_oracle as oracle
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_cases import analyze

import mlir_tile as mt
from mlir_tile.dialects.tile import LayoutAttr

LIMIT = 2**63
COMFORTABLE = 2**61
edges = st.sampled_from([1, 2, 2**31, 2**32, 2**61, 2**62, LIMIT - 1, LIMIT])
near_edges = st.builds(lambda edge, by: edge + by, edges, st.integers(-3, 3))
extents = st.one_of(st.integers(1, 9), st.sampled_from([2**20, 2**31]), near_edges)
strides = st.one_of(st.integers(-9, 9), near_edges, near_edges.map(lambda edge: -edge))
modes = st.lists(
    st.tuples(extents.filter(lambda extent: extent > 0), strides), min_size=1, max_size=2
)
swizzles = st.one_of(
    st.none(),
    st.none(),
    st.tuples(st.integers(1, 3), st.sampled_from([0, 3, 20]), st.integers(3, 7)),
)
seen: Counter[str] = Counter()


def extent_of(dimension: oracle.Modes) -> int:
    return math.prod(extent for extent, _ in dimension)


def corners(side: oracle.Side) -> list[tuple[int, ...]]:
    """Return the coordinates at the ends of every mode."""
    ends = []
    for dimension in side.dimensions:
        inner, own = 1, {0, extent_of(dimension) - 1}
        for extent, _ in reversed(dimension):
            own |= {inner * (extent - 1), min(inner, extent_of(dimension) - 1)}
            inner *= extent
        ends.append(sorted(own))
    return list(itertools.product(*ends))


def reach(side: oracle.Side) -> tuple[int, int]:
    """Return the lowest and the highest offset before the swizzle."""
    steps = [(extent - 1) * stride for modes in side.dimensions for extent, stride in modes]
    lowest = side.offset + sum(step for step in steps if step < 0)
    return lowest, side.offset + sum(step for step in steps if step > 0)


def entry(numbers: list[int]) -> int | tuple[int, ...]:
    return numbers[0] if len(numbers) == 1 else tuple(numbers)


def made(side: oracle.Side) -> LayoutAttr | None:
    """Return the attribute, or None where it is refused."""
    shape = tuple(entry([extent for extent, _ in modes]) for modes in side.dimensions)
    stride = tuple(entry([stride for _, stride in modes]) for modes in side.dimensions)
    try:
        return LayoutAttr.get(shape, stride, offset=side.offset, swizzle=side.swizzle)
    except (TypeError, ValueError):  # TypeError: an offset of more than 64 bits
        return None


def check_layout(side: oracle.Side) -> None:
    lowest, highest = reach(side)
    size = math.prod(map(extent_of, side.dimensions))
    layout = made(side)
    if layout is None:
        inside = max(-lowest, highest, size, abs(side.offset)) < COMFORTABLE
        before = side.swizzle and lowest < 0
        too_long = any(
            not -LIMIT < number < LIMIT
            for modes in side.dimensions
            for mode in modes
            for number in mode
        )
        assert not inside or before or too_long, "refused without a reason"
        seen["refused"] += 1
        return
    seen["accepted"] += 1
    seen["far"] += highest > COMFORTABLE
    assert size < LIMIT and lowest > -LIMIT and highest < LIMIT - 1
    assert layout.size == size
    if not side.swizzle:
        assert layout.cosize == highest + 1
    elif size <= 256:
        coordinates = itertools.product(*(range(extent_of(modes)) for modes in side.dimensions))
        assert layout.cosize == 1 + max(map(side.place, coordinates))
    else:
        block = 2 ** (side.swizzle[0] + side.swizzle[1])
        assert highest // block * block < layout.cosize <= (highest // block + 1) * block
    others = [layout, layout.coalesce()]
    for coordinate in corners(side):
        for other in others:
            assert other(*coordinate) == side.place(coordinate), (other, coordinate)


@settings(
    max_examples=1500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(modes, min_size=1, max_size=3), st.one_of(st.just(0), strides), swizzles)
def check_drawn(dimensions: list[list[tuple[int, int]]], offset: int, swizzle: object) -> None:
    whole = tuple(tuple(modes) for modes in dimensions)
    none = (0,) * len(whole)
    check_layout(oracle.Side(whole, offset, swizzle, none, none))  # type: ignore[arg-type]


def test_sizes_and_places_are_right_or_the_layout_is_refused() -> None:
    with mt.context():
        check_drawn()
    assert seen["accepted"] > 200 and seen["refused"] > 200 and seen["far"] > 10, seen


def check_moves(case: oracle.Case, plan: object) -> None:
    """Assert that the plan moves each byte of the tile where it belongs."""
    moved = {}
    for src, dst in oracle.chunks(plan):
        assert src % 16 == 0 and dst % 16 == 0 and min(src, dst) >= 0
        moved.update((dst + i, src + i) for i in range(plan.chunk_bytes))  # type: ignore[attr-defined]
    size = case.bits // 8
    wanted = {}
    shape = [extent_of(modes) for modes in case.src.dimensions]
    for coordinate in itertools.product(*map(range, shape)):
        src, dst = case.src.place(coordinate) * size, case.dst.place(coordinate) * size
        wanted.update((dst + i, src + i) for i in range(size))
    assert moved == wanted


far = st.builds(
    lambda edge, by, sign: sign * (edge + 16 * by),
    st.sampled_from([16, 2**24, 2**27, 2**29, 2**30, 2**31, 2**58, 2**60, 2**62]),
    st.integers(0, 2),
    st.sampled_from([1, 1, 1, -1]),
)


@st.composite
def far_cases(draw: st.DrawFn) -> oracle.Case:
    """Draw two layouts of one small tile that reach far."""
    element, bits = draw(st.sampled_from([("i8", 8), ("f32", 32), ("i64", 64)]))
    extents = [draw(st.integers(2, 4)), draw(st.integers(1, 3))]
    run = draw(st.sampled_from([16, 32]))
    sides = []
    for _ in range(2):
        dims = tuple(((extent, draw(far)),) for extent in extents)
        below = sum((e - 1) * s for ((e, s),) in dims if s < 0)
        offset = -below + draw(st.sampled_from([0, 0, 16, 2**28, 2**30, 2**31, 2**59]))
        offset = min(max(offset, -(2**62)), 2**62)
        dimensions = (*dims, ((run, 1),))
        size = tuple(extent_of(modes) for modes in dimensions)
        sides.append(oracle.Side(dimensions, offset, None, (0, 0, 0), size))
    return oracle.Case(sides[0], sides[1], element, bits)


def test_plans_of_tiles_that_reach_far_are_right_or_refused() -> None:
    counts: Counter[str] = Counter()

    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(far_cases(), min_size=60, max_size=60))
    def check(cases: list[oracle.Case]) -> None:
        cases = [case for case in cases if made(case.src) and made(case.dst)]
        for case, (plan, error) in zip(cases, analyze(cases), strict=True):
            if plan is not None:
                check_moves(case, plan)
            counts["planned" if plan else "refused"] += 1
            counts["beyond memory"] += "2^31 bytes" in error or "2^63 bits" in error

    with mt.context():
        check()
    assert counts["planned"] > 20 and counts["beyond memory"] > 20, counts
