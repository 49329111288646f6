# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Crash reports of the tools: a crash of the compiler ends with `error: ...` and status 1.

The tool does all its work in a child, which is forked before anything large is imported. Its parent
waits, and ends as the child does. Whatever ends the parent ends the child; Ctrl-C and Ctrl-Z reach
both by themselves.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .startup import begin

if TYPE_CHECKING:
    from mlir import ir

CRASHES = (
    signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGKILL, signal.SIGSEGV,
    signal.SIGTRAP,
)  # fmt: skip
"""By SIGKILL the system ends what takes too much memory; others kill the parent, not the child."""

_PASS_BYTES, _WATCH_BYTES = 128, 512
"""As `mlir_tile._tile` has them, which is imported in the child only."""

_ENDED, _RUNNING = _WATCH_BYTES, _WATCH_BYTES + 1
"""Bytes of the record: `main` came to its end; the program was compiled."""

_record: mmap.mmap | None = None


def guarded(main: Callable[[], int], *, may_exit: bool = False) -> int:
    """Run a tool: return what `main` returns, or report that it crashed and return 1.

    `may_exit` says that it may end the process on purpose, as MLIR's command lines do.
    """
    global _record
    begin()
    record = mmap.mmap(-1, _WATCH_BYTES + 2)
    parent = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # The system would take in an ignored child.
    gc.freeze()  # A collection in the child would copy the memory of all objects.
    try:
        child = os.fork()
    except OSError:  # no room for another process
        return main()
    if child:
        _end_as(child, record, may_exit)
    _die_with(parent)
    _record = record
    try:
        return main()
    finally:
        record[_ENDED] = 1


def watch(context: ir.Context) -> None:
    """Keep for the report of a crash what the compiler does in `context`."""
    if _record is not None:
        from mlir_tile import _tile

        _tile.watch(context, memoryview(_record)[:_WATCH_BYTES])


def running() -> None:
    """From now on a crash is that of the user's program, or of generating its host code."""
    if _record is not None:
        _record[_RUNNING] = 1


def _die_with(parent: int) -> None:
    import ctypes  # takes a while, and is for the child only

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _end_as(child: int, record: mmap.mmap, may_exit: bool) -> None:
    """Wait for `child` and end as it does, or with an error where it crashed."""

    def stop(number: int, frame: object) -> None:
        os.kill(child, signal.SIGTSTP)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # Continued.
        os.kill(child, signal.SIGCONT)
        signal.signal(number, stop)

    if signal.getsignal(signal.SIGTSTP) is signal.SIG_DFL:
        signal.signal(signal.SIGTSTP, stop)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if -status in CRASHES:
        status = report_crash(signal.strsignal(-status) or "", record)
    elif status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    elif status and not record[_ENDED] and not may_exit:
        status = report_crash(f"it ended the process with status {status}", record)
    os._exit(status)


def report_crash(how: str, record: bytes | mmap.mmap = bytes(_WATCH_BYTES + 2)) -> int:
    """Say that the compiler or the program crashed, and where; return the exit status."""
    if record[_RUNNING]:
        what, advice = "crash in the program's host code, or in generating it", ""
    else:
        pass_name, place = (
            field.split(b"\0")[0].decode(errors="replace")
            for field in (record[:_PASS_BYTES], record[_PASS_BYTES:_WATCH_BYTES])
        )
        what = "internal error of the compiler"
        what += f" in pass '{pass_name}'" * bool(pass_name) + f" at {place}" * bool(place)
        advice = "; report it with the input"
    print(f"error: {what}: {how}{advice}", file=sys.stderr, flush=True)
    return 1
