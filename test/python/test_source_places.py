# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Places of Python code that `ir.loc_tracebacks()` gives reach diagnostics and the PTX."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from mlir import ir
from mlir.dialects import memref

import mlir_tile as mt
from mlir_tile import builders


def line_of(function: Callable[..., object], text: str) -> int:
    """Return the line of this file in which `function` has `text`."""
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if text in line)


def store(value: ir.Value, buffer: ir.Value) -> None:
    memref.store(value, buffer, [builders.index(0)])


def build(element: str, value: int) -> ir.Module:
    module = ir.Module.create()
    buffer = ir.MemRefType.get([4], ir.Type.parse(element))
    with builders.kernel(module, "k", [buffer], block=32, cluster=1) as kernel:
        store(builders.i32(value), kernel.arguments[0])
    return module


def test_line_info_names_the_innermost_function_of_the_caller() -> None:
    with mt.context(), ir.Location.unknown(), ir.loc_tracebacks():
        ptx = mt.compile(build("i32", 3), line_info=True).ptx["kernels"]
    assert f'.file\t1 "{__file__}"' in ptx and "builders.py" not in ptx
    lines = [line.split() for line in ptx.splitlines() if ".loc" in line]
    assert {line[1] for line in lines} == {"1"}
    assert [line[2] for line in lines] == [
        str(line_of(build, "with builders.kernel")),
        str(line_of(store, "memref.store")),
        str(line_of(build, "with builders.kernel")),
    ]


def test_a_kernel_has_its_callers_place_without_tracebacks() -> None:
    with mt.context() as context, ir.Location.unknown():
        module = ir.Module.create()
        with builders.kernel(module, "k", [], block=32, cluster=1) as kernel:
            pass
        line = line_of(
            test_a_kernel_has_its_callers_place_without_tracebacks, "with builders.kernel"
        )
        for op in (kernel.function, module.body.operations[0]):
            assert (op.location.filename, op.location.start_line) == (__file__, line)
        here = ir.Location.file("here.py", 1, 2, context)
        with here, builders.kernel(module, "other", [], block=32, cluster=1) as kernel:
            pass
        assert kernel.function.location == here


def test_an_error_has_its_place_and_those_of_the_calls() -> None:
    with mt.context(), ir.Location.unknown(), ir.loc_tracebacks():
        module = build("i32", 3)
        with ir.InsertionPoint(module.body.operations[0].bodyRegion.blocks[0]):
            ir.Operation.create("nvvm.barrier0")
        with pytest.raises(mt.CompileError) as caught:
            mt.lower(module, "ptx")
    error, *notes = caught.value.diagnostics
    here = test_an_error_has_its_place_and_those_of_the_calls
    assert error.startswith(f"{__file__}:{line_of(here, 'ir.Operation.create')}:")
    assert ": error: 'nvvm.barrier0' op must be in a function" in error
    calls = [note for note in notes if note.endswith(": note: called from")]
    assert len(calls) > 1
