# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that the copies of a block share, so that each is built once.

Several copies often go from the same buffers to the same CTA. What upstream's passes would find to
be the same afterwards costs the time to build it, and that of every pass before.
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from mlir import ir

Made = TypeVar("Made")
Attributes: TypeAlias = dict[str, ir.Attribute]

_thread = threading.local()


@contextmanager
def shared_values() -> Iterator[None]:
    """Let what is `built_once` be shared, for as long as ops are only built and never moved.

    Within a block they have to be built from its start to its end.
    """
    _thread.made = {}
    try:
        yield
    finally:
        _thread.made = None


def built_once(build: Callable[..., Made]) -> Callable[..., Made]:
    """Return `build`, whose ops must have no side effects, called once a block for equal arguments.

    It is called every time outside of `shared_values`.
    """

    @functools.wraps(build)
    def find_or_build(*arguments: Any) -> Made:
        made: dict[Any, Made] | None = getattr(_thread, "made", None)
        if made is None:
            return build(*arguments)
        key = (build, arguments, ir.InsertionPoint.current.block)
        found = made.get(key)
        if found is None:
            found = made[key] = build(*arguments)
        return found

    return find_or_build


def made_once(make: Callable[..., Made]) -> Callable[..., Made]:
    """Return `make`, which builds no ops, called once for equal arguments in `shared_values`."""

    @functools.wraps(make)
    def find_or_make(*arguments: Any) -> Made:
        made: dict[Any, Made] | None = getattr(_thread, "made", None)
        if made is None:
            return make(*arguments)
        found = made.get((make, arguments))
        if found is None:
            found = made[make, arguments] = make(*arguments)
        return found

    return find_or_make


def build(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type] = (),
    attributes: Attributes | None = None,
) -> ir.Operation:
    """Build an op of which a kernel may hold thousands: upstream's builders take twice the time."""
    return ir.Operation.create(name, results, operands, attributes)


@built_once
def constant(type_: ir.Type, value: int) -> ir.Value:
    """Return a constant of an integer type or of `index`."""
    return build("arith.constant", [], [type_], {"value": ir.IntegerAttr.get(type_, value)}).result


def i32(value: int) -> ir.Value:
    """Return a constant of 32 bits."""
    return constant(ir.IntegerType.get_signless(32), value)


def index(value: int) -> ir.Value:
    """Return a constant index."""
    return constant(ir.IndexType.get(), value)
