# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of the layout analysis against an oracle that goes byte by byte.

Two layouts drawn on their own almost never have a run in common. So both sides of a copy are drawn
from one order of the tile's modes in memory: up to a fork they lie alike, and behind it each side
pads, permutes, reverses or repeats in its own way.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator

import layout_oracle
import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile.dialects import tile

CASES = 2200
STORE_CASES = 500
MAX_BYTES = 2048
ELEMENT_TYPES = {1: "i8", 2: "f16", 4: "f32", 8: "index", 16: "i128"}


def rarely(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.sampled_from([*[False] * (one_in - 1), True]))


@st.composite
def copies(draw: st.DrawFn) -> oracle.Copy:
    """Draw what a copy is asked for; most can be planned, and many need loops."""
    element_bytes = draw(st.sampled_from([1, 2, 2, 2, 2, 4, 4, 8, 16]))
    unit = 16 // element_bytes
    fastest = draw(st.sampled_from([1, 1, 2, 3])) * unit
    if rarely(draw, 8):
        fastest = draw(st.integers(1, 40))
    slower = draw(st.lists(st.sampled_from([2, 2, 3, 3, 4, 5, 1]), min_size=1, max_size=5))
    while fastest * math.prod(slower) * element_bytes > MAX_BYTES:
        slower.pop()
    if rarely(draw, 60):
        slower[0] = 0
    extents = [fastest, *slower]
    order = [0, *draw(st.permutations(range(1, len(extents))))]
    if rarely(draw, 10):
        order = list(draw(st.permutations(range(len(extents)))))
    fork = min(draw(st.sampled_from([1, 1, 1, 1, 2, 4])), len(extents))
    if element_bytes < 4 and rarely(draw, 4):
        fork = 0  # the fastest of one side may be the slowest of the other
    turned = [rarely(draw, 12) for _ in range(fork)]
    dims = draw(st.permutations(range(len(extents))))

    def side(is_src: bool) -> oracle.Side:
        rest = order[fork:]
        if draw(st.booleans()):
            rest = list(draw(st.permutations(rest)))
        strides = [0] * len(extents)
        offset, reached, pitch = draw(st.sampled_from([0, 0, 0, unit, 3 * unit])), 0, 1
        if rarely(draw, 20):
            offset += draw(st.integers(1, 5))
        for place, mode in enumerate([*order[:fork], *rest]):
            extent = extents[mode]
            backwards = turned[place] if place < fork else rarely(draw, 10)
            if place >= fork:
                pitch += draw(st.sampled_from([0, unit, unit, 2 * unit]))
                if rarely(draw, 25):
                    pitch += draw(st.integers(-2, 2))
            stride = pitch
            if place >= fork and rarely(draw, 10 if is_src else 40):
                stride = draw(st.sampled_from([0, unit]))
            elif extent == 1:
                stride = draw(st.sampled_from([pitch, 0, 7]))
            span = max(extent - 1, 0) * stride
            strides[mode] = -stride if backwards else stride
            offset += span if backwards else 0
            reached += span
            pitch = max(pitch * max(extent, 1), 1)
        start = offset - sum(
            max(extent - 1, 0) * -stride
            for extent, stride in zip(extents, strides, strict=True)
            if stride < 0
        )
        slack = draw(st.sampled_from([0, 0, 5, unit]))
        if rarely(draw, 40):
            slack = -1
        elements = max(start + reached + 1 + slack, 1)
        return oracle.Side(tuple(strides[dim] for dim in dims), offset, elements)

    return oracle.Copy(element_bytes, tuple(extents[dim] for dim in dims), side(True), side(False))


def text_of(copy: oracle.Copy, issue: str = "thread", threads: int = 32) -> str:
    """Return the module that asks for `copy`; by warps or CTAs it asks for stores."""
    variant = "" if issue == "thread" else ' {variant = "st_async"}'
    element = ELEMENT_TYPES[copy.element_bytes]
    shape = "x".join(map(str, copy.shape))
    buffers, views, types = [], [], []
    for name, side in (("src", copy.src), ("dst", copy.dst)):
        buffer = f"memref<{side.buffer_elements}x{element}, #gpu.address_space<workgroup>>"
        layout = f"strided<{list(side.strides)}, offset: {side.offset}>"
        types.append(f"memref<{shape}x{element}, {layout}, #gpu.address_space<workgroup>>")
        buffers.append(f"%{name}_buffer: {buffer}")
        views.append(
            f"%{name} = memref.reinterpret_cast %{name}_buffer to offset: [{side.offset}],"
            f" sizes: {list(copy.shape)}, strides: {list(side.strides)} : {buffer} to {types[-1]}"
        )
    group = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
    return f"""
gpu.module @kernels {{
  gpu.func @copy(%rank: i32, %bars: {group}, %i: index) workgroup({", ".join(buffers)}) kernel
      attributes {{known_block_size = array<i32: {threads}, 1, 1>}} {{
    {views[0]}
    {views[1]}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue({issue}){variant}
        : {types[0]} to {types[1]}, {group}
    gpu.return
  }}
}}
"""


def plan_of(module: ir.Module, manager: PassManager) -> oracle.Plan | None:
    """Return the numbers of what the analysis plans, or None where it refuses."""
    plan = attribute_of(module, manager)
    return None if plan is None else numbers_of(plan)


