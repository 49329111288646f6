# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builders over upstream's ops for what every program around a tile copy repeats.

A kernel in a `gpu.module`, its buffers and barriers, a launch with clusters, and a host function
that moves the arguments. Each function builds plain upstream IR at the insertion point,
with the current location, and returns the ops and values that it made; for anything else use
upstream's own builders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from mlir import ir
from mlir._mlir_libs import _mlir
from mlir.dialects import arith, func, gpu, memref, scf
from mlir.dialects._gpu_ops_gen import LaunchFuncOp  # the exported one knows no clusters

from .dialects._tile_operands import caller_location, known_location
from .validation import integer, is_int, wrong_type

Extent: TypeAlias = int | ir.Value
"""A constant, or an `index`."""
Extents: TypeAlias = Extent | tuple[Extent, Extent, Extent]
"""The extents in x, y and z; one alone is that in x."""

_mlir.globals.register_traceback_file_exclusion(__file__)

WORKGROUP = "#gpu.address_space<workgroup>"


def index(value: int) -> ir.Value:
    """Return a constant `value` of type `index`."""
    return arith.constant(ir.IndexType.get(), value)


def i32(value: int) -> ir.Value:
    """Return a constant `value` of 32 bits."""
    return arith.constant(ir.IntegerType.get_signless(32), value)


def workgroup_memref(
    shape: Sequence[int], element_type: ir.Type, layout: ir.Attribute | None = None
) -> ir.MemRefType:
    """Return the type of a buffer in a CTA's shared memory.

    `shape` and `layout` are in elements of `element_type`; without a layout it is row-major.
    """
    space = ir.Attribute.parse(WORKGROUP)
    return ir.MemRefType.get(shape, element_type, layout, space)


def barrier_group(count: int = 1) -> ir.Type:
    """Return the type of a group of `count` mbarriers, for `nvgpu.mbarrier_create`.

    Raises `TypeError` or `ValueError` unless `count` is an int from 1 on.
    """
    count = integer("count", count, 1, (1 << 32) - 1)
    return ir.Type.parse(
        f"!nvgpu.mbarrier.group<memorySpace = {WORKGROUP}, num_barriers = {count}>"
    )


@contextmanager
def if_true(condition: ir.Value) -> Iterator[None]:
    """Build an `scf.if` on `condition`, an `i1`, around what is built inside."""
    loc = known_location() or caller_location(condition.context)
    branch = scf.IfOp(condition, loc=loc)
    with ir.InsertionPoint(branch.then_block):
        yield
        scf.yield_([], loc=loc)


def if_else(
    condition: ir.Value,
    result: ir.Type,
    then: Callable[[], ir.Value],
    otherwise: Callable[[], ir.Value],
) -> ir.Value:
    """Build an `scf.if` on `condition`, an `i1`, and return what `then` or `otherwise` builds.

    Both return a value of type `result`, and are called with the insertion point inside.
    """
    loc = known_location() or caller_location(condition.context)
    branch = scf.IfOp(condition, [result], has_else=True, loc=loc)
    for block, build in (branch.then_block, then), (branch.else_block, otherwise):
        with ir.InsertionPoint(block):
            scf.yield_([build()], loc=loc)
    return branch.results[0]


def tile_at(buffer: ir.Value, place: Extent) -> ir.Value:
    """Return the tile at `place` of the first dimension of `buffer`, as a view of it.

    `buffer` is a strided memref of two dimensions or more, such as the stages of a ring.
    """
    type_ = ir.MemRefType(buffer.type)
    strides, start = type_.get_strides_and_offset()
    shape, dynamic = list(type_.shape), ir.ShapedType.get_dynamic_stride_or_offset()
    known = isinstance(place, int) and dynamic not in (start, strides[0])
    offset = start + place * strides[0] if known else dynamic
    layout = ir.StridedLayoutAttr.get(offset, strides[1:])
    result = ir.MemRefType.get(shape[1:], type_.element_type, layout, type_.memory_space)
    values = [] if isinstance(place, int) else [place]
    static = place if isinstance(place, int) else dynamic
    rest = [0] * (len(shape) - 1)
    return memref.SubViewOp(
        result, buffer, values, [], [], [static, *rest], [1, *shape[1:]], [1] * len(shape)
    ).result


@dataclass(frozen=True)
class Kernel:
    """A kernel that `kernel` declares.

    `function` is the `gpu.func`; `arguments` and `workgroup` are the values of its arguments and
    of its buffers in shared memory. `name` is what a launch calls it by: that of its `gpu.module`
    and its own. `block` is threads of a CTA, `cluster` CTAs of a cluster, in x, y and z.
    """

    function: gpu.GPUFuncOp
    name: tuple[str, str]
    arguments: list[ir.Value]
    workgroup: list[ir.Value]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]


