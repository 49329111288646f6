# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools say on a terminal while they take long, and that they say nothing elsewhere."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from tile_tools import progress
progress.AFTER_SECONDS = {after}
with progress.shown("tile-run: compiling and running"):
    {work}
print("done", file=sys.stderr)
"""
SPIN = """.version 8.1
.target sm_90
.address_size 64
.entry k() { LOOP: bra LOOP; }
"""


def on_terminal(command: list[str], until: str = "") -> str:
    """Return what a command writes to a terminal on its stderr.

    Its stdin is closed when the pattern `until` was written.
    """
    own, other = pty.openpty()
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=other
    )
    assert child.stdin is not None
    os.close(other)
    said = ""
    while True:
        if re.search(until, said):
            child.stdin.close()
        try:
            part = os.read(own, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part.decode()
    child.wait(timeout=600)
    os.close(own)
    return said


def test_a_long_run_says_what_it_is_doing_and_clears_the_line() -> None:
    program = PROGRAM.format(after="progress.AFTER_SECONDS", work="sys.stdin.read()")
    said = on_terminal([sys.executable, "-c", program], until=r"\.\.\. \d+ s\r")
    shown = re.search(r"tile-run: compiling and running \.\.\. (\d+) s\r", said)
    assert shown and int(shown[1]) >= 2, repr(said)
    assert said.endswith("\x1b[Kdone\r\n"), repr(said)


def test_a_short_run_says_nothing() -> None:
    program = PROGRAM.format(after="3600.0", work="pass")
    assert on_terminal([sys.executable, "-c", program]) == "done\r\n"


@pytest.mark.parametrize("command", [["tile_tools.emulate"], ["tile_emulator"]])
def test_nothing_is_said_where_stderr_is_no_terminal(command: list[str], tmp_path: Path) -> None:
    file = tmp_path / "spin.ptx"
    file.write_text(SPIN)
    limits = ["--max-steps", str(10**18), "--max-seconds", "2.6"]
    done = subprocess.run(
        [sys.executable, "-m", *command, str(file), *limits],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: [") and "..." not in done.stderr


def test_an_error_stands_on_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "spin.ptx"
    file.write_text(SPIN)
    command = [sys.executable, "-m", "tile_tools.emulate", str(file), "--max-steps", str(10**18)]
    for seconds in ("3", "30", "300"):  # a busy machine takes its time to say anything
        said = on_terminal([*command, "--max-seconds", seconds])
        if "... " in said:
            break
    assert re.search(r"tile-emulate: running \.\.\. \d+ s\r", said), repr(said)
    assert "\x1b[Kerror: [" in said, repr(said)
