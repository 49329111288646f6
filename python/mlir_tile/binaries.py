# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a lowered module carries for the GPU: binaries, and the table of its kernels."""

from __future__ import annotations

from mlir import ir

KERNEL_TABLE = "tile.kernels"
"""The attribute with the types of the kernels, which `compiler.kernel_table` describes."""

SHARED_NAMES = "tile.shared_names"
"""The attribute with what the program calls the kernels' shared memory, described there too."""


def embedded_ptx(module: ir.Module | ir.OpView) -> dict[str, str]:
    """Return the PTX of each `gpu.binary` in `module`, by the name of its `gpu.module`."""
    found = _embedded(module, is_text=True)
    return {name: content.rstrip(b"\0").decode() for name, content in found.items()}


def embedded_binaries(module: ir.Module | ir.OpView) -> dict[str, bytes]:
    """Return the cubin or fat binary of each `gpu.binary`, by the name of its `gpu.module`."""
    return _embedded(module, is_text=False)


def _embedded(module: ir.Module | ir.OpView, is_text: bool) -> dict[str, bytes]:
    from mlir.dialects import gpu

    found = {}
    for op in module.operation.regions[0].blocks[0]:
        if op.operation.name == "gpu.binary":
            binary = gpu.ObjectAttr(op.operation.attributes["objects"][0])
            if (binary.format == gpu.CompilationTarget.Assembly) == is_text:
                name = ir.StringAttr(op.operation.attributes["sym_name"]).value
                found[name] = binary.object
    return found
