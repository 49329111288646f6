# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that stand on two pages are the same on both."""

from __future__ import annotations

import re

from source_tree import PROJECT

EXPLANATION = PROJECT / "docs" / "explanation"
SAME_TILE = {
    "contiguous": "contiguous",
    "64 chunks of 256 B": "64 x 256 B",
    "256 chunks of 64 B": "256 x 64 B",
    "1024 chunks of 16 B": "1024 x 16 B",
    "rows to columns": "f32 64 x 64, rows to columns",
}


def table(page: str, first_column: str, known: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the heads and the rows, by tile, of the table that has a column `known`."""
    text = (EXPLANATION / page).read_text()
    (block,) = (
        block
        for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
        if block.startswith(f"| {first_column} |") and known in block.splitlines()[0]
    )
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
    return lines[0], {cells[0]: cells[1:] for cells in lines[2:]}


def test_the_comparison_has_the_numbers_of_the_variants() -> None:
    heads, compared = table("comparison.md", "tile", "TVM")
    assert [head.removeprefix("here, ") for head in heads[3:]] == [
        "`issue(thread)`", "`issue(warp)`", "`issue(cta)`", "CUDA by hand",
    ]  # fmt: skip
    heads, measured = table("variants.md", "tile", "by hand")
    assert [heads[i] for i in (1, 2, 4, 5)] == [
        "`issue(thread)`", "`issue(warp)`", "`issue(cta)`, 256 threads", "by hand, 8 warps",
    ]  # fmt: skip
    assert set(compared) == set(SAME_TILE)
    for here, there in SAME_TILE.items():
        numbers = [measured[there][i].replace("declined", "refuses") for i in (0, 1, 3, 4)]
        assert compared[here][2:] == numbers, here
