# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run work that may end its process in a forked child; what it returns or raises is pickled.

A failed assertion, a signal, a call of `exit` or an endless loop in MLIR or LLVM is then a
`CompilerCrash`. The child has the rights and the memory of the caller: it is not a sandbox.

The child must create its own context. The caller's may have worker threads, which a fork does not
copy.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import os
import pickle
import resource
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

from .. import _tile
from ..errors import CompilerCrash, Error

Value = TypeVar("Value")

_DONE = _tile.WATCH_BYTES
"""Offset of the flag that the answer is complete, after what `_tile.watch` writes."""

_forking = threading.Lock()
"""Held while the warning filters, which all threads share, are replaced."""

_LONGEST_TEXT = 4000
_PR_SET_PDEATHSIG = 1


def isolated(
    work: Callable[[memoryview], Value],
    given: bytes,
    timeout: float | None = None,
    stacklevel: int = 1,
) -> Value:
    """Return what `work(record)` returns in a forked child, or raise what it raises there.

    `record` is what `_tile.watch` takes for the child's context. `given` is what the work is about,
    for the report of a crash. Warnings that the child issues are issued here, `stacklevel` being
    the caller's. Raises `CompilerCrash` where the child does not come to an end of its own within
    `timeout` seconds.
    """
    with (
        mmap.mmap(-1, _DONE + 1) as record,
        os.fdopen(os.memfd_create("answer"), "rb") as answer,
        os.fdopen(os.memfd_create("stderr"), "rb") as log,
    ):
        _flush()
        parent = os.getpid()
        with _forking, warnings.catch_warnings():
            # Python warns of other threads, which may hold locks: those of MLIR's are idle while
            # this one holds the interpreter's lock, and the C library releases its own.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            _serve(parent, work, record, answer.fileno(), log.fileno())
        status = _wait(child, timeout)
        log.seek(0)
        said = log.read()
        if not record[_DONE]:
            raise _crash(record, said, status, timeout, given)
        with contextlib.suppress(OSError):
            os.write(2, said)
        answer.seek(0)
        value, error, trace, warned = pickle.loads(answer.read())
    for warning in warned:
        warnings.warn(warning, stacklevel=stacklevel + 1)
    if error is None:
        return value  # type: ignore[no-any-return]
    raise error from (None if isinstance(error, Error) else Error(f"raised in a child:\n{trace}"))


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Drop what the block prints on stderr, unless the isolated process ends in it."""
    before = os.lseek(2, 0, os.SEEK_END)
    try:
        yield
    finally:
        os.ftruncate(2, before)
        os.lseek(2, before, os.SEEK_SET)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()


def _serve(
    parent: int,
    work: Callable[[memoryview], object],
    record: mmap.mmap,
    answer: int,
    log: int,
) -> NoReturn:
    """Run as the child: work, answer, and end without the exit handlers of the caller."""
    try:
        # A context that the caller has dropped would wait for its threads when it is collected.
        gc.freeze()
        _leave(parent)
        os.dup2(log, 2)
        content = _answer(work, memoryview(record)[:_DONE])
        _flush()
        with os.fdopen(answer, "wb", closefd=False) as file:
            file.write(content)
        record[_DONE] = 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _leave(parent: int) -> None:
    """Reset the signal handlers of the caller, end when it ends, and leave no core file."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    # C code may have set these, as faulthandler does.
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT):
        signal.signal(number, signal.SIG_DFL)
    # Ctrl-C is for the caller, who ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # rather than the caller


def _answer(work: Callable[[memoryview], object], record: memoryview) -> bytes:
    """Return what `work` returns, raises and warns of, pickled."""
    value: object = None
    error: BaseException | None = None
    trace = ""
    with warnings.catch_warnings(record=True) as warned:
        try:
            value = work(record)
        except BaseException as raised:
            error, trace = raised, traceback.format_exc()
    messages = [warning.message for warning in warned]
    if error is not None:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = Error(f"{type(error).__name__}: {error}")
    return pickle.dumps((value, error, trace, messages))


def _wait(child: int, timeout: float | None) -> int | None:
    """Return how the child ended, as `os.waitpid` has it; None if it took too long."""
    try:
        if timeout is None:
            return os.waitpid(child, 0)[1]
        began = time.monotonic()
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            passed = time.monotonic() - began
            if passed > timeout:
                _kill(child)
                return None
            time.sleep(min(0.02, 0.0005 + passed / 20, timeout - passed))
    except ChildProcessError:
        return 0  # Other code that waits for all children was faster.
    except BaseException:
        _kill(child)
        raise


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _crash(
    record: mmap.mmap, said: bytes, status: int | None, timeout: float | None, given: bytes
) -> CompilerCrash:
    """Return the exception for a child that left no answer."""
    fields = record[: _tile.WATCH_PASS_BYTES], record[_tile.WATCH_PASS_BYTES : _DONE]
    pass_name, place = (field.split(b"\0")[0].decode(errors="replace") for field in fields)
    text = said[-_LONGEST_TEXT:].decode(errors="replace").strip()
    if status is None:
        what, text = "the compiler did not end", f"it was given {timeout} s"
    else:
        what, text = "internal error of the compiler", text or _ending(status)
    where = f" in pass '{pass_name}'" * bool(pass_name) + f" at {place}" * bool(place)
    return CompilerCrash(
        f"{what}{where}: {text}\nreport it with the input, which `input` of this exception holds",
        text=text,
        pass_name=pass_name,
        place=place,
        timed_out=status is None,
        input=given,
    )


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"{signal.strsignal(-code)} ({signal.Signals(-code).name})"
    return f"it ended the process with status {code}"
