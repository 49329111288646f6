# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a type checker sees of the installed packages, an editable install's too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USER = """\
import mlir_tile as mt
import tile_emulator as te
from mlir_tile.dialects import tile

reveal_type(mt.load)
reveal_type(te.Device.launch)
reveal_type(tile.LayoutAttr.get)
reveal_type(tile.copy_async)
mt.lode
te.Devise
"""


def test_a_users_program_is_checked_against_ours(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(USER)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "user.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if line.startswith("user.py:")]
    lines = dict(line.removeprefix("user.py:").split(": ", 1) for line in said)
    assert lines["5"].endswith('-> mlir_tile.runtime.executable.Executable"')
    assert lines["6"].endswith('-> tile_emulator.machine.launch.Report"')
    assert lines["7"].endswith('-> mlir_tile._tile.LayoutAttr"')
    assert lines["8"].endswith('-> mlir_tile.dialects._tile_ops_gen.CopyAsyncOp"')
    assert lines["9"].startswith('error: Module has no attribute "lode"')
    assert lines["10"].startswith('error: Module has no attribute "Devise"')
