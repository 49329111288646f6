# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the project, all under `Error`.

    Error
    ├── CompileError          the IR is wrong, or a stage could not lower it
    ├── CompilerCrash         MLIR or LLVM crashed in an isolated compilation
    ├── LoadError             a file is not a saved program, is damaged, or of another version
    ├── LaunchError           a host call was refused or failed on the device
    │   ├── KernelTimeout     a kernel did not end within `timeout=`
    │   └── EmulatorError     the kernel broke a rule that the emulator checks
    └── DeviceUnavailable     no driver, no GPU, or one older than sm_90

A program that compiles but looks wrong gets a `CompileWarning`; what the emulator reports of a
kernel that goes on is an `EmulatorWarning`. Both are Python's `UserWarning`.
A wrong argument is a `TypeError` or `ValueError` that names it, as everywhere in Python.
"""

from __future__ import annotations

import copyreg
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "CompileError",
    "CompileWarning",
    "CompilerCrash",
    "DeviceUnavailable",
    "Diagnostic",
    "EmulatorError",
    "EmulatorWarning",
    "Error",
    "KernelTimeout",
    "Launch",
    "LaunchError",
    "LoadError",
]


class Error(Exception):
    """Base of all exceptions of this package about programs and devices."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default an exception is unpickled from its text alone, which `__init__` does not take.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class Diagnostic(str):
    """A diagnostic or note of the compiler as a line of text, `place: severity: message`.

    `severity` is "error", "warning", "remark" or "note"; `file`, `line` and `column` are the place,
    empty and 0 where it is not in a file.
    """

    severity = "error"
    file = ""
    line = 0
    column = 0

    @classmethod
    def at(
        cls, file: str, line: int, column: int, message: str, severity: str = "error"
    ) -> Diagnostic:
        """Return the diagnostic for a place in a file."""
        made = cls(f"{file}:{line}:{column}: {severity}: {message}")
        made.severity, made.file, made.line, made.column = severity, file, line, column
        return made

    @classmethod
    def elsewhere(cls, place: str, message: str, severity: str = "error") -> Diagnostic:
        """Return the diagnostic for a `place` that is not a position in a file."""
        made = cls(f"{place}: {severity}: {message}")
        made.severity = severity
        return made


class CompileError(Error):
    """A stage rejected the program; `diagnostics` are its diagnostics and notes, in order.

    Each is a line of text with its place. Without a `message` they are the text of the error.
    """

    def __init__(self, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        message = message or "\n".join(diagnostics)
        super().__init__(message)
        self.diagnostics = list(diagnostics)


class CompilerCrash(Error):
    """An isolated compilation crashed or did not end: a bug to report.

    `text` is the last output of MLIR or LLVM, such as a failed assertion, or how the process ended;
    `pass_name` is the pass that was running, and `place` the `file:line:column` of the op that it
    worked on (each empty if unknown). `timed_out` is whether it was stopped after the timeout, and
    `input` is the text or bytecode that reproduces it.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        pass_name: str = "",
        place: str = "",
        timed_out: bool = False,
        input: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.text = text
        self.pass_name = pass_name
        self.place = place
        self.timed_out = timed_out
        self.input = input


class CompileWarning(UserWarning):
    """A warning of the compiler: `place: warning: ...`, and its notes, each on a line."""


class LoadError(Error):
    """A saved program cannot be loaded: another kind of file, damaged, or of another version."""


@dataclass(frozen=True)
class Launch:
    """A launch of `kernel` as the host program requested it.

    `grid` and `cluster` are in CTAs, `block` in threads; `shared_bytes` is the dynamic shared
    memory.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    shared_bytes: int


class LaunchError(Error):
    """A host call failed.

    `call` is the driver function that failed or would have, `name` and `text` are the driver's name
    and description of the error (empty where the runtime itself refused), and `launch` is the
    launch concerned, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        call: str = "",
        name: str = "",
        text: str = "",
        launch: Launch | None = None,
    ) -> None:
        super().__init__(message)
        self.call = call
        self.name = name
        self.text = text
        self.launch = launch


class FailureKind(enum.IntEnum):
    """How a host call ended: `TileRuntimeFailureKind` of the run-time library."""

    OK = 0
    LAUNCH_FAILED = 1
    KERNEL_TIMEOUT = 2
    DEVICE_UNAVAILABLE = 3
    CONTEXT_LOST = 4
    INTERRUPTED = 5


CUDA_ERROR_NO_DEVICE = 100
CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
_CUDA_ERROR_STREAM_CAPTURE = range(900, 909)


def exception_of(
    kind: int,
    code: int,
    message: str,
    *,
    call: str,
    name: str,
    text: str,
    launch: Launch | None,
    ptx_advice: Callable[[], str],
) -> BaseException:
    """Return the exception for a failure of the run-time library.

    `code` is the `CUresult` and `message` the whole failure in words; the others are the fields of
    `LaunchError`. `ptx_advice` returns the end of a sentence on PTX that is too new for the driver.
    """
    if kind == FailureKind.DEVICE_UNAVAILABLE:
        return DeviceUnavailable(f"{'no GPU: ' * (code == CUDA_ERROR_NO_DEVICE)}{message}")
    if kind == FailureKind.INTERRUPTED:
        return KeyboardInterrupt(message)
    failed = LaunchError
    if kind == FailureKind.KERNEL_TIMEOUT:
        failed = KernelTimeout
        message += '; run the same with device="emulator": it says what each thread waits for'
    elif code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        message += ptx_advice()
    elif code in _CUDA_ERROR_STREAM_CAPTURE:
        message += (
            ": this cannot be done while a stream is being captured; launch once, or call the "
            "kernel's load(), before the capture"
        )
    if kind == FailureKind.CONTEXT_LOST:
        message += '; start a new process, or use device="emulator"'
    return failed(message, call=call, name=name, text=text, launch=launch)


class KernelTimeout(LaunchError):
    """A kernel was still running after `timeout=` seconds.

    A kernel cannot be stopped: the CUDA context is lost, and the memory that the host call used is
    never released. The process can still exit normally.
    """


class EmulatorError(LaunchError):
    """The emulator stopped a program.

    `report` is the exception of `tile_emulator`, which has the PTX line, the CTA and the thread.
    `kind` is the kind of a kernel's fault ("deadlock", "in-flight", ...), "launch" for a launch
    that is refused, "memory" for a copy outside of allocated memory, or "ptx" for text that cannot
    be read.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        launch: Launch | None = None,
        report: Exception | None = None,
    ) -> None:
        super().__init__(message, call="emulator", launch=launch)
        self.kind = kind
        self.report = report


class EmulatorWarning(UserWarning):
    """A report of the emulator after which the kernel went on; `kind` is as in `EmulatorError`."""

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind

    __reduce__ = Error.__reduce__


class DeviceUnavailable(Error):
    """There is no device to run on; the text is the reason."""