@contextmanager
def kernel(
    module: ir.Module,
    name: str,
    arguments: Sequence[ir.Type],
    *,
    block: int | tuple[int, int, int],
    cluster: int | tuple[int, int, int],
    workgroup: Sequence[ir.MemRefType] = (),
    ctas_per_sm: int | None = None,
    insert_sync: bool = False,
    war_fences: bool = True,
    gpu_module: str = "kernels",
) -> Iterator[Kernel]:
    """Declare kernel `name` in `module`, and build its body inside; it returns at the end.

    `arguments` are the types of its arguments, `workgroup` those of its buffers in shared memory.
    `block` is the threads of a CTA and `cluster` the CTAs of a cluster; both become attributes,
    `known_block_size` and `known_cluster_size`. With `ctas_per_sm` the kernel uses few enough
    registers for so many CTAs on an SM. With `insert_sync` the compiler adds the fences
    and cluster barriers that the copies need; without `war_fences`, none between ordinary loads and
    the copies that write over what they read. `gpu_module` names the `gpu.module`, which is made
    where it is missing. Raises `TypeError` or `ValueError` for other sizes.
    """
    sizes = {"known_block_size": _sizes("block", block)}
    sizes["known_cluster_size"] = _sizes("cluster", cluster)
    if ctas_per_sm is not None:
        ctas_per_sm = integer("ctas_per_sm", ctas_per_sm, 1, 32)
    signature = ir.FunctionType.get(list(arguments), [])
    loc = known_location() or caller_location(module.context)
    with ir.InsertionPoint(_gpu_module(module, gpu_module, loc)):
        function = gpu.GPUFuncOp(signature, name, kernel=True, loc=loc)
    for key, size in sizes.items():
        function.attributes[key] = ir.DenseI32ArrayAttr.get(list(size))
    if ctas_per_sm is not None:
        type_ = ir.IntegerType.get_signless(32)
        function.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(type_, ctas_per_sm)
    if insert_sync:
        without = ir.DictAttr.get({"war_fences": ir.BoolAttr.get(False)})
        function.attributes["tile.insert_sync"] = ir.UnitAttr.get() if war_fences else without
    function.attributes["workgroup_attributions"] = ir.IntegerAttr.get(
        ir.IntegerType.get_signless(64), len(workgroup)
    )
    types = [*arguments, *workgroup]
    body = function.body.blocks.append(*types, arg_locs=[function.location] * len(types))
    values = list(body.arguments)
    with ir.InsertionPoint(body):
        yield Kernel(
            function,
            (gpu_module, name),
            values[: len(arguments)],
            values[len(arguments) :],
            sizes["known_block_size"],
            sizes["known_cluster_size"],
        )
        gpu.return_([], loc=loc)


def promise(
    kernel: Kernel,
    argument: int,
    *,
    alignment_bytes: int | None = None,
    multiple_of: Sequence[int] | None = None,
    offset_multiple_of: int | None = None,
) -> None:
    """Let memref number `argument` of `kernel` promise what copies from or to it rely on.

    Its base is at a multiple of `alignment_bytes`, a power of two; its strides are multiples of
    `multiple_of`, in elements, and so is an offset that its type leaves open of
    `offset_multiple_of`. Launches refuse an argument that breaks a promise. Raises `TypeError` or
    `ValueError` for a number that is no argument, and for other multiples.
    """
    argument = integer("argument", argument, 0, len(kernel.arguments) - 1)
    context = kernel.function.context
    i64 = ir.IntegerType.get_signless(64, context)
    attributes = kernel.function.attributes
    all_given = [ir.DictAttr.get({}, context) for _ in kernel.arguments]
    if "arg_attrs" in attributes:
        all_given = [ir.DictAttr(each) for each in ir.ArrayAttr(attributes["arg_attrs"])]
    promised = {each.name: each.attr for each in all_given[argument]}
    if alignment_bytes is not None:
        alignment_bytes = integer("alignment_bytes", alignment_bytes, 1)
        promised["llvm.align"] = ir.IntegerAttr.get(i64, alignment_bytes)
    if multiple_of is not None:
        multiples = [integer("multiple_of", multiple, 1) for multiple in multiple_of]
        promised["tile.multiple_of"] = ir.DenseI64ArrayAttr.get(multiples, context)
    if offset_multiple_of is not None:
        offset_multiple_of = integer("offset_multiple_of", offset_multiple_of, 1)
        promised["tile.offset_multiple_of"] = ir.IntegerAttr.get(i64, offset_multiple_of)
    all_given[argument] = ir.DictAttr.get(promised, context)
    attributes["arg_attrs"] = ir.ArrayAttr.get(all_given, context)


