# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages analyze to ptx: lower a module to the output of one of them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mlir import ir

from .. import validation
from ..binaries import KERNEL_TABLE, SHARED_NAMES
from ..diagnostics import compile_error, refusal
from ..passes import to_binary
from ..scripted import run_passes
from .dump import Dump
from .kernel_table import kernel_table, shared_names
from .target import DEFAULT_CHIP, DEFAULT_FEATURES, ptx_versions

if TYPE_CHECKING:
    from mlir.dialects import builtin

STAGES = ("analyze", "legalize", "nvvm", "ptx", "cubin", "fatbin")
FORMATS = {"ptx": "isa", "cubin": "bin", "fatbin": "fatbin"}
"""Upstream's names of the formats that the last stages embed."""


def lower(
    module: ir.Module | builtin.ModuleOp,
    to: str,
    *,
    chip: str = DEFAULT_CHIP,
    features: str = DEFAULT_FEATURES,
    opt_level: int = 3,
    line_info: bool = False,
    remarks: bool = False,
) -> builtin.ModuleOp:
    """Return a copy of `module`, lowered to the output of stage `to`; `module` is not changed.

    The copy is an op, not an `ir.Module`, because upstream's bindings cannot make one of it. For an
    `ExecutionEngine` use `ir.Module.parse(str(lowered))`.

    `to` is "analyze", "legalize", "nvvm", or one of those that end in host LLVM IR with something
    embedded: "ptx", "cubin" (what `ptxas` makes of it) or "fatbin" (both). `chip` is an LLVM
    processor, `features` a PTX version such as "+ptx81", and `opt_level` LLVM's, 0 to 3. With
    `line_info` the PTX has source lines; with `remarks` a diagnostic at each copy lists the
    variants that were considered.

    Where the environment variable MLIR_TILE_DUMP names a folder, what leaves each stage is written
    there, and the PTX.

    Raises `TypeError` and `ValueError` for wrong arguments, such as a target that does not exist,
    and `CompileError` if a stage rejects the program.
    """
    module = validation.module_of("module", module)
    if to not in STAGES:
        raise ValueError(f"to must be one of {', '.join(STAGES)}, got {to!r}")
    validation.flag("remarks", remarks)
    opt_level = checked(chip, features, opt_level, line_info)
    format = FORMATS.get(to, "isa")
    options = to_binary.Options(chip, features, format, opt_level, line_info, remarks)
    options.check()
    if to in FORMATS:
        _check_no_nested_kernels(module.operation)
    if to in ("cubin", "fatbin"):
        from . import toolkit

        found = toolkit.find_toolkit(("ptxas",) if to == "cubin" else ("ptxas", "fatbinary"))
        for version in ptx_versions(module.operation, features):
            found.check_ptx(version)
        options = dataclasses.replace(options, toolkit=str(found.folder))
    text = {
        "analyze": to_binary.analyze(remarks),
        "legalize": to_binary.legalize(remarks),
    }.get(to) or to_binary.nvvm(options)
    copy = module.operation.clone()
    dump = Dump()
    with module.context:
        pipelines = {
            "analyze": to_binary.analyze(False),
            "legalize": to_binary.legalize(False),
            "nvvm": to_binary.nvvm(options),
        }
        dump.stages(module.operation, pipelines)
        try:
            run_passes(copy, f"builtin.module({text})")
            if to in FORMATS:
                tables = {
                    KERNEL_TABLE: kernel_table(module.operation, copy),
                    SHARED_NAMES: shared_names(copy),
                }
                run_passes(copy, f"builtin.module({to_binary.embed(options)})")
                for name, table in tables.items():
                    copy.operation.attributes[name] = table
        except ir.MLIRError as error:
            raise compile_error(f"stage {to} failed", error) from None
        if to == "ptx":
            dump.ptx(copy)
    return copy


def _check_no_nested_kernels(module: ir.Operation) -> None:
    """Raise `CompileError` for a `gpu.module` that no pass would compile."""

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "gpu.module":
            return ir.WalkResult.ADVANCE
        if op.parent.operation == module:
            return ir.WalkResult.SKIP
        nested.append(op)
        return ir.WalkResult.INTERRUPT

    nested: list[ir.Operation] = []
    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in nested:
        raise refusal(
            op.location,
            f"'gpu.module' op {op.attributes['sym_name']} must be in the outermost module to be "
            f"compiled, got one in '{op.parent.operation.name}'",
            "move it there, with what launches its kernels",
        )


def checked(chip: object, features: object, opt_level: object, line_info: object) -> int:
    """Return the level; raise `TypeError` for options of a wrong type."""
    validation.text("chip", chip)
    validation.text("features", features)
    validation.flag("line_info", line_info)
    return validation.integer("opt_level", opt_level)
