# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every MLIR block of the descriptions of ops, attributes and passes is accepted by the tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mlir import ir

import mlir_tile as mt
from mlir_tile.dialects import tile

PROJECT = Path(__file__).parents[2]
BLOCK = re.compile(r"^[ \t]*```mlir[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Return (where, text) of each block in the ODS files of the source tree."""
    found = []
    for path in [*PROJECT.glob("dialect/*.td"), *PROJECT.glob("lib/Transforms/*.td")]:
        for number, text in enumerate(BLOCK.findall(path.read_text())):
            found.append((f"{path.name}-{number}", text))
    return found


@pytest.mark.parametrize("text", [pytest.param(text, id=where) for where, text in blocks()])
def test_each_block_is_accepted(text: str) -> None:
    with mt.context():
        if text.lstrip().startswith("#"):
            ir.Attribute.parse(text.strip())
        else:
            ir.Module.parse(text)


def test_each_op_has_a_block_that_can_be_legalized() -> None:
    with mt.context():
        for name in tile.__all__:
            if name.endswith("Op"):
                (text,) = BLOCK.findall(getattr(tile, name).__doc__)
                assert "tile." not in str(mt.lower(mt.parse(text), "legalize")).replace(
                    "tile.alignment", ""
                )


def test_there_are_blocks() -> None:
    assert len(blocks()) >= 2


def test_the_transform_script_of_the_docs_is_the_one_that_is_tested() -> None:
    (script,) = BLOCK.findall((PROJECT / "docs" / "how-to" / "extending.md").read_text())
    assert (PROJECT / "test/legalize/Inputs/transform_script.mlir").read_text().endswith(script)
