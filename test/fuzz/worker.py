# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run targets in a process of their own, which an assertion, a signal or a hang may end.

The child reads requests from standard input and answers on a pipe of its own, so that whatever a
target prints is what a user would see.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY_BYTES = 3 << 30
"""Address space of the child: what asks for more fails there instead of filling the machine."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: the exit status, what it printed on stderr, and its processor time."""

    status: int
    stderr: str
    seconds: float


class Died(AssertionError):
    """The child ended, or had to be ended, in the middle of a run."""


class Worker:
    """A child that is started when it is needed, and again after it has died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._answers: Any = None
        self._log: Any = None

    def run(self, target: str, data: bytes, seconds: float = 120.0) -> Outcome:
        """Run one input; raises `Died` with what the child said last.

        `seconds` is the time that the processor may spend on it, a thousand times what inputs take:
        it ends hangs, and no machine is so slow. Other work does not count.
        """
        child = self._started()
        request = json.dumps({"target": target, "data": base64.b64encode(data).decode()})
        began = processor_seconds(child.pid)
        assert child.stdin is not None
        try:
            child.stdin.write(request.encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            pass
        waiting = selectors.DefaultSelector()
        waiting.register(self._answers, selectors.EVENT_READ)
        deadline = time.monotonic() + 20 * seconds
        while not (ready := waiting.select(1.0)):
            spent = processor_seconds(child.pid) - began
            if spent > seconds or time.monotonic() > deadline:
                break
        line = self._answers.readline() if ready else None
        waiting.close()
        if line:
            spent = processor_seconds(child.pid) - began
            return Outcome(**json.loads(line), seconds=spent)
        if line is not None:
            child.wait()
        said = self.stop()
        how = f"took more than {seconds} s" if line is None else f"ended with {child.returncode}"
        raise Died(f"target {target} {how}: {said[-3000:]}")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None:
            return self._child
        answers, write_end = os.pipe()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the child)
        self._child = subprocess.Popen(
            [sys.executable, __file__, str(write_end)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
            pass_fds=[write_end],
        )
        os.close(write_end)
        self._answers = os.fdopen(answers, "rb")
        if self._answers.readline() != b"ready\n":
            raise Died(f"the worker does not start: {self.stop()}")
        return self._child

    def resident_kib(self) -> int:
        """Return the memory that the child has now."""
        status = Path(f"/proc/{self._started().pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index]

    def stop(self) -> str:
        """End the child and return what it printed."""
        if self._child is None:
            return ""
        self._child.kill()
        self._child.wait()
        self._log.seek(0)
        said: str = self._log.read().decode(errors="replace")
        self._answers.close()
        self._log.close()
        self._child = None
        return said


def processor_seconds(pid: int) -> float:
    """Return the time that the processor spent on a process and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def captured_stderr() -> Iterator[Callable[[], str]]:
    """Collect what Python and C++ write to stderr; what stays behind a crash is in the log."""
    sys.stderr.flush()
    os.lseek(2, 0, os.SEEK_SET)
    os.ftruncate(2, 0)
    text = ""

    def read() -> str:
        return text

    yield read
    sys.stderr.flush()
    text = Path("/proc/self/fd/2").read_text(errors="replace")


def serve(answers: int) -> None:
    """Answer requests until there are no more."""
    import targets

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(answers, "w") as reply:
        print("ready", file=reply, flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            run = targets.RUNS[request["target"]]
            with captured_stderr() as stderr:
                try:
                    status = run(base64.b64decode(request["data"]))
                except SystemExit as ended:
                    status = ended.code if isinstance(ended.code, int) else 1
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    status = -1
            print(json.dumps({"status": status, "stderr": stderr()}), file=reply, flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