def attribute_of(module: ir.Module, manager: PassManager) -> tile.CopyPlanAttr | None:
    """Return the plan that the analysis leaves on the only copy, or None where it refuses."""
    try:
        manager.run(module.operation)
    except ir.MLIRError:
        return None
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tile.copy_async":
            found.append(tile.CopyPlanAttr(op.attributes["plan"]))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    (plan,) = found
    return plan


def numbers_of(plan: tile.CopyPlanAttr) -> oracle.Plan:
    """Return the numbers that the oracle looks at."""
    return oracle.Plan(
        plan.chunk_bytes,
        plan.count,
        tuple(plan.loops),
        plan.src.start,
        tuple(plan.src.steps),
        plan.dst.start,
        tuple(plan.dst.steps),
    )


def test_plans_move_every_byte_with_the_fewest_copies(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    asked = request.config.getoption("--cases")
    seen: Counter[str] = Counter()
    with mt.context() as context:
        context.enable_multithreading(False)
        manager = PassManager.parse("builtin.module(tile-analyze-layout)")

        @settings(
            max_examples=asked or CASES,
            derandomize=asked is None,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(copies())
        def holds(copy: oracle.Copy) -> None:
            plan = plan_of(ir.Module.parse(text_of(copy)), manager)
            seen["drawn"] += 1
            seen["planned"] += plan is not None
            seen["looped"] += plan is not None and len(plan.loops) > 1
            oracle.check(copy, plan)

        holds()
    planned, looped = seen["planned"] / seen["drawn"], seen["looped"] / seen["drawn"]
    record_property(
        "measured",
        f"{seen['drawn']} copies, {planned:.0%} planned, {looped:.0%} in several loops",
    )
    assert seen["drawn"] >= 2000 or asked
    assert planned >= 0.4
    assert looped >= 0.2


def stored_pairs(plan: tile.CopyPlanAttr) -> Iterator[tuple[int, int]]:
    """Yield (destination byte, source byte) for each byte that the stores of `plan` move."""
    part_bytes, *levels = plan.src.gather or [plan.chunk_bytes, 0]
    for point in itertools.product(*map(range, plan.loops)):
        src = plan.src.start + sum(map(operator.mul, point, plan.src.steps))
        dst = plan.dst.start + sum(map(operator.mul, point, plan.dst.steps))
        assert dst % plan.chunk_bytes == 0, f"the store at {point} writes to byte {dst}"
        for byte in range(plan.chunk_bytes):
            part, within = divmod(byte, part_bytes)
            begin = src
            for step, group in zip(levels[::2], [*levels[1::2], part + 1], strict=True):
                begin += part % group * step
                part //= group
            assert begin % part_bytes == 0, f"{point} loads from byte {begin}"
            yield dst + byte, begin + within


def check_stores(copy: oracle.Copy, plan: tile.CopyPlanAttr | None) -> None:
    """Assert that the stores are lawful, and refused only where words have no own place."""
    if 0 in copy.shape:
        assert plan is not None and plan.count == 0
        return
    pairs = sorted(oracle.byte_pairs(copy))
    if plan is None:
        distinct = len({dst for dst, _ in pairs}) == len(pairs)
        assert not distinct or not oracle.in_bounds(copy) or not words_lie_together(pairs)
        return
    assert plan.chunk_bytes in (4, 8, 16)
    assert sorted(stored_pairs(plan)) == pairs


def words_lie_together(pairs: list[tuple[int, int]]) -> bool:
    """Return whether the destination is made of words that loops can put together.

    Each comes from the source in one way, and their places are the points of nested loops.
    """
    starts = pairs[::4]
    whole = len(pairs) % 4 == 0 and all(
        dst % 4 == 0 and [d for d, _ in pairs[4 * n : 4 * n + 4]] == [*range(dst, dst + 4)]
        for n, (dst, _) in enumerate(starts)
    )
    if not whole:
        return False
    words = [[src for _, src in pairs[n : n + 4]] for n in range(0, len(pairs), 4)]
    shapes = {tuple(src - word[0] for src in word) for word in words}
    return len(shapes) == 1 and layout_oracle.is_loop_nest(np.array(starts))


@pytest.mark.parametrize("issue", ["warp", "cta"])
def test_stores_move_every_byte(request: pytest.FixtureRequest, issue: str) -> None:
    asked = request.config.getoption("--cases")
    seen: Counter[str] = Counter()
    with mt.context() as context:
        context.enable_multithreading(False)
        manager = PassManager.parse("builtin.module(tile-analyze-layout)")

        @settings(
            max_examples=asked or STORE_CASES,
            derandomize=asked is None,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(copies(), st.sampled_from([32, 96, 256]))
        def holds(copy: oracle.Copy, threads: int) -> None:
            plan = attribute_of(ir.Module.parse(text_of(copy, issue, threads)), manager)
            seen["drawn"] += 1
            seen["planned"] += plan is not None
            seen["gathered"] += plan is not None and bool(plan.src.gather)
            check_stores(copy, plan)

        holds()
    assert seen["planned"] >= 0.5 * seen["drawn"]
    assert seen["gathered"] or asked
