# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a kernel and its tensors to a launch: compiled once for what it depends on."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias

from mlir import ir

import mlir_tile as mt
from mlir_tile import builders

from . import tensors
from .plans import VECTOR_BYTES, Plan, Sizes, chosen_sizes, plan_for, sizes_for
from .rows import Row
from .tensors import Rows

Argument: TypeAlias = Rows | float | int | None
"""What a kernel takes besides `x`; None is an argument that is left out."""
Signature: TypeAlias = tuple[tuple[str, int] | None, ...]
"""Element type and rank of each of these; rank 0 is a number."""


@dataclass(frozen=True)
class RowKernel:
    """A kernel on the rows of `x`: `build(row, *arguments, *workgroup)` builds its body.

    With `is_read_again`, it needs the elements a second time once it knows something of the row.
    `workgroup` tells its buffers in shared memory: extents and an element type each;
    `sizes` what is fast for a number of rows and the vectors of each.
    """

    name: str
    build: Callable[..., None]
    is_read_again: bool = True
    workgroup: Callable[[Plan], tuple[tuple[Any, ...], ...]] = lambda plan: ()
    sizes: Callable[[int, int], Sizes] = sizes_for


_EMULATION: ContextVar[tuple[tuple[str, Any], ...]] = ContextVar("emulation", default=())


@contextlib.contextmanager
def emulation(**options: Any) -> Iterator[None]:
    """Run kernels on arrays in host memory with these options of the emulator.

    They are `schedule`, `checks`, `timeout` and `keep_going` of `mlir_tile`'s `Executable.kernel`.
    """
    token = _EMULATION.set(tuple(sorted(options.items())))
    try:
        yield
    finally:
        _EMULATION.reset(token)


def on_rows(
    name: str, build: Callable[..., None], sizes: Callable[[int, int], Sizes] = sizes_for
) -> Callable[..., None]:
    """Return what runs a kernel on the rows of `x` and of the result, which comes last.

    What is between them are numbers, and tensors that are the same for all rows.
    """
    kernel = RowKernel(name, build, sizes=sizes)

    def run(x: Any, *others: Any) -> None:
        *given, out = others
        result = tensors.in_place(out)
        written = tensors.rows_of(result, x.shape[-1])
        launch(kernel, tensors.rows_of(tensors.in_place(x), x.shape[-1]), [written, *given])
        tensors.write_back(written, result)

    return run


def launch(kernel: RowKernel, x: Rows, others: Sequence[Any]) -> None:
    """Run a kernel on rows that are not empty, with its other arguments.

    How tensors are laid out decides what is launched, and is looked up where it was seen before.
    """
    given: list[Argument] = [
        tensors.vector_of(tensors.in_place(other)) if hasattr(other, "shape") else other
        for other in others
    ]
    options = () if tensors.is_torch(x.tensor) else (("device", "emulator"), *_EMULATION.get())
    layouts = tuple(map(_layout, given))
    key = (kernel, x.tensor.shape, _layout(x), layouts, options, chosen_sizes())
    bound = _BOUND.get(key)
    if bound is None:
        if len(_BOUND) >= MAX_BOUND:
            _BOUND.clear()
        bound = _BOUND[key] = _bind(kernel, x, given, options)
    bound(x.tensor, *[o.tensor if isinstance(o, Rows) else o for o in given if o is not None])


MAX_BOUND = 1024
_BOUND: dict[Any, Any] = {}
"""Launches by the layouts of their tensors."""


def _layout(given: Argument) -> Any:
    """Return what of an argument decides about the kernel."""
    if isinstance(given, Rows):
        return given.element, given.tensor.ndim, given.step, given.pointer % VECTOR_BYTES
    return type(given)


def _bind(kernel: RowKernel, x: Rows, given: list[Argument], options: tuple[Any, ...]) -> Any:
    """Return the launch of a kernel for these arguments, compiled if it is not yet.

    A tensor's vectors are as aligned as its place allows.
    """
    plan = plan_for(x, kernel.sizes, is_read_again=kernel.is_read_again)
    alignments = tuple(
        tensors.common_alignment(x, other, plan.lanes) if isinstance(other, Rows) else 1
        for other in given
    )
    compiled = _compile(kernel, plan, alignments, tuple(map(_signature, given)), options)
    return compiled[x.tensor.shape[0] * plan.cluster]


def _signature(given: Argument) -> tuple[str, int] | None:
    if isinstance(given, Rows):
        return given.element, given.tensor.ndim
    if given is None:
        return None
    return ("i64" if isinstance(given, int) else "f32"), 0


@functools.lru_cache(maxsize=1024)
def _compile(
    kernel: RowKernel,
    plan: Plan,
    alignments: tuple[int, ...],
    signature: Signature,
    options: tuple[tuple[str, Any], ...],
) -> Any:
    with mt.context(), ir.Location.unknown():
        module = ir.Module.create()
        own = kernel.workgroup(plan)
        held = ((plan.shared, plan.block, plan.lanes, plan.element),) if plan.shared else ()
        present = [argument for argument in signature if argument is not None]
        with builders.kernel(
            module,
            kernel.name,
            [_type(*argument) for argument in ((plan.element, 2), *present)],
            block=plan.block,
            cluster=plan.cluster,
            ctas_per_sm=plan.ctas_per_sm,
            workgroup=[
                builders.workgroup_memref(shape, ir.Type.parse(element))
                for *shape, element in own + held
            ],
        ) as built:
            x, *values = built.arguments
            others = [None if argument is None else values.pop(0) for argument in signature]
            shared = built.workgroup[-1] if held else None
            row = Row(plan, x, dict(zip(others, alignments, strict=True)), shared)
            kernel.build(row, *others, *built.workgroup[: len(own)])
        executable = mt.compile(module)
    return executable.kernel("kernels", kernel.name, **dict(options))


def _type(element: str, rank: int) -> ir.Type:
    scalar = ir.Type.parse(element)
    if rank == 0:
        return scalar
    size = ir.ShapedType.get_dynamic_size()
    step = ir.ShapedType.get_dynamic_stride_or_offset()
    if rank == 1:
        return ir.MemRefType.get([size], scalar)
    return ir.MemRefType.get([size] * rank, scalar, ir.StridedLayoutAttr.get(0, [step, 1]))
