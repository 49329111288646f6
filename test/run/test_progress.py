# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools say on a terminal while they take long, and that they say nothing elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from tile_tools.progress import shown
with shown("tile-run: compiling and running"):
    time.sleep({seconds})
print("done", file=sys.stderr)
"""
SPIN = """.version 8.1
.target sm_90
.address_size 64
.entry k() { LOOP: bra LOOP; }
"""


def on_terminal(command: list[str]) -> str:
    """Return what a command writes to a terminal on its stderr."""
    own, other = pty.openpty()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    said = b""
    while True:
        try:
            part = os.read(own, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    child.wait(timeout=30)
    os.close(own)
    return said.decode()


def test_a_long_run_says_what_it_is_doing_and_clears_the_line() -> None:
    said = on_terminal([sys.executable, "-c", PROGRAM.format(seconds=3.2)])
    assert "tile-run: compiling and running ... 2 s\r" in said
    assert said.endswith("\x1b[Kdone\r\n"), repr(said)


def test_a_short_run_says_nothing() -> None:
    said = on_terminal([sys.executable, "-c", PROGRAM.format(seconds=0)])
    assert said == "done\r\n"


@pytest.mark.parametrize("command", [["tile_tools.emulate"], ["tile_emulator"]])
def test_nothing_is_said_where_stderr_is_no_terminal(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "spin.ptx"
    file.write_text(SPIN)
    done = subprocess.run(
        [sys.executable, "-m", *command, str(file), "--max-seconds", "2.6"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: [") and "..." not in done.stderr


def test_an_error_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "spin.ptx"
    file.write_text(SPIN)
    said = on_terminal(
        [sys.executable, "-m", "tile_tools.emulate", str(file), "--max-seconds", "3"]
    )
    assert "tile-emulate: running ... 2 s\r" in said
    assert "\x1b[Kerror: [" in said, repr(said)
