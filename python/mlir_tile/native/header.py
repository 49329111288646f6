# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The header of an object file: its functions as C and C++ see them.

Reads the function types of the `func` dialect, before they are lowered. Each function is declared
twice: as compiled, and as a checked call inside a bracket of the run-time library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir

from mlir_tile.diagnostics import refusal
from mlir_tile.native.c_types import Passed, passed_as
from mlir_tile.native.object_file import ENTRY_PREFIX, no_function

PREAMBLE = """\
/* Declares the host functions of an object file made by tile-compile. Link that object and
   libtile_runtime.so; TileRuntime.h is that library's own header. */
#pragma once

#include "TileRuntime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef TILE_REFUSE_CALL
#define TILE_REFUSE_CALL
static inline int tile_refuse_call(TileRuntimeFailure *failure, const char *message) {
  if (failure) {
    memset(failure, 0, sizeof(*failure));
    failure->kind = TILE_RUNTIME_LAUNCH_FAILED;
    failure->call = failure->errorName = failure->errorText = failure->kernel = "";
    failure->message = message;
  }
  return TILE_RUNTIME_LAUNCH_FAILED;
}
#endif
"""

# What follows tile_ in TileRuntime.h, in the descriptors of memrefs, and above.
_RESERVED = r"runtime_|memref_|refuse_call$"


@dataclass(frozen=True)
class Function:
    """A host function: how each argument and the result are passed."""

    name: str
    type: str
    arguments: tuple[Passed, ...]
    result: Passed | None


def header_of(module: ir.Module) -> str:
    """Return the header for C and C++17 of what `object_of` makes of `module`.

    Raises `CompileError`, at the function, for a type that C cannot pass or a name that C cannot
    have, and where no function has the attribute `llvm.emit_c_interface`.
    """
    functions = list(_functions(module))
    if not functions:
        raise no_function()
    structs: dict[str, str] = {}
    for function in functions:
        for passed in (*function.arguments, *([function.result] if function.result else [])):
            structs.update(passed.structs)
    declared = "\n".join(_declaration(function) for function in functions)
    calls = "\n".join(_call(function) for function in functions)
    return "\n".join(
        [
            PREAMBLE,
            *structs.values(),
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            declared,
            "#ifdef __cplusplus\n}\n#endif\n",
            calls,
        ]
    )


def _functions(module: ir.Module) -> Iterator[Function]:
    for op in module.body.operations:
        if op.operation.name != "func.func" or "llvm.emit_c_interface" not in op.attributes:
            continue
        if not op.operation.regions[0].blocks:
            continue  # declared only, defined elsewhere
        name = ir.StringAttr(op.attributes["sym_name"]).value
        function_type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise refusal(op.location, f"@{name} must have a name that C can spell", "rename it")
        if re.match(_RESERVED, name):
            raise refusal(
                op.location, f"@{name} must leave tile_{name} to the library", "rename it"
            )
        arguments = tuple(
            _passed(op, type, f"argument {number} of @{name}")
            for number, type in enumerate(function_type.inputs)
        )
        results = [_passed(op, type, f"the result of @{name}") for type in function_type.results]
        if len(results) > 1:
            raise refusal(
                op.location,
                f"@{name} must have one result at most, got {len(results)}",
                "return through memref arguments",
            )
        text = f"@{name}{function_type}"
        yield Function(name, text, arguments, results[0] if results else None)


def _passed(op: ir.OpView, type: ir.Type, what: str) -> Passed:
    try:
        return passed_as(type)
    except ValueError as error:
        raise refusal(op.location, f"{what} {error}", "change the type in the function") from None


def _declaration(function: Function) -> str:
    """Return the declaration of the compiled function, as MLIR's C interface has it."""
    parameters = [f"{passed.compiled}arg{i}" for i, passed in enumerate(function.arguments)]
    result = "void"
    if function.result is not None:
        if function.result.is_memref:
            parameters.insert(0, f"{function.result.compiled}result")
        else:
            result = function.result.returned
    return (
        f"/** `{function.type}` as compiled: no check, and failures are kept for\n"
        f"    tile_runtime_end or tile_runtime_last_error. */\n"
        f"{result} {ENTRY_PREFIX}{function.name}({', '.join(parameters) or 'void'});\n"
    )


def _call(function: Function) -> str:
    """Return an inline function that checks, calls inside a bracket, and returns how it went."""
    result = function.result
    parameters = [f"{passed.type}arg{i}" for i, passed in enumerate(function.arguments)]
    names = [("&" if p.is_memref else "") + f"arg{i}" for i, p in enumerate(function.arguments)]
    lines = []
    for number, passed in enumerate(function.arguments):
        if condition := passed.condition(f"arg{number}"):
            message = f"argument {number} of '{function.name}' must be {passed.mlir}"
            literal = json.dumps(message)  # quotes what C would end the string at
            lines += [
                f"  if (!({condition}))",
                f"    return tile_refuse_call(failure, {literal});",
            ]
    called = f"{ENTRY_PREFIX}{function.name}({', '.join(names)})"
    if result is not None:
        parameters.append(f"{result.pointer}result")
        if result.is_memref:
            called = f"{ENTRY_PREFIX}{function.name}({', '.join(['result', *names])})"
        else:
            called = f"*result = {result.from_returned(called)}"
    parameters += ["const TileRuntimeOptions *options", "TileRuntimeFailure *failure"]
    notes = [
        f"    - arg{i}: `{passed.mlir}`{passed.note}" for i, passed in enumerate(function.arguments)
    ]
    if result is not None:
        notes.append(
            f"    - result: `{result.mlir}`{', its memory the caller frees' * result.is_memref}"
        )
    separator = ",\n    "
    return "\n".join(
        [
            f"/** Calls `{function.type}` and waits for what it started.",
            "",
            *notes,
            "    - options: device, stream, time limit; NULL for the current context, else GPU 0",
            "    - failure: what went wrong, if anything; its texts live until this thread calls",
            "      again; or NULL",
            "",
            "    Returns TILE_RUNTIME_OK (0), or another TileRuntimeFailureKind. */",
            # The prefix keeps it from `main` and from the words of C.
            f"static inline int tile_{function.name}(\n    {separator.join(parameters)}) {{",
            "  const TileRuntimeOptions defaults = {-1, 0, NULL, 0.0, NULL};",
            "  TileRuntimeFailure ignored;",
            *lines,
            "  tile_runtime_begin(NULL, options ? options : &defaults);",
            f"  {called};",
            "  return tile_runtime_end(failure ? failure : &ignored);",
            "}",
            "",
        ]
    )
