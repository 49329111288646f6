# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The signatures of kernels, for launches without host code: read from the module's table."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeAlias

from mlir import ir

from mlir_tile.binaries import KERNEL_TABLE, SHARED_NAMES
from mlir_tile.runtime.signature import Argument, MemRef, is_unranked, parse_argument

__all__ = ["KernelSignature", "SharedNames", "kernel_signatures", "shared_names"]

SharedNames: TypeAlias = dict[str, list[dict[str, Any]]]
"""What shared memory is called, by kernel: the arguments of `tile_emulator.SharedName`."""


@dataclass(frozen=True)
class KernelSignature:
    """The arguments of a kernel; `unsupported` says why it cannot be launched from Python.

    `grid` and `block` are the only ones that it may be launched with, if that is known; `cluster`
    is the one that it has where the launch gives none, and `front_bytes` are added to the dynamic
    shared memory of each launch.
    """

    name: str
    arguments: tuple[Argument, ...]
    block: tuple[int, int, int] | None = None
    front_bytes: int = 0
    unsupported: str = ""
    cluster: tuple[int, ...] = (1, 1, 1)
    grid: tuple[int, int, int] | None = None


def kernel_signatures(lowered: ir.Operation) -> dict[str, dict[str, KernelSignature]]:
    """Return the signatures of the kernels in the table of a lowered module, by `gpu.module`."""
    if KERNEL_TABLE not in lowered.attributes:
        return {}
    with lowered.context:
        return {
            module.name: {entry.name: _signature(entry) for entry in ir.DictAttr(module.attr)}
            for module in ir.DictAttr(lowered.attributes[KERNEL_TABLE])
        }


def shared_names(lowered: ir.Operation) -> SharedNames:
    """Return what a lowered module calls the shared memory of its kernels."""
    if SHARED_NAMES not in lowered.attributes:
        return {}
    with lowered.context:
        return {
            kernel.name: [_shared_name(ir.DictAttr(entry)) for entry in ir.ArrayAttr(kernel.attr)]
            for kernel in ir.DictAttr(lowered.attributes[SHARED_NAMES])
        }


def _shared_name(entry: ir.DictAttr) -> dict[str, Any]:
    read: dict[str, Any] = {
        "name": ir.StringAttr(entry["name"]).value,
        "symbol": ir.StringAttr(entry["symbol"]).value,
        "offset": ir.IntegerAttr(entry["offset"]).value,
        "nbytes": ir.IntegerAttr(entry["bytes"]).value,
    }
    for key in ("extents", "steps"):
        if key in entry:
            read[key] = tuple(ir.DenseI64ArrayAttr(entry[key]))
    return read


def _signature(named: ir.NamedAttribute) -> KernelSignature:
    entry = ir.DictAttr(named.attr)
    block = tuple(ir.DenseI32ArrayAttr(entry["block"])) if "block" in entry else None
    grid = tuple(ir.DenseI32ArrayAttr(entry["grid"])) if "grid" in entry else None
    cluster = tuple(ir.DenseI32ArrayAttr(entry["cluster"])) if "cluster" in entry else (1, 1, 1)
    front = ir.IntegerAttr(entry["front"]).value
    arguments: list[Argument] = []
    count = 0

    def unsupported(why: str) -> KernelSignature:
        return KernelSignature(named.name, (), unsupported=why)

    for number, given in enumerate(ir.FunctionType(ir.TypeAttr(entry["type"]).value).inputs):
        argument = parse_argument(given)
        if argument is None or is_unranked(argument) or not _is_global(given):
            return unsupported(f"argument {number} has type {given}")
        if isinstance(argument, MemRef) and "promises" in entry:
            argument = _promised(argument, ir.DictAttr(ir.ArrayAttr(entry["promises"])[number]))
        arguments.append(argument)
        count += 3 + 2 * len(argument.shape or ()) if isinstance(argument, MemRef) else 1
    if count != ir.IntegerAttr(entry["parameters"]).value:
        return unsupported("its arguments have layouts that lowering replaces")
    return KernelSignature(named.name, tuple(arguments), block, front, cluster=cluster, grid=grid)


def _promised(memref: MemRef, promises: ir.DictAttr) -> MemRef:
    """Return the type with what the kernel promises of the argument."""
    alignment, multiples = 1, ()
    if "llvm.align" in promises:
        alignment = ir.IntegerAttr(promises["llvm.align"]).value
    if "tile.multiple_of" in promises:
        multiples = tuple(ir.DenseI64ArrayAttr(promises["tile.multiple_of"]))
    return dataclasses.replace(memref, alignment=alignment, multiples=multiples)


def _is_global(given: ir.Type) -> bool:
    """Whether an argument is no memref outside of global memory, as device code finds it."""
    space = given.memory_space if isinstance(given, ir.MemRefType) else None
    if isinstance(space, ir.IntegerAttr):
        return space.value in (0, 1)
    return space is None or space == ir.Attribute.parse("#gpu.address_space<global>")
