# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, as exceptions: the text, the launch, the run.

`Fault` is internal: a check raises it where it stands, and the machine turns it into an
`EmulationError` once it has added the instruction, the CTA and the thread.
"""

from __future__ import annotations

import copyreg
from typing import Any

KINDS = (
    "address",
    "arrivals",
    "deadlock",
    "divergence",
    "early-exit",
    "in-flight",
    "not-started",
    "proxy-fence",
    "race",
    "step-limit",
    "time-limit",
    "trap",
    "uninitialised-barrier",
    "uninitialised-read",
)


class Error(Exception):
    """The base of everything that this package raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions would be made anew from their text alone, which is not what `__init__` takes.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class PTXError(Error):
    """The PTX text cannot be read, or uses what the emulator does not know."""

    def __init__(self, message: str, line: int, column: int = 1) -> None:
        super().__init__(f"{message} at line {line}")
        self.line = line
        self.column = column


class LaunchError(Error):
    """The launch contradicts the kernel or the hardware's limits."""


class Fault(Exception):
    """A broken rule, before it is known where.

    `lane` is the lane of the running warp; a copy that lands later names `thread` and `at` itself.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        advice: str,
        lane: int | None = None,
        notes: tuple[str, ...] = (),
        thread: int | None = None,
        at: object | None = None,
    ) -> None:
        assert kind in KINDS, kind
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.advice = advice
        self.lane = lane
        self.notes = notes
        self.thread = thread
        self.at = at


class EmulationError(Error):
    """A kernel broke a rule of the machine; `str()` is the full report.

    `earlier` has the reports that were kept before it.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        advice: str,
        ptx_line: int | None = None,
        ptx_text: str = "",
        source: tuple[str, int] | None = None,
        cta: tuple[int, int, int] | None = None,
        thread: tuple[int, int, int] | None = None,
        kernel: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.message = message
        self.advice = advice
        self.earlier: tuple[EmulationError, ...] = ()
        self.ptx_line = ptx_line
        self.ptx_text = ptx_text
        self.source = source
        self.cta = cta
        self.thread = thread
        self.kernel = kernel
        self.notes = notes
        super().__init__(self._report())

    def _report(self) -> str:
        lines = [f"[{self.kind}] {self.message}"]
        if self.ptx_line is not None:
            lines.append(f"  at PTX line {self.ptx_line}: {self.ptx_text}")
        if self.source is not None:
            lines.append(f"  source: {self.source[0]}:{self.source[1]}")
        if self.cta is not None:
            where = f"  CTA {self.cta}"
            if self.thread is not None:
                where += f", thread {self.thread}"
            lines.append(f"{where} of kernel '{self.kernel}'")
        lines.extend(f"  note: {note}" for note in self.notes)
        lines.append(f"  advice: {self.advice}")
        return "\n".join(lines)
