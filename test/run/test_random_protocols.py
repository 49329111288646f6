# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What tile-insert-sync adds is enough for protocols drawn at random, and what it adds is noticed
where it is taken away."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from mlir import ir
from mlir.passmanager import PassManager
from random_protocols import protocol

import mlir_tile as mt

pytest.importorskip("tile_emulator")

CASES = 25
SCHEDULES = ("eager", "late", "random:{seed}", "explore:4")

INSERTED = re.compile(
    r"^ *nvvm\.cluster\.arrive\n *nvvm\.cluster\.wait\n|^ *nvvm\.fence\..*\n", re.MULTILINE
)


def inserted(text: str) -> str:
    """Return the program as the pass leaves it, and no longer asking for it."""
    with mt.context(), ir.Location.unknown():
        module = mt.parse(text)
        PassManager.parse("builtin.module(tile-insert-sync)").run(module.operation)
        return re.sub(r", tile\.insert_sync|tile\.insert_sync, ", "", str(module))


def complaint(text: str, expected: np.ndarray, schedules: Iterator[str], checks: str) -> str:
    """Return who finds fault with a program: the static check, the emulator, or nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", mt.CompileWarning)
        try:
            with mt.context():
                program = mt.compile(mt.parse(text))
        except mt.CompileWarning as warning:
            return f"compiler: {warning}"
    for schedule in schedules:
        made = np.zeros_like(expected)
        try:
            program.invoke(
                "main", made, device="emulator", schedule=schedule, checks=checks, timeout=120
            )
        except mt.Error as error:
            return f"emulator, {schedule}: {error}"
        if not np.array_equal(made, expected):
            return f"result, {schedule}"
    return ""


def schedules(seed: int) -> Iterator[str]:
    return (schedule.format(seed=seed) for schedule in SCHEDULES)


def test_what_is_added_is_enough(pytestconfig: pytest.Config, record_property) -> None:
    cases = pytestconfig.getoption("--cases") or CASES
    kinds: Counter[str] = Counter()
    for seed in range(cases):
        drawn = protocol(seed)
        kinds.update(part for part in drawn.parts if not part.startswith("rank"))
        text = inserted(drawn.text)
        found = complaint(text, drawn.expected, schedules(seed), "default")
        assert not found, f"protocol {seed}, {drawn.parts}: {found}\n{text}"
    record_property("measured", f"{cases} protocols: {dict(sorted(kinds.items()))}")


def test_what_is_taken_away_is_noticed(pytestconfig: pytest.Config, record_property) -> None:
    """Each fence and each cluster barrier alone, unless the kernel is right without it.

    That is so where another one does for it: then all of that kind together are noticed.
    """
    cases = (pytestconfig.getoption("--cases") or CASES) // 5
    noticed: Counter[str] = Counter()
    for seed in range(cases):
        drawn = protocol(seed)
        text = inserted(drawn.text)
        by_kind: dict[str, list[re.Match[str]]] = {}
        for match in INSERTED.finditer(text):
            by_kind.setdefault(match[0].split()[0], []).append(match)
        for kind, matches in by_kind.items():
            alone = []
            for match in matches:
                bare = text[: match.start()] + text[match.end() :]
                found = complaint(bare, drawn.expected, iter(["eager"]), "strict")
                noticed[f"{kind} by {found.split(',')[0].split(':')[0] or 'nobody'}"] += 1
                alone.append(bool(found))
            if not any(alone):
                bare = text
                for match in reversed(matches):
                    bare = bare[: match.start()] + bare[match.end() :]
                found = complaint(bare, drawn.expected, iter(["eager"]), "strict")
                assert found, f"protocol {seed}, {drawn.parts}: {kind} is not missed\n{text}"
    record_property("measured", f"{cases} protocols: {dict(sorted(noticed.items()))}")
