# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Examples of copies, without a fence or cluster barrier, become the hand-written ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt

EXAMPLES = [
    path
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))
    if "tile.copy_async" in path.read_text()
]

SYNCHRONISATION = re.compile(r"^ *nvvm\.(?:fence|cluster)\..*\n", re.MULTILINE)


def insert(text: str, runs: int) -> str:
    """Return the module as it leaves that many runs of the pass."""
    with mt.context(), ir.Location.unknown():
        module = mt.parse(text)
        for _ in range(runs):
            PassManager.parse("builtin.module(tile-insert-sync)").run(module.operation)
        return str(module)


def asking(text: str) -> str:
    """Give the kernel the attribute by which it asks for the pass."""
    asks = text.replace("kernel attributes {", "kernel attributes {tile.insert_sync, ")
    assert asks != text
    return asks


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_what_is_missing_is_added_where_a_hand_would_write_it(example: Path) -> None:
    text = example.read_text()
    bare, lines = SYNCHRONISATION.subn("", text)
    assert lines >= (5 if "nvvm.cluster" in text else 1)
    assert insert(asking(bare), runs=1) == insert(asking(text), runs=0)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_nothing_is_added_to_what_is_there(example: Path) -> None:
    text = asking(example.read_text())
    assert insert(text, runs=1) == insert(text, runs=0)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_each_line_alone_is_put_back(example: Path) -> None:
    text = example.read_text()
    for match in SYNCHRONISATION.finditer(text):
        bare = text[: match.start()] + text[match.end() :]
        if "nvvm.cluster" in match[0]:  # half a barrier: nobody can say which one was meant
            continue
        assert insert(asking(bare), runs=1) == insert(asking(text), runs=0), match[0]
