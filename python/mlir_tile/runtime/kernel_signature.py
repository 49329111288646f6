# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels take, kept in the lowered module for those who launch them without host code.

Lowering takes the types of a `gpu.func` apart, and embedding its binary drops what was decided on
the way. So the host module carries a table, as its attribute `tile.kernels`:

    {MODULE = {KERNEL = {type = (memref<...>, ...) -> (), parameters = 14 : i64, front = 0 : i64,
                         block = array<i32: 128, 1, 1>}}}

`parameters` counts those of the lowered kernel, `front` the bytes of dynamic shared memory that its
own buffers take, and `block` is its `known_block_size`, if it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlir import ir

from mlir_tile.runtime.signature import Argument, MemRef, is_unranked, parse_argument

__all__ = ["KERNEL_TABLE", "KernelSignature", "kernel_signatures", "kernel_table"]

KERNEL_TABLE = "tile.kernels"
_FRONT = "tile.dynamic_shared_memory_front"
# As memory spaces of arguments, where device code finds global memory.
_GLOBAL_SPACES = ("", "0", "1", "#gpu.address_space<global>")


@dataclass(frozen=True)
class KernelSignature:
    """The arguments of a kernel; `unsupported` says why it cannot be launched from Python.

    `block` is the only block that it may be launched with, if that is known; `front_bytes` are
    added to the dynamic shared memory of each launch.
    """

    name: str
    arguments: tuple[Argument, ...]
    block: tuple[int, int, int] | None = None
    front_bytes: int = 0
    unsupported: str = ""


def kernel_table(before: ir.Operation, lowered: ir.Operation) -> ir.Attribute:
    """Return the table for a module, from it and its copy in which kernels are `llvm.func`s."""
    functions = {(module, kernel): op for module, kernel, op in _kernels(lowered, "llvm.func")}
    table: dict[str, dict[str, ir.Attribute]] = {}
    i64 = ir.IntegerType.get_signless(64, before.context)
    for module, kernel, op in _kernels(before, "gpu.func"):
        function = functions.get((module, kernel))
        if function is None:
            continue
        parameters = len(function.regions[0].blocks[0].arguments)
        entry = {
            "type": op.attributes["function_type"],
            "parameters": ir.IntegerAttr.get(i64, parameters),
            "front": function.attributes.get(_FRONT, ir.IntegerAttr.get(i64, 0)),
        }
        if "known_block_size" in op.attributes:
            entry["block"] = op.attributes["known_block_size"]
        table.setdefault(module, {})[kernel] = ir.DictAttr.get(entry, before.context)
    nested = {name: ir.DictAttr.get(kernels, before.context) for name, kernels in table.items()}
    return ir.DictAttr.get(nested, before.context)


def kernel_signatures(lowered: ir.Operation) -> dict[str, dict[str, KernelSignature]]:
    """Return the signatures of the kernels in the table of a lowered module, by `gpu.module`."""
    if KERNEL_TABLE not in lowered.attributes:
        return {}
    with lowered.context:
        return {
            module.name: {entry.name: _signature(entry) for entry in ir.DictAttr(module.attr)}
            for module in ir.DictAttr(lowered.attributes[KERNEL_TABLE])
        }


def _kernels(root: ir.Operation, kind: str) -> Iterator[tuple[str, str, ir.Operation]]:
    for outer in root.regions[0].blocks[0]:
        if outer.operation.name != "gpu.module":
            continue
        module = ir.StringAttr(outer.operation.attributes["sym_name"]).value
        for op in outer.operation.regions[0].blocks[0]:
            if op.operation.name == kind and "gpu.kernel" in op.operation.attributes:
                kernel = ir.StringAttr(op.operation.attributes["sym_name"]).value
                yield module, kernel, op.operation


def _signature(named: ir.NamedAttribute) -> KernelSignature:
    entry = ir.DictAttr(named.attr)
    block = tuple(ir.DenseI32ArrayAttr(entry["block"])) if "block" in entry else None
    front = ir.IntegerAttr(entry["front"]).value
    arguments: list[Argument] = []
    count = 0

    def unsupported(why: str) -> KernelSignature:
        return KernelSignature(named.name, (), unsupported=why)

    for number, given in enumerate(ir.FunctionType(ir.TypeAttr(entry["type"]).value).inputs):
        argument = parse_argument(given)
        if argument is None or is_unranked(argument) or not _is_global(given):
            return unsupported(f"argument {number} has type {given}")
        arguments.append(argument)
        count += 3 + 2 * len(argument.shape or ()) if isinstance(argument, MemRef) else 1
    if count != ir.IntegerAttr(entry["parameters"]).value:
        return unsupported("its arguments have layouts that lowering replaces")
    return KernelSignature(named.name, tuple(arguments), block, front)


def _is_global(given: Any) -> bool:
    if not isinstance(given, ir.MemRefType):
        return True
    space = given.memory_space
    return space is None or str(space).split(" : ")[0] in _GLOBAL_SPACES
