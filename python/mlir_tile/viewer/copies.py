# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the analysis says about copies: its plan, its remarks, and where it declined one.

Runs `tile-analyze-layout` and reads what it left behind, the plan on the op and its diagnostics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from mlir import ir

from .._tile import LayoutAttr, element_bits
from ..compiler.parsing import parse
from ..diagnostics import compile_error, diagnostic_lines, place
from ..errors import CompileError, Diagnostic
from ..passes import to_binary
from ..scripted import run_passes
from . import notation

_NUMBERS = r"\(([-\d, ]*)\)"
_PARTING = re.compile(rf"they part at coordinate {_NUMBERS}")
_OVERLAP = re.compile(rf"got {_NUMBERS} and {_NUMBERS} at one place")
_LAYOUTS = re.compile(
    r"the source is (#tile\.layout<.+>) and the destination (#tile\.layout<.+>)(?:; they part|$)"
)


@dataclass(frozen=True)
class Copy:
    """One `tile.copy_async` after the analysis; `where` it stands in a file is empty without one.

    `plan` is None where it was declined. `src` and `dst` are the sides as they were traced, offsets
    known at run time only counted as 0; None where they are no layout, as without elements. `said`
    is the remark or the error, and its notes.
    """

    where: str
    issue: str
    src: notation.Spec | None
    dst: notation.Spec | None
    plan: Any
    said: list[str] = field(default_factory=list)

    @property
    def marks(self) -> list[tuple[int, ...]]:
        """Coordinates that the analysis named as the reason to decline the copy."""
        if self.plan is not None:
            return []
        found = [match for text in self.said for match in _PARTING.findall(text)]
        found += [each for text in self.said for pair in _OVERLAP.findall(text) for each in pair]
        coordinates = [tuple(int(n) for n in text.split(",") if n.strip()) for text in found]
        return list(dict.fromkeys(coordinates))


def analyzed(module: ir.Module) -> list[Copy]:
    """Analyze a copy of `module`; return its copies in the order in which they stand there.

    Raises `CompileError` where something else than the layouts of a copy is wrong.
    """
    made = module.operation.clone()
    with module.context as context:
        prepare(made)
        ops = copies_of(made)
        for op in ops:
            if "plan" in op.attributes:
                del op.attributes["plan"]
        said: list[ir.DiagnosticInfo] = []

        def keep(diagnostic: ir.Diagnostic) -> bool:
            said.append(ir.DiagnosticInfo(diagnostic))
            return True

        # Errors then arrive together with the remarks, one for each copy in their order.
        context.emit_error_diagnostics, before = True, context.emit_error_diagnostics
        handler = context.attach_diagnostic_handler(keep)
        try:
            run_passes(made, f"builtin.module({to_binary.plan(remarks=True)})")
        except ir.MLIRError:
            if len(said) != len(ops):
                raise CompileError(
                    diagnostics=[line for each in said for line in diagnostic_lines(each)]
                ) from None
        finally:
            handler.detach()
            context.emit_error_diagnostics = before
        return [joined(op, info) for op, info in zip(ops, said, strict=True)]


def prepare(module: ir.Operation) -> None:
    """Do to `module` what comes before the plans; raise `CompileError` where that fails."""
    try:
        run_passes(module, f"builtin.module({to_binary.PREPARE})")
    except ir.MLIRError as error:
        raise compile_error("a pass failed", error) from None


def copies_of(module: ir.Operation) -> list[ir.Operation]:
    """Return the copies of `module`, in the order in which they stand there."""
    found = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tile.copy_async":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    return found


def joined(op: ir.Operation, info: ir.DiagnosticInfo) -> Copy:
    """Put together what the analysis left on `op` and what it said of it."""
    lines = [line.removeprefix(f"{place(info.location)}: ") for line in diagnostic_lines(info)]
    lines = [re.sub(r"^\S+: (?=note: )", "", line) for line in lines]
    plan = op.attributes.get("plan", None)
    traced = next((found for line in lines if (found := _LAYOUTS.search(line))), None)
    src, dst = (
        side(op.opview.src.type, traced and traced[1], plan and plan.src_start),
        side(op.opview.dst.type, traced and traced[2], plan and plan.dst_start),
    )
    issue = op.attributes["issue"].value if "issue" in op.attributes else "thread"
    return Copy(place(op.location), issue, src, dst, plan, lines)


def side(type_: ir.MemRefType, traced: str | None, start: int | None) -> notation.Spec | None:
    """Return one side as it was traced, or as its type says; `start` is the plan's, in bytes."""
    try:
        layout = ir.Attribute.parse(traced) if traced else notation.of_memref("", type_).layout
    except notation.NotationError:
        return None
    if layout.offset is None:
        offset = (start or 0) * 8 // element_bits(type_.element_type)
        layout = LayoutAttr.get(layout.shape, layout.stride, offset, layout.swizzle)
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
            Diagnostic(re.sub(r"^\S*?:\d+:\d+: ", "", line)) for line in str(error).splitlines()
        ]
        raise CompileError(diagnostics=lines) from None
    return replace(copy, where="")
