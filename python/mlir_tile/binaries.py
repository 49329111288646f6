# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lowered module carries for the GPU: binaries, and the table of its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlir import ir

KERNEL_TABLE = "tile.kernels"
"""The attribute with the types of the kernels, which `compiler.kernel_table` describes."""

SHARED_NAMES = "tile.shared_names"
"""The attribute with what the program calls the kernels' shared memory, described there too."""


def embedded_ptx(module: ir.Module | ir.OpView) -> dict[str, str]:
    """Return the PTX of each `gpu.binary` in `module`, by the name of its `gpu.module`."""
    from mlir.dialects import gpu

    return {
        name: binary.object.rstrip(b"\0").decode()
        for name, binary in _embedded(module)
        if binary.format == gpu.CompilationTarget.Assembly
    }


def embedded_binaries(module: ir.Module | ir.OpView) -> dict[str, bytes]:
    """Return the cubin or fat binary of each `gpu.binary`, by the name of its `gpu.module`."""
    from mlir.dialects import gpu

    return {
        name: binary.object
        for name, binary in _embedded(module)
        if binary.format != gpu.CompilationTarget.Assembly
    }


def _embedded(module: ir.Module | ir.OpView) -> Iterator[tuple[str, Any]]:
    """Yield each `gpu.binary`'s name and its `gpu.ObjectAttr`."""
    from mlir.dialects import gpu

    for op in module.operation.regions[0].blocks[0]:
        if op.operation.name == "gpu.binary":
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            yield name, gpu.ObjectAttr(op.operation.attributes["objects"][0])
