# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversion of what the builders of the tile dialect take to operands.

Every argument is checked before any op is made: a call that raises leaves the IR as it was.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from mlir import ir
from mlir._mlir_libs import _mlir
from mlir.dialects import arith

from .. import _tile
from ..validation import is_int, wrong_type
from ._tile_enum_gen import CacheHint, Issue, ReductionKind, Scope

_mlir.globals.register_traceback_file_exclusion(__file__)

PACKAGE = str(Path(__file__).parents[1])

Number: TypeAlias = int | ir.Value
"""A constant, or a value of type `index` or of an integer type, which is converted."""
Barrier: TypeAlias = ir.Value | tuple[ir.Value, Number]
"""A group of one mbarrier, or a group and which of its barriers is meant."""


@dataclass(frozen=True)
class Place:
    """Where a builder makes its ops."""

    loc: ir.Location | None
    ip: ir.InsertionPoint | None

    @classmethod
    def of(
        cls, context: ir.Context, loc: ir.Location | None, ip: ir.InsertionPoint | None
    ) -> Place:
        """Take the location given, else the current one if it is known, else the caller's line."""
        if loc is None and not _mlir.globals.loc_tracebacks_enabled():
            loc = known_location() or caller_location(context)
        return cls(loc, ip)

    def constant(self, type_: ir.Type, value: int) -> ir.Value:
        """Build a constant."""
        return arith.constant(type_, value, loc=self.loc, ip=self.ip)


def known_location() -> ir.Location | None:
    """Return the location that a `with` statement has set, if it says anything."""
    try:
        current = ir.Location.current
    except ValueError:
        return None
    if current is None or current == ir.Location.unknown(current.context):
        return None
    return current


def caller_location(context: ir.Context) -> ir.Location:
    """Return the line of the innermost frame that is neither in this package nor in contextlib."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        frame = frame.f_back
    if frame is None:
        return ir.Location.unknown(context)
    return ir.Location.file(
        frame.f_code.co_filename, frame.f_lineno, column_of(frame), context=context
    )


def column_of(frame: FrameType) -> int:
    """Return the column that `frame` executes, from 1; 1 where Python does not keep it."""
    if sys.version_info < (3, 11):
        return 1
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    return 1 if positions is None or positions[2] is None else positions[2] + 1


def value_of(argument: str, expected: str, given: object) -> ir.Value:
    """Return `given`, or the one result of the op `given`."""
    if isinstance(given, ir.OpView | ir.Operation) and len(given.results) == 1:
        return given.results[0]
    if not isinstance(given, ir.Value):
        raise wrong_type(argument, expected, given)
    return given


def memref_of(argument: str, given: object) -> ir.Value:
    """Return `given`, a memref."""
    value = value_of(argument, "a memref", given)
    if not isinstance(value.type, ir.MemRefType):
        raise wrong_type(argument, "a memref", value)
    return value


class Scalar:
    """A number for an operand of one type, checked when it is made and built by `at`."""

    def __init__(self, argument: str, type_: ir.Type, given: object, below: int | None = None):
        """Check `given`; a constant must be at least 0, and less than `below` where that is said.

        Raises `TypeError` and `ValueError` by the name of `argument`.
        """
        self.type = type_
        expected = "an int, an index or an integer value"
        self.given: Number
        if is_int(given):
            assert isinstance(given, int)
            if given < 0 or (below is not None and given >= below):
                limit = "at least 0" if below is None else f"in 0 to {below - 1}"
                raise ValueError(f"{argument} must be {limit}, got {given}")
            self.given = given
            return
        value = value_of(argument, expected, given)
        is_integer = isinstance(value.type, ir.IntegerType) and value.type.is_signless
        if not is_integer and not isinstance(value.type, ir.IndexType):
            raise wrong_type(argument, expected, value)
        self.given = value

    def at(self, place: Place) -> ir.Value:
        """Return the operand, after building what converts it."""
        if isinstance(self.given, int):
            return place.constant(self.type, self.given)
        here, there = self.given.type, self.type
        if here == there:
            return self.given
        if isinstance(here, ir.IndexType) or isinstance(there, ir.IndexType):
            return arith.index_cast(there, self.given, loc=place.loc, ip=place.ip)
        convert = arith.trunci if here.width > there.width else arith.extui
        return convert(there, self.given, loc=place.loc, ip=place.ip)


def parity_of(given: object, context: ir.Context) -> Scalar:
    """Take the parity of a phase: a bool, or a number whose lowest bit it is."""
    i1 = ir.IntegerType.get_signless(1, context)
    if isinstance(given, int):
        return Scalar("parity", i1, given & 1)
    return Scalar("parity", i1, given)


class BarrierOperands:
    """A barrier of a group."""

    def __init__(self, given: object):
        """Check that `given` is a group of one barrier, or a group and a number inside of it."""
        expected = "a group of mbarriers, or (group, index)"
        group, index = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        self.group = value_of("barrier", expected, group)
        count = _tile.barrier_count(self.group.type)
        if count is None:
            raise wrong_type("barrier", expected, self.group)
        if index is None and count != 1:
            raise TypeError(f"barrier must be (group, index), got a group of {count} alone")
        context = self.group.context
        self.index = Scalar(
            "barrier index",
            ir.IndexType.get(context),
            0 if index is None else index,
            count,
        )


def issue_of(given: object) -> Issue | ir.Attribute:
    """Take who executes a copy: the enum, its text or its attribute."""
    return _enum_of("issue", Issue, given)


def scope_of(given: object) -> Scope | ir.Attribute:
    """Take whose accesses are ordered: the enum, its text or its attribute."""
    return _enum_of("scope", Scope, given)


def reduction_of(given: object, argument: str = "reduce") -> ReductionKind | ir.Attribute:
    """Take what is made of two values: the enum, its text or its attribute."""
    return _enum_of(argument, ReductionKind, given)


def cache_hint_of(
    given: object, argument: str = "cache_hint"
) -> tuple[CacheHint | ir.Attribute | None, ir.Value | None]:
    """Take what the L2 cache is told: a name or its attribute, or the value of a policy."""
    if given is None:
        return None, None
    if isinstance(given, str | CacheHint | ir.Attribute):
        return _enum_of(argument, CacheHint, given), None
    policy = value_of(argument, "a name, an i64 value or None", given)
    if policy.type != ir.IntegerType.get_signless(64, policy.context):
        raise wrong_type(argument, "a name, an i64 value or None", policy)
    return None, policy


def _enum_of(argument: str, enum: type, given: object) -> object:
    if isinstance(given, enum | ir.Attribute):
        return given
    names = {str(member): member for member in enum}  # type: ignore[attr-defined]
    if not isinstance(given, str):
        raise wrong_type(argument, f"one of {', '.join(names)}", given)
    if given not in names:
        raise ValueError(f"{argument} must be one of {', '.join(names)}, got {given!r}")
    return names[given]


def offsets_of(
    argument: str, given: Sequence[object], context: ir.Context
) -> tuple[list[int], list[Scalar]]:
    """Part offsets into constants, with a mark for what is no constant, and the others."""
    dynamic = ir.ShapedType.get_dynamic_size()
    scalars = [Scalar(argument, ir.IndexType.get(context), offset) for offset in given]
    static = [dynamic if isinstance(s.given, ir.Value) else s.given for s in scalars]
    return static, [s for s in scalars if isinstance(s.given, ir.Value)]
