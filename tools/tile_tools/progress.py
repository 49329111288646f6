# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line on the terminal that says what a tool is doing, once that takes longer than two seconds.

A separate process writes it, as MLIR's passes hold the interpreter's lock and no other thread would
run. It ends when the pipe closes, however the tool ends.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

AFTER_SECONDS = 2.0
"""How long a tool may take without a word."""

_WRITER = """
import select, sys, time
what, wait, began, shown = sys.argv[1], float(sys.argv[2]), time.monotonic(), False
while not select.select([sys.stdin], [], [], wait)[0]:
    sys.stderr.write(f"\\x1b[K{what} ... {time.monotonic() - began:.0f} s\\r")
    sys.stderr.flush()
    shown, wait = True, 0.5
if shown:
    sys.stderr.write("\\x1b[K")
"""


@contextlib.contextmanager
def shown(what: str) -> Iterator[None]:
    """Say `what` and the seconds it takes while the block runs, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    command = [sys.executable, "-S", "-c", _WRITER, what, str(AFTER_SECONDS)]
    # In a session of its own, so that Ctrl-C is ours alone.
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        writer.communicate()