def launch(
    name: tuple[str, str],
    operands: Sequence[ir.Value],
    *,
    grid: Extents,
    block: Extents,
    cluster: Extents | None = None,
    dynamic_shared_bytes: Extent | None = None,
    after: Sequence[ir.Value] = (),
) -> gpu.LaunchFuncOp:
    """Build a launch of the kernel `name`, (`gpu.module`, `gpu.func`), with `operands`.

    `grid` is CTAs, `block` threads of a CTA and `cluster` CTAs of a cluster, which divides `grid`.
    `dynamic_shared_bytes` is the dynamic shared memory of each CTA. With tokens in `after` the
    launch waits for them, and its result is a token; otherwise the host waits for the launch.
    Raises `TypeError` or `ValueError` for other extents, before any op is made.
    """
    extents = {"grid": grid, "block": block, "cluster": cluster}
    triples = {name: _extents(name, size) for name, size in extents.items() if size is not None}
    constants: dict[int, ir.Value] = {}

    def value(extent: Extent) -> ir.Value:
        if not isinstance(extent, int):
            return extent
        if extent not in constants:
            constants[extent] = index(extent)
        return constants[extent]

    sizes = [value(extent) for name in ("grid", "block") for extent in triples[name]]
    clusters = [value(extent) for extent in triples.get("cluster", ())]
    names = ("clusterSizeX", "clusterSizeY", "clusterSizeZ")
    shared = dynamic_shared_bytes
    return LaunchFuncOp(
        gpu.AsyncTokenType.get() if after else None,
        list(after),
        list(name),
        *sizes,
        list(operands),
        **dict(zip(names, clusters, strict=False)),
        dynamicSharedMemorySize=i32(shared) if isinstance(shared, int) else shared,
    )


def main(
    module: ir.Module,
    kernel: Kernel,
    *,
    grid: Extents,
    copy_in: Sequence[int],
    copy_out: Sequence[int],
    name: str = "main",
) -> func.FuncOp:
    """Add the host function `name` to `module`, which launches `kernel` once over `grid` CTAs.

    It takes what the kernel takes. Its memrefs are the host's: each has a buffer on the device, to
    which those at the places in `copy_in` are copied before the launch, and from which those in
    `copy_out` are copied after it. Extents that a type leaves open are those of the host's. Raises
    `ValueError` for an argument that is not a memref.
    """
    types = [argument.type for argument in kernel.arguments]
    memrefs = [place for place, type_ in enumerate(types) if isinstance(type_, ir.MemRefType)]
    for argument, places in ("copy_in", copy_in), ("copy_out", copy_out):
        if not set(places) <= set(memrefs):
            raise ValueError(
                f"{argument} must be places of the kernel's memrefs, {memrefs}, got {places}"
            )
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, (types, []))
    function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    token = gpu.AsyncTokenType.get()
    with ir.InsertionPoint(function.add_entry_block()):
        given = list(function.arguments)
        operands = list(given)
        ready = gpu.WaitOp(token, []).result
        for place in memrefs:
            sizes = [
                memref.dim(given[place], index(dimension))
                for dimension in range(types[place].rank)
                if types[place].is_dynamic_dim(dimension)
            ]
            operands[place], ready = gpu.alloc(types[place], token, [ready], sizes, [])
        for place in copy_in:
            ready = gpu.memcpy(token, [ready], operands[place], given[place])
        ready = launch(
            kernel.name,
            operands,
            grid=grid,
            block=kernel.block,
            cluster=kernel.cluster,
            after=[ready],
        ).result
        for place in copy_out:
            ready = gpu.memcpy(token, [ready], given[place], operands[place])
        for place in memrefs:
            ready = gpu.dealloc(token, [ready], operands[place])
        gpu.WaitOp(None, [ready])
        func.return_([])
    return function


def _sizes(argument: str, given: Any) -> tuple[int, int, int]:
    """Return constant extents in x, y and z."""
    x, y, z = (integer(argument, extent, 1) for extent in _triple(argument, given))
    return x, y, z


def _extents(argument: str, given: Any) -> tuple[Extent, Extent, Extent]:
    """Return extents in x, y and z, each a constant or what has a value."""
    triple = _triple(argument, given)
    for extent in triple:
        if not is_int(extent) and not isinstance(extent, ir.Value | ir.OpView | ir.Operation):
            raise wrong_type(argument, "an int, an index value or a tuple of three", given)
    return triple


def _triple(argument: str, given: Any) -> tuple[Any, Any, Any]:
    triple = given if isinstance(given, tuple) else (given, 1, 1)
    if len(triple) != 3:
        raise ValueError(f"{argument} must be one extent or a tuple of three, got {given!r}")
    x, y, z = triple
    return x, y, z


def _gpu_module(module: ir.Module, name: str, loc: ir.Location) -> ir.Block:
    """Return the body of the `gpu.module` of that name, created if it is missing."""
    module.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
    for op in module.body:
        if isinstance(op, gpu.GPUModuleOp) and op.sym_name.value == name:
            return op.bodyRegion.blocks[0]
    with ir.InsertionPoint(module.body):
        made = gpu.GPUModuleOp(name, loc=loc)
    return made.bodyRegion.blocks.append()
