# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builders of the tile dialect, one for each op.

Numbers may be ints, which become constants, or values of `index` or integer type, which are
converted. Without `loc` an op has the current location, or, if that is unknown, the line of the
caller, so that diagnostics point there. `TypeError` and `ValueError` name the argument and are
raised before any op is made; rules that depend on the surrounding IR are left to the verifier.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

from mlir import ir
from mlir._mlir_libs import _mlir

from .. import _tile
from ..validation import is_int, wrong_type
from ._tile_enum_gen import CacheHint, Issue, ReductionKind, Scope
from ._tile_operands import (
    Barrier,
    BarrierOperands,
    Number,
    Place,
    Scalar,
    cache_hint_of,
    issue_of,
    memref_of,
    offsets_of,
    parity_of,
    reduction_of,
    scope_of,
    value_of,
)
from ._tile_ops_gen import (
    AllReduceOp,
    ArriveOp,
    AssumeMultipleOp,
    CopyAsyncOp,
    ExpectOp,
    OffsetOp,
    PeerOp,
    SliceOp,
    StoreAsyncOp,
    ViewOp,
    WaitOp,
    YieldOp,
)

_mlir.globals.register_traceback_file_exclusion(__file__)

MAX_CLUSTER_SIZE = 16


def _rank(given: object, context: ir.Context) -> Scalar:
    return Scalar("rank", ir.IntegerType.get_signless(32, context), given, MAX_CLUSTER_SIZE)


def _mask(given: object, context: ir.Context) -> Scalar:
    return Scalar("mask", ir.IntegerType.get_signless(16, context), given, 1 << MAX_CLUSTER_SIZE)


