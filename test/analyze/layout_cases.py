# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws pairs of layouts from one permutation of bytes, and writes them as IR."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import strategies as st
from layout_oracle import Case, Side
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt
from mlir_tile.dialects import tile

ELEMENTS = {
    "i4": 4,
    "f4E2M1FN": 4,
    "i8": 8,
    "f8E4M3FN": 8,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "i64": 64,
    "complex<f32>": 64,
    "vector<4xf32>": 128,
}
WG = "#gpu.address_space<workgroup>"
HEADER = (
    "!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>\n"
)


@st.composite
def side_pairs(draw: st.DrawFn) -> Case:
    """Draw atoms of a tile, give both sides strides for them, and let the sides group them."""
    element = draw(st.sampled_from(sorted(ELEMENTS)))
    bits = ELEMENTS[element]
    granule = max(1, 128 // bits)
    run = granule * draw(st.sampled_from([1, 1, 2, 4]))
    aligned = draw(st.integers(0, 9)) < 8
    extents = [draw(st.sampled_from([2, 2, 3, 4, 8])) for _ in range(draw(st.integers(1, 3)))]
    atoms = [*extents, run if aligned else draw(st.sampled_from([3, 6, run + 1]))]
    cuts = sorted(draw(st.sets(st.integers(1, len(atoms) - 1), max_size=2)))
    order = draw(st.permutations(range(len(extents))))
    other = draw(st.permutations(range(len(extents)))) if draw(st.booleans()) else order
    swizzles = draw_swizzles(draw, granule)
    region = draw_region(draw, atoms, cuts, granule)
    sides = []
    for which, own_order in enumerate((order, other)):
        strides = compact(draw, atoms, own_order, granule, aligned)
        dimensions = group(draw, atoms, strides, cuts)
        offset = granule * draw(st.sampled_from([0, 0, 0, 1, 2]))
        sides.append(Side(dimensions, offset, swizzles[which], *region))
    return Case(sides[0], sides[1], element, bits)


@st.composite
def unlike_factors(draw: st.DrawFn) -> Case:
    """Draw two layouts that factor an extent in two ways, so that boundaries may not nest."""
    element = draw(st.sampled_from(["f16", "f32", "i64", "vector<4xf32>"]))
    bits = ELEMENTS[element]
    granule = 128 // bits
    factors = draw(st.sampled_from([(2, 3), (2, 2, 3), (4, 3), (2, 9), (2, 3, 5), (3, 16)]))
    inner = draw(st.sampled_from([1, granule, granule, 2 * granule]))
    outer = draw(st.sampled_from([1, 2, 3]))
    swizzles = draw_swizzles(draw, granule) if draw(st.integers(0, 3)) == 0 else [None, None]
    sides = []
    for swizzle in swizzles:
        modes: list[tuple[int, int]] = []
        reached = inner
        for extent in reversed(draw(st.permutations(factors))):
            if draw(st.integers(0, 3)) == 0:
                reached += inner * draw(st.integers(1, 2))
            modes.insert(0, (extent, reached))
            reached *= extent
        if draw(st.integers(0, 5)) == 0:
            strides = draw(st.permutations([stride for _, stride in modes]))
            modes = [(extent, stride) for (extent, _), stride in zip(modes, strides, strict=True)]
        pitch = reached + inner * draw(st.integers(0, 1))
        dimensions = (((outer, pitch),), tuple(modes), ((inner, 1),))
        size = (outer, math.prod(factors), inner)
        sides.append(Side(dimensions, 0, swizzle, (0, 0, 0), size))
    return Case(sides[0], sides[1], element, bits)


def draw_swizzles(draw: st.DrawFn, granule: int) -> list[tuple[int, int, int] | None]:
    """Draw no swizzle, one for both sides, or one for each."""
    kind = draw(st.sampled_from(["none", "none", "alike", "alike", "one", "two"]))

    def swizzle() -> tuple[int, int, int]:
        bits = draw(st.integers(1, 3))
        unit = granule.bit_length() - 1
        base = draw(st.sampled_from([unit, unit, unit + 1, max(0, unit - 1)]))
        return bits, base, bits + draw(st.integers(0, 1))

    if kind == "none":
        return [None, None]
    first = swizzle()
    if kind == "alike":
        return [first, first]
    if kind == "two":
        return [first, swizzle()]
    return draw(st.sampled_from([[first, None], [None, first]]))


def draw_region(
    draw: st.DrawFn, atoms: list[int], cuts: list[int], granule: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw what part of each dimension is copied; a nested dimension is copied whole."""
    starts, sizes = [], []
    for begin, end in zip([0, *cuts], [*cuts, len(atoms)], strict=True):
        extent = math.prod(atoms[begin:end])
        step = granule if end == len(atoms) else 1
        start, size = 0, extent
        if end - begin == 1 and extent > step and draw(st.integers(0, 3)) == 0:
            start = step * draw(st.integers(0, (extent - 1) // step))
            size = extent - start
            if size > step:
                size = max(step, size // 2 // step * step)
        starts.append(start)
        sizes.append(size)
    return tuple(starts), tuple(sizes)


def compact(
    draw: st.DrawFn, atoms: list[int], order: list[int], granule: int, aligned: bool
) -> list[int]:
    """Give strides to the atoms: the last is the fastest, the others follow in `order`."""
    strides = [0] * len(atoms)
    strides[-1] = 1
    reached = atoms[-1]
    for atom in order:
        if draw(st.integers(0, 5)) == 0:
            reached += granule
        if aligned:
            reached = -(-reached // granule) * granule
        strides[atom] = reached
        reached *= atoms[atom]
    return strides


def group(
    draw: st.DrawFn, atoms: list[int], strides: list[int], cuts: list[int]
) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Group atoms into dimensions at `cuts`, and merge those modes that happen to be one."""
    dimensions = []
    for begin, end in zip([0, *cuts], [*cuts, len(atoms)], strict=True):
        modes: list[tuple[int, int]] = []
        for extent, stride in zip(atoms[begin:end], strides[begin:end], strict=True):
            if modes and modes[-1][1] == extent * stride and draw(st.booleans()):
                modes[-1] = (modes[-1][0] * extent, stride)
            else:
                modes.append((extent, stride))
        dimensions.append(tuple(modes))
    return tuple(dimensions)


def modes_text(dimensions: tuple[tuple[tuple[int, int], ...], ...], part: int) -> str:
    entries = []
    for modes in dimensions:
        numbers = [str(mode[part]) for mode in modes]
        entries.append(numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})")
    return f"({', '.join(entries)})"


def type_text(
    dimensions: tuple[tuple[tuple[int, int], ...], ...],
    element: str,
    offset: int | str,
    swizzle: tuple[int, int, int] | None,
) -> str:
    shape = "x".join(str(math.prod(extent for extent, _ in modes)) for modes in dimensions)
    layout = f"{modes_text(dimensions, 0)} : {modes_text(dimensions, 1)}, offset = {offset}"
    if swizzle:
        layout += f", swizzle = <{', '.join(map(str, swizzle))}>"
    return f"memref<{shape}x{element}, #tile.layout<{layout}>, {WG}>"


def buffer_type(side: Side, element: str) -> str:
    return type_text(side.dimensions, element, side.offset, side.swizzle)


def is_whole(side: Side) -> bool:
    return side.size == tuple(math.prod(e for e, _ in modes) for modes in side.dimensions)


def slice_text(side: Side, element: str, name: str) -> tuple[str, str, str]:
    """Return the IR that takes the region of a buffer, the value's name and its type."""
    buffer = buffer_type(side, element)
    if is_whole(side):
        return "", name, buffer
    offset, dimensions = side.offset, []
    for modes, start, size in zip(side.dimensions, side.start, side.size, strict=True):
        if len(modes) == 1:
            offset += start * modes[0][1]
            modes = ((size, modes[0][1]),)
        dimensions.append(modes)
    result = type_text(tuple(dimensions), element, offset, side.swizzle)
    starts, sizes = ", ".join(map(str, side.start)), ", ".join(map(str, side.size))
    line = f"  {name}_part = tile.slice {name}[{starts}] [{sizes}] : {buffer} to {result}\n"
    return line, f"{name}_part", result


def kernel_text(case: Case, name: str, stores: bool) -> str:
    """Write the copy of a case as a kernel of its own, by one thread or by the stores of a warp."""
    issue = ' issue(warp) {variant = "st_async"}' if stores else ""
    block = " attributes {known_block_size = array<i32: 32, 1, 1>}" if stores else ""
    src_line, src, src_type = slice_text(case.src, case.element, "%src")
    dst_line, dst, dst_type = slice_text(case.dst, case.element, "%dst")
    return (
        f"gpu.func @{name}(%rank: i32, %bars: !bars, %i: index)\n"
        f"    workgroup(%src: {buffer_type(case.src, case.element)},\n"
        f"              %dst: {buffer_type(case.dst, case.element)}) kernel{block} {{\n"
        f"{src_line}{dst_line}"
        f"  tile.copy_async {src} to {dst} cta(%rank) mbarrier(%bars[%i]){issue}\n"
        f"      : {src_type} to {dst_type}, !bars\n  gpu.return\n}}\n"
    )


@dataclass(frozen=True)
class Plan:
    """The numbers of a plan, which outlive its context."""

    chunk_bytes: int
    count: int
    loops: list[int]
    src_start: int
    src_steps: list[int]
    src_swizzle: list[int]
    dst_start: int
    dst_steps: list[int]
    dst_swizzle: list[int]


def read_plan(plan: tile.CopyPlanAttr) -> Plan:
    src, dst = plan.src, plan.dst
    return Plan(
        *(plan.chunk_bytes, plan.count, plan.loops),
        *(src.start, src.steps, src.swizzle),
        *(dst.start, dst.steps, dst.swizzle),
    )


def analyze(cases: list[Case], stores: bool = False) -> list[tuple[Plan | None, str]]:
    """Return each case's plan, or None and the errors of the analysis."""
    body = "".join(kernel_text(case, f"case{i}", stores) for i, case in enumerate(cases))
    text = f"{HEADER}gpu.module @kernels {{\n{body}}}\n"
    with mt.context() as context:
        module = ir.Module.parse(text)
        errors: list[str] = []
        context.attach_diagnostic_handler(lambda info: errors.append(info.message) or True)
        try:
            PassManager.parse("builtin.module(tile-analyze-layout)").run(module.operation)
        except ir.MLIRError as error:
            errors += [info.message for info in error.error_diagnostics]
        results: list[tuple[Plan | None, str]] = []
        kernels = module.body.operations[0].regions[0].blocks[0].operations
        declined = iter([text for text in errors if "op " in text])
        for kernel in list(kernels)[: len(cases)]:
            copy = next(
                op for op in kernel.regions[0].blocks[0] if op.operation.name == "tile.copy_async"
            )
            if copy.plan is None:
                results.append((None, next(declined)))
            else:
                results.append((read_plan(copy.plan), ""))
    return results
