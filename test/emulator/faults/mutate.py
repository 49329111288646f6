# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of a PTX text: each synchronisation line is deleted or altered in turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"(?P<indent>\s*)(?P<guard>@!?%?\w+\s+)?(?P<body>[a-z][^;]*);\s*$")
_SYNCHRONISES = re.compile(
    r"mbarrier\.(?!pending_count)|barrier\.|bar\.|fence\.|membar\.|griddepcontrol\."
    r"|cp\.async\.(bulk\.)?(commit_group|wait_group|wait_all|mbarrier)"
)


@dataclass(frozen=True)
class Mutant:
    """One change of one line; `line` is its text, `nth` counts equal lines from 0."""

    line: str
    nth: int
    change: str
    text: str

    @property
    def name(self) -> str:
        """What tells this mutant from the others of its kernel."""
        place = f" (#{self.nth})" if self.nth else ""
        return f"{self.change}: {self.line}{place}"


def mutants(text: str) -> Iterator[Mutant]:
    """Yield the mutants of each synchronisation line of `text`, top down."""
    lines = text.split("\n")
    seen: Counter[str] = Counter()
    for i, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None or not _SYNCHRONISES.match(found["body"]):
            continue
        stripped = line.strip()
        nth = seen[stripped]
        seen[stripped] += 1
        indent, guard, body = found["indent"], found["guard"] or "", found["body"]

        def mutant(change: str, *new: str, length: int = 1) -> Mutant:
            changed = [*lines[:i], *(indent + part for part in new), *lines[i + length :]]  # noqa: B023
            return Mutant(stripped, nth, change, "\n".join(changed))  # noqa: B023

        if body.startswith(("mbarrier.try_wait", "mbarrier.test_wait")):
            predicate = body.split()[1].rstrip(",").partition("|")[0]
            yield mutant("do not wait", f"{guard}setp.eq.u32 {predicate}, 0, 0;")
        else:
            yield mutant("delete")
        if body.startswith("barrier.cluster.arrive"):
            after = lines[i + 1].strip() if i + 1 < len(lines) else ""
            if after.startswith("barrier.cluster.wait"):
                yield mutant("delete with its wait", length=2)
        if guard:
            yield mutant("execute in every thread", f"{body};")
        for change, altered in alterations(body):
            end = "" if altered.endswith("}") else ";"
            yield mutant(change, f"{guard}{altered}{end}")


def alterations(body: str) -> Iterator[tuple[str, str]]:
    """Yield what else may be wrong in one instruction: its order, its numbers, its barrier."""
    opcode, _, rest = body.partition(" ")
    operands = [part.strip() for part in rest.split(",")]
    pieces = opcode.split(".")

    def number(position: int, *steps: int, operation: str = "add.s32") -> Iterator[tuple[str, str]]:
        for step in steps:
            value = operands[position]
            scope = ""
            if value.isdigit():
                changed = str(int(value) + step if operation == "add.s32" else int(value) ^ step)
            else:
                changed = "%mutant"
                scope = f".reg .b32 %mutant; {operation} %mutant, {value}, {step}; "
            altered = [*operands[:position], changed, *operands[position + 1 :]]
            text = f"{opcode} {', '.join(altered)}"
            sign = f"{step:+d}" if operation == "add.s32" else f"^{step}"
            yield f"operand {position} {sign}", text if not scope else f"{{ {scope}{text}; }}"

    if pieces[0] == "mbarrier":
        if pieces[1] == "init":
            yield from number(1, 1, -1)
        if "expect_tx" in pieces:
            yield from number(len(operands) - 1, 16, -16)
        if "parity" in pieces:
            yield from number(2, 1, operation="xor.b32")
        for order in ("release", "acquire"):
            if order in pieces:
                yield "relaxed", body.replace(f".{order}.", ".relaxed.", 1)
                yield "default scope", re.sub(rf"\.{order}\.(cluster|gpu|sys)", "", body, count=1)
    elif body.startswith("barrier.cluster.arrive") and "relaxed" not in pieces:
        strong = body.replace(".release", "")
        yield "relaxed", strong.replace("arrive", "arrive.relaxed", 1)
    elif pieces[0] in ("bar", "barrier") and pieces[1] in ("sync", "arrive", "cta"):
        if len(operands) > 1:
            yield from number(0, 1)
            yield from number(1, 32, -32)
        else:
            yield "each warp alone", f"{body}, 32"
    elif "wait_group" in pieces:
        yield from number(0, 1)
    elif body.startswith("fence.proxy.async"):
        yield "of global memory", "fence.proxy.async.global"
