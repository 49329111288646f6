# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of kernels, kept in the lowered module for launches without host code.

Lowering splits the arguments of a `gpu.func`, and embedding its binary drops its attributes. So the
host module carries a table, as its attribute `tile.kernels`:

    {MODULE = {KERNEL = {type = (memref<...>, ...) -> (), parameters = 14 : i64, front = 0 : i64,
                         grid = array<i32: 8, 1, 1>, block = array<i32: 128, 1, 1>,
                         cluster = array<i32: 2, 1, 1>, promises = [{llvm.align = 16 : i64}]}}}

`promises` has the attributes of each argument, if one has any; `parameters` counts those of the
lowered kernel, `front` the bytes of dynamic shared memory that its own buffers take; `grid`,
`block` and `cluster` are its `known_grid_size`, `known_block_size` and `known_cluster_size`, if it
has them.

What the program calls the shared memory of a kernel, which `tile-place-shared-memory` leaves on it,
is kept for the emulator's reports, as the attribute `tile.shared_names`:

    {KERNEL = [{name = "%full", symbol = "__mbarrier", offset = 0 : i64, bytes = 16 : i64,
                extents = array<i64: 2>, steps = array<i64: 8>}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from ..binaries import SHARED_NAMES

_FRONT = "tile.dynamic_shared_memory_front"


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
        if "arg_attrs" in op.attributes:
            entry["promises"] = op.attributes["arg_attrs"]
        for key in ("grid", "block", "cluster"):
            if (size := f"known_{key}_size") in op.attributes:
                entry[key] = op.attributes[size]
        table.setdefault(module, {})[kernel] = ir.DictAttr.get(entry, before.context)
    nested = {name: ir.DictAttr.get(kernels, before.context) for name, kernels in table.items()}
    return ir.DictAttr.get(nested, before.context)


def shared_names(lowered: ir.Operation) -> ir.Attribute:
    """Return the names in a module whose kernels are `llvm.func`s.

    Kernels of one name in two `gpu.module`s have none: a launch on the emulator says the name only.
    """
    found: dict[str, list[ir.Attribute]] = {}
    for _, kernel, op in _kernels(lowered, "llvm.func"):
        empty = ir.ArrayAttr.get([], lowered.context)
        found.setdefault(kernel, []).append(op.attributes.get(SHARED_NAMES, empty))
    named = {kernel: each[0] for kernel, each in found.items() if len(each) == 1 and len(each[0])}
    return ir.DictAttr.get(named, lowered.context)


def _kernels(root: ir.Operation, kind: str) -> Iterator[tuple[str, str, ir.Operation]]:
    for outer in root.regions[0].blocks[0]:
        if outer.operation.name != "gpu.module":
            continue
        module = ir.StringAttr(outer.operation.attributes["sym_name"]).value
        for op in outer.operation.regions[0].blocks[0]:
            if op.operation.name == kind and "gpu.kernel" in op.operation.attributes:
                kernel = ir.StringAttr(op.operation.attributes["sym_name"]).value
                yield module, kernel, op.operation
