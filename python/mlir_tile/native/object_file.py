# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The object file of a lowered program: its host functions with the GPU binaries embedded.

Reads the host LLVM dialect module with its `gpu.binary` ops. The code is position independent, for
the baseline of this machine's architecture, and calls what `libtile_runtime.so` has.
"""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import llvm
from mlir import ir
from mlir.dialects.llvm import translate_module_to_llvmir

from mlir_tile.errors import CompileError

ENTRY_PREFIX = "_mlir_ciface_"
_TIMEOUT_SECONDS = 600


def object_of(lowered: ir.Operation, opt_level: int = 3) -> bytes:
    """Return a relocatable ELF file with the functions `_mlir_ciface_*` of `lowered`.

    All else in it is local, so that objects of several modules link into one program as long as
    their functions have different names, and a function called `main` is not the program's.
    Raises `CompileError` where there is no such function, or LLVM fails.
    """
    copy = lowered.clone()
    if not keep_entries(copy.operation):
        raise no_function()
    try:
        text = translate_module_to_llvmir(copy.operation)
    except RuntimeError as error:
        raise CompileError(f"the host code cannot be translated to LLVM IR: {error}") from None
    level = f"-O{opt_level}"
    # The triple brings the data layout, by which both tools must place what is in a struct.
    bitcode = _run("opt", [level, f"--mtriple={_host_triple()}", "-o", "-"], text.encode())
    return _run("llc", [level, "--relocation-model=pic", "--filetype=obj", "-o", "-"], bitcode)


def no_function() -> CompileError:
    """Return the error for a module without a host function to call."""
    return CompileError(
        "the module has no host function to call: give a func.func the attribute "
        "llvm.emit_c_interface"
    )


def keep_entries(module: ir.Operation) -> list[str]:
    """Make everything that `module` defines local but its C interface, and return those names."""
    entries = []
    with module.context:
        internal, external = (
            ir.Attribute.parse(f"#llvm.linkage<{linkage}>") for linkage in ("internal", "external")
        )
        for op in module.regions[0].blocks[0]:
            kind, attributes = op.operation.name, op.operation.attributes
            if kind not in ("llvm.func", "llvm.mlir.global"):
                continue
            name = ir.StringAttr(attributes["sym_name"]).value
            is_defined = kind == "llvm.mlir.global" or len(op.operation.regions[0].blocks) > 0
            if kind == "llvm.func" and name.startswith(ENTRY_PREFIX):
                if is_defined:
                    entries.append(name)
            elif is_defined and attributes["linkage"] == external:
                attributes["linkage"] = internal
    return entries


@functools.cache
def _host_triple() -> str:
    """Return what LLVM calls this machine."""
    # The wheel has no other way to ask.
    said = _run("llc", ["--version"], b"").decode(errors="replace")
    match = re.search(r"Default target: (\S+)", said)
    if not match:
        raise CompileError(f"llc names no default target: {said.strip()}")
    return match[1]


def _run(tool: str, options: list[str], given: bytes) -> bytes:
    """Run a tool of the LLVM wheel from its input to its output."""
    path = Path(next(iter(llvm.__path__))) / "bin" / tool
    try:
        done = subprocess.run(
            [path, *options],
            input=given,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"{path} does not run: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise CompileError(f"{tool} cannot compile the host code: {said}")
    return done.stdout
