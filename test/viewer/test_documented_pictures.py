# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures in the documentation are what `tile-layout` draws.

To draw them anew, run the commands that stand beside them in docs/, from the top of the tree.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tile_tools.layout import main

PROJECT = Path(__file__).parents[2]
IMAGES = PROJECT / "docs" / "images"
COMMAND = re.compile(r"^tile-layout (.*) --svg (docs/images/\S+\.svg)$", re.MULTILINE)
LARGEST_BYTES = 64 * 1024


def commands() -> dict[str, str]:
    """Return the arguments that draw each picture, by its path."""
    found = {}
    for page in sorted((PROJECT / "docs").rglob("*.md")):
        for arguments, path in COMMAND.findall(page.read_text()):
            assert path not in found, f"{path} is drawn twice"
            found[path] = arguments
    return found


@pytest.mark.parametrize(("path", "arguments"), commands().items())
def test_a_picture_is_what_its_command_draws(path: str, arguments: str, tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    assert main([*shlex.split(arguments), "--svg", str(drawn)]) == 0
    assert drawn.read_text() == (PROJECT / path).read_text(), f"draw {path} anew"


def test_each_picture_has_a_command_and_is_small() -> None:
    pictures = {str(path.relative_to(PROJECT)) for path in IMAGES.iterdir()}
    assert pictures == set(commands())
    assert len(pictures) >= 4
    for path in IMAGES.iterdir():
        assert path.stat().st_size <= LARGEST_BYTES, path
