# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the analysis says about copies: its plan, its remarks, and where it declined one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mlir import ir

from .. import _tile
from ..compiler.parsing import parse
from ..diagnostics import compile_error, place
from ..errors import CompileError, Diagnostic
from ..passes import to_binary
from ..scripted import run_passes
from . import notation


@dataclass(frozen=True)
class Copy:
    """One `tile.copy_async` after the analysis; `where` it is in a file, empty without one.

    `plan` is None where it was declined; `marks` are then the coordinates that show why. `src` and
    `dst` are the sides as they were traced, offsets known at run time only counted as 0; None where
    they are no layout, as without elements. `said` is the remark or the error, and its notes.
    """

    where: str
    issue: str
    src: notation.Spec | None
    dst: notation.Spec | None
    plan: Any
    said: list[str]
    marks: list[tuple[int, ...]]


def analyzed(module: ir.Module) -> list[Copy]:
    """Analyze a copy of `module`; return its copies in the order in which they are there.

    Raises `CompileError` where a pass before the analysis fails.
    """
    made = module.operation.clone()
    with module.context:
        prepare(made)
        return [answered(op) for op in copies_of(made)]


def prepare(module: ir.Operation) -> None:
    """Do to `module` what comes before the plans; raise `CompileError` where that fails."""
    try:
        run_passes(module, f"builtin.module({to_binary.PREPARE})")
    except ir.MLIRError as error:
        raise compile_error("a pass failed", error) from None


def copies_of(module: ir.Operation) -> list[ir.Operation]:
    """Return the copies of `module`, in the order in which they are there."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tile.copy_async":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def answered(op: ir.Operation) -> Copy:
    """Ask the analysis about one copy."""
    answer = _tile.plan_copy(op)
    message, is_planned = answer.message, answer.plan is not None
    heading = "remark: " if is_planned else f"error: '{op.name}' op "
    refusals = [] if is_planned else [refusal for _, refusal in answer.refusals]
    copy = op.opview
    return Copy(
        where=place(op.location),
        issue=copy.issue.value,
        src=side(copy.src.type, answer.src),
        dst=side(copy.dst.type, answer.dst),
        plan=answer.plan,
        said=[heading + message.text, *(f"note: {note}" for note in message.notes)],
        marks=list(dict.fromkeys(at for refusal in refusals for at in refusal.coordinates)),
    )


def side(type_: ir.MemRefType, traced: _tile.LayoutAttr | None) -> notation.Spec | None:
    """Return one side as it was traced, or as its type says."""
    if traced is not None:
        return notation.Spec(traced, type_.element_type)
    try:
        layout = notation.of_memref("", type_).layout
    except notation.NotationError:
        return None
    if layout.offset is None:
        layout = _tile.LayoutAttr.get(layout.shape, layout.stride, 0, layout.swizzle)
    return notation.Spec(layout, type_.element_type)


def between(
    src: notation.Spec, dst: notation.Spec, issue: str, variant: str | None, threads: int
) -> Copy:
    """Analyze a copy between two buffers of a kernel with blocks of `threads` threads.

    Raises `CompileError` with what the verifier says, such as that the shapes differ.
    """
    forced = f' {{variant = "{variant}"}}' if variant else ""
    bars = "!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>"
    text = f"""
      gpu.module @kernels {{
        gpu.func @copy(%rank: i32, %bars: {bars}, %i: index)
            workgroup(%src: {src.memref}, %dst: {dst.memref}) kernel
            attributes {{known_block_size = array<i32: {threads}, 1, 1>}} {{
          tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue({issue}){forced}
              : {src.memref} to {dst.memref}, {bars}
          gpu.return
        }}
      }}"""
    try:
        (copy,) = analyzed(parse(text))
    except CompileError as error:
        # The places are those of a text that nobody wrote.
        lines = [
            Diagnostic(line.removeprefix(f"{line.file}:{line.line}:{line.column}: "))
            for line in error.diagnostics
        ]
        raise CompileError(diagnostics=lines) from None
    return replace(copy, where="")