def copy_async(
    src: ir.Value,
    dst: ir.Value,
    barrier: Barrier | None = None,
    *,
    rank: Number | None = None,
    mask: Number | None = None,
    reduce: str | ReductionKind | None = None,
    cache_hint: str | CacheHint | ir.Value | None = None,
    issue: str | Issue = "thread",
    variant: str | None = None,
    plan: _tile.CopyPlanAttr | None = None,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> CopyAsyncOp:
    """Copy the tile `src` to `dst`; one side at least is in workgroup memory.

    To workgroup memory, the tile goes to CTA `rank` of the cluster, which is linear, or to each CTA
    of which `mask` has the bit; from global memory without either to the executing CTA. The bytes
    complete on the receiver's counterpart of `barrier`: a group of one mbarrier, or `(group,
    index)`. To global memory there is no barrier, but a bulk group of the issuing thread. `reduce`
    combines the tile with the destination. `cache_hint` is "evict_first", "evict_last",
    "evict_normal" or an i64 of `createpolicy`, for the side in global memory. `issue` says who
    executes the op: "thread", "warp" or "cta". `variant` forces one way of copying, and `plan`
    gives what the analysis would find. `loc` and `ip` are its location and insertion point.
    """
    src, dst = memref_of("src", src), memref_of("dst", dst)
    target = None if barrier is None else BarrierOperands(barrier)
    number = None if rank is None else _rank(rank, src.context)
    receivers = None if mask is None else _mask(mask, src.context)
    executes = issue_of(issue)
    combines = None if reduce is None else reduction_of(reduce)
    hint, policy = cache_hint_of(cache_hint)
    if not isinstance(variant, str | ir.StringAttr | None):
        raise wrong_type("variant", "the name of a variant or None", variant)
    if not isinstance(plan, ir.Attribute | None):
        raise wrong_type("plan", "a CopyPlanAttr or None", plan)
    place = Place.of(src.context, loc, ip)
    return CopyAsyncOp(
        src,
        dst,
        rank=number and number.at(place),
        mask=receivers and receivers.at(place),
        barriers=target and target.group,
        barrier_index=target and target.index.at(place),
        cache_policy=policy,
        reduce=combines,
        cache_hint=hint,
        issue=executes,
        variant=variant,
        plan=plan,
        loc=place.loc,
        ip=place.ip,
    )


def arrive(
    barrier: Barrier,
    *,
    rank: Number,
    scope: str | Scope = "cta",
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ArriveOp:
    """Arrive on the counterpart of `barrier` in CTA `rank` of the cluster.

    `barrier` is a group of one mbarrier, or `(group, index)`; `rank` is linear, and may be the
    CTA's own. `scope` is "cta", or "cluster" where the arrival hands over ordinary stores. `loc`
    and `ip` are its location and insertion point.
    """
    target = BarrierOperands(barrier)
    number, ordered = _rank(rank, target.group.context), scope_of(scope)
    place = Place.of(target.group.context, loc, ip)
    return ArriveOp(
        target.group,
        target.index.at(place),
        number.at(place),
        scope=ordered,
        loc=place.loc,
        ip=place.ip,
    )


def expect(
    barrier: Barrier,
    destinations: ir.Value | Sequence[ir.Value],
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ExpectOp:
    """Arrive on `barrier` and expect the bytes of one copy into each of `destinations`.

    `barrier` is a group of one mbarrier, or `(group, index)`, of the executing CTA. `destinations`
    is a tile or a sequence of tiles, one for each copy into it. `loc` and `ip` are its
    location and insertion point.
    """
    target = BarrierOperands(barrier)
    given = destinations if isinstance(destinations, Sequence) else [destinations]
    tiles = [memref_of("destinations", tile) for tile in given]
    if not tiles:
        raise ValueError("destinations must name at least one tile, got none")
    place = Place.of(target.group.context, loc, ip)
    return ExpectOp(target.group, target.index.at(place), tiles, loc=place.loc, ip=place.ip)


def wait(
    barrier: Barrier,
    parity: Number | bool,
    *,
    max_spins: int | None = None,
    scope: str | Scope = "cta",
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> WaitOp:
    """Wait for the phase of `parity` of `barrier` to complete.

    `barrier` is a group of one mbarrier, or `(group, index)`, of the executing CTA. `parity` is
    False for the first phase, then alternates; only the lowest bit of a number counts. The kernel
    traps after `max_spins` tries in a row. `scope` is "cta", or "cluster" where the phase hands
    over ordinary stores of peers. `loc` and `ip` are its location and insertion point.
    """
    target = BarrierOperands(barrier)
    phase, ordered = parity_of(parity, target.group.context), scope_of(scope)
    if max_spins is not None and not is_int(max_spins):
        raise wrong_type("max_spins", "an int or None", max_spins)
    place = Place.of(target.group.context, loc, ip)
    return WaitOp(
        target.group,
        target.index.at(place),
        phase.at(place),
        max_spins=max_spins,
        scope=ordered,
        loc=place.loc,
        ip=place.ip,
    )


def store_async(
    value: ir.Value,
    dst: ir.Value,
    indices: Number | Sequence[Number],
    barrier: Barrier,
    *,
    rank: Number,
    reduce: str | ReductionKind | None = None,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> StoreAsyncOp:
    """Store `value`, a scalar or a vector of 4, 8 or 16 bytes, into `dst[indices]` of CTA `rank`.

    The bytes complete on the counterpart of `barrier` there: a group of one mbarrier, or `(group,
    index)`. `rank` is linear within the cluster and may be the CTA's own. `reduce` names what
    combines the value with what is there, such as "add". `loc` and `ip` say where the op goes.
    """
    value = value_of("value", "a scalar or a vector", value)
    dst, target = memref_of("dst", dst), BarrierOperands(barrier)
    number, kind = _rank(rank, dst.context), None if reduce is None else reduction_of(reduce)
    given = indices if isinstance(indices, Sequence) else [indices]
    index = ir.IndexType.get(dst.context)
    scalars = [Scalar("indices", index, one) for one in given]
    if len(scalars) != dst.type.rank:
        raise ValueError(f"indices must be {dst.type.rank}, got {len(scalars)}")
    place = Place.of(dst.context, loc, ip)
    return StoreAsyncOp(
        value,
        dst,
        [scalar.at(place) for scalar in scalars],
        number.at(place),
        target.group,
        target.index.at(place),
        reduce=kind,
        loc=place.loc,
        ip=place.ip,
    )


def peer(
    source: ir.Value,
    *,
    rank: Number,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """Return the counterpart of the buffer `source` in CTA `rank` of the cluster.

    It is a memref in memory space 7, on which upstream's loads, stores and atomics work. `rank` is
    linear within the cluster and may be the CTA's own. `loc` and `ip` say where the op goes.
    """
    source = memref_of("source", source)
    number = _rank(rank, source.context)
    place = Place.of(source.context, loc, ip)
    type_ = source.type
    space = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, source.context), 7)
    result = ir.MemRefType.get(type_.shape, type_.element_type, type_.layout, space, loc=place.loc)
    return PeerOp(result, source, number.at(place), loc=place.loc, ip=place.ip).result


Combination: TypeAlias = Callable[[list[ir.Value], list[ir.Value]], ir.Value | Sequence[ir.Value]]
"""Builds what left and right values make together."""


@overload
def all_reduce(
    values: ir.Value,
    combine: str | ReductionKind | Combination,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value: ...


@overload
def all_reduce(  # type: ignore[overload-cannot-match]  # upstream's values are Any to us
    values: Sequence[ir.Value],
    combine: Combination,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> list[ir.Value]: ...


def all_reduce(
    values: ir.Value | Sequence[ir.Value],
    combine: str | ReductionKind | Combination,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value | list[ir.Value]:
    """Combine `values` over all threads of all CTAs of the cluster, and return what they make.

    `combine` is a kind such as "add" or "maxnumf", for one value, or a function that builds what
    two values make: it is called with a list of left and a list of right ones, in the order of
    `values`, and returns as many. One value gives one result, a sequence gives a list. `loc` and
    `ip` say where the op goes.
    """
    alone = not isinstance(values, Sequence)
    given = [value_of("values", "a value or a sequence of values", values)] if alone else values
    operands = [value_of("values", "values", value) for value in given]
    if not operands:
        raise ValueError("values must be at least one, got none")
    kind = None if callable(combine) else reduction_of(combine, "combine")
    if kind is not None and len(operands) != 1:
        raise ValueError(f"combine must be a function for {len(operands)} values, got {combine!r}")
    place = Place.of(operands[0].context, loc, ip)
    types = [operand.type for operand in operands]
    op = AllReduceOp(types, operands, kind=kind, loc=place.loc, ip=place.ip)
    if callable(combine):
        where = op.location
        block = op.combination.blocks.append(*types, *types, arg_locs=[where] * (2 * len(types)))
        arguments = list(block.arguments)
        try:
            with ir.InsertionPoint(block):
                made = combine(arguments[: len(types)], arguments[len(types) :])
                several = [made] if isinstance(made, ir.Value | ir.OpView | ir.Operation) else made
                YieldOp([value_of("combine", "values", value) for value in several], loc=where)
        except BaseException:
            op.operation.erase()
            raise
    found = list(op.operation.results)
    return found[0] if alone else found


def view(
    source: ir.Value,
    layout: _tile.LayoutAttr,
    offset: Number = 0,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """Return the elements of `source`, a flat memref, from `offset` on as a tile with `layout`.

    `offset` counts elements; the shape of the result is that of `layout`. `loc` and `ip` are its
    location and insertion point.
    """
    source = memref_of("source", source)
    if not isinstance(layout, _tile.LayoutAttr):
        raise wrong_type("layout", "a LayoutAttr", layout)
    static, values = offsets_of("offset", [offset], source.context)
    place = Place.of(source.context, loc, ip)
    shape = [mode if isinstance(mode, int) else math.prod(mode) for mode in layout.shape]
    type_ = ir.MemRefType.get(
        shape, source.type.element_type, layout, source.type.memory_space, loc=place.loc
    )
    operands = [value.at(place) for value in values]
    return ViewOp(type_, source, operands, static, loc=place.loc, ip=place.ip).result


def slice(
    source: ir.Value,
    offsets: Sequence[Number],
    sizes: Sequence[int],
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """Return the region of `source` of `sizes` coordinates from `offsets` on, in each dimension.

    `source` has a `#tile.layout`, and so has the result. Raises `ValueError` for a region that
    leaves `source` or is not a layout. `loc` and `ip` are its location and insertion point.
    """
    source = memref_of("source", source)
    if not isinstance(source.type.layout, _tile.LayoutAttr):
        raise wrong_type("source", "a memref with a #tile.layout", source)
    shape = source.type.shape
    for argument, given in ("offsets", offsets), ("sizes", sizes):
        if not isinstance(given, Sequence) or len(given) != len(shape):
            raise wrong_type(argument, f"a sequence of {len(shape)}", given)
    static, values = offsets_of("offsets", offsets, source.context)
    constants = [None if isinstance(offset, ir.Value) else offset for offset in offsets]
    for dimension, (start, size, extent) in enumerate(zip(constants, sizes, shape, strict=True)):
        if not is_int(size):
            raise wrong_type("sizes", "ints", size)
        if size < 1 or (start or 0) + size > extent:
            raise ValueError(
                f"sizes must be at least 1 and stay inside of dimension {dimension} of {extent}, "
                f"got {size} from {'a run-time offset' if start is None else start} on"
            )
    type_ = _tile.slice_type(source.type, constants, list(sizes))
    place = Place.of(source.context, loc, ip)
    operands = [value.at(place) for value in values]
    return SliceOp(type_, source, operands, static, list(sizes), loc=place.loc, ip=place.ip).result


def offset(
    tile: ir.Value,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """Return the elements from the buffer's start to `tile`, before the swizzle, as an `index`.

    `tile` has a `#tile.layout`. `loc` and `ip` are its location and insertion point.
    """
    tile = memref_of("tile", tile)
    if not isinstance(tile.type.layout, _tile.LayoutAttr):
        raise wrong_type("tile", "a memref with a #tile.layout", tile)
    place = Place.of(tile.context, loc, ip)
    return OffsetOp(tile, loc=place.loc, ip=place.ip).result


def assume_multiple(
    value: ir.Value,
    divisor: int,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """Return `value`, an index or an integer, with the promise that `divisor` divides it.

    The analysis relies on the promise. `divisor` is at least 1. `loc` and `ip` are its
    location and insertion point.
    """
    value = value_of("value", "an index or an integer value", value)
    if not isinstance(value.type, ir.IndexType | ir.IntegerType):
        raise wrong_type("value", "an index or an integer value", value)
    if not is_int(divisor):
        raise wrong_type("divisor", "an int", divisor)
    if divisor < 1:
        raise ValueError(f"divisor must be at least 1, got {divisor}")
    place = Place.of(value.context, loc, ip)
    return AssumeMultipleOp(value, divisor, loc=place.loc, ip=place.ip).result
