# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of the tree's modules end in a program or an error: isolated and by the tool, always.

The same few every time; `mutants.py` draws as many as one likes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from mutants import MUTANTS, compile_mutants, modules, reason


@pytest.mark.parametrize(("name", "count"), [("text", 40), ("bytecode", 20)])
def test_no_mutant_ends_an_isolated_caller_or_shows_a_traceback(
    name: str, count: int, record_property: Callable[[str, object], None]
) -> None:
    result = compile_mutants(name, 1, range(count), tool_each=count // 2)
    assert not result.holes
    assert result.inputs == count and result.tools >= 2
    assert result.refused > 0, "nothing was refused: the mutants are too tame"
    ended = sum(result.ends.values())
    record_property("measured", f"{count} mutants, {result.accepted} accepted, {ended} crashed")


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_the_same_by_seed_and_number(name: str) -> None:
    draw = MUTANTS[name]
    assert draw(3, 4) == draw(3, 4)
    assert len({draw(seed, number) for seed in range(2) for number in range(5)}) > 5


def test_most_mutants_differ_from_their_module() -> None:
    known = {text.encode() for text in modules()}
    assert sum(MUTANTS["text"](0, number) not in known for number in range(50)) > 40


def test_crashes_of_one_kind_have_one_name() -> None:
    said = "warning\ncrash: cse: python: /a/b/X.cpp:12: f(): Assertion `a == 3' failed.\n"
    assert reason(said) == "cse: X.cpp:12: Assertion `a == 3' failed."
    assert reason(said.replace("cse", "")) == "no pass: X.cpp:12: Assertion `a == 3' failed."
    error = "crash: cse: LLVM ERROR: cannot select: t{}: i32 = load 0x7f{}\n"
    assert reason(error.format(1, 2)) == reason(error.format(33, 4))
