# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The start of a tool: end on Ctrl-C, open closed streams, and import no more than it needs."""

import os
import signal
import sys
import warnings


def begin() -> None:
    """Set up this process as a tool."""
    end_on_interrupt()
    open_closed_streams()
    warnings.formatwarning = format_warning


def format_warning(message: Warning | str, *where: object, **line: object) -> str:
    """Return a warning as tools print it: without the Python line that raised it."""
    # The compiler's warnings already read `place: warning: ...`.
    errors = sys.modules.get("mlir_tile.errors")
    is_compilers = errors is not None and isinstance(message, errors.CompileWarning)
    return f"{message}\n" if is_compilers else f"warning: {message}\n"


def end_on_interrupt() -> None:
    """Let SIGINT end the process at once, unless whoever started it had it ignored.

    Python's handler raises an exception only when the compiler or a kernel returns.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def open_closed_streams() -> None:
    """Open all three standard streams; using one that was closed is then a plain `OSError`.

    Python has None in place of such a stream, and the next file to be opened takes its number.
    stderr alone is written to nowhere, as there is no place for its errors.
    """
    # In this order: the lowest number that is free is the next.
    if sys.stdin is None:
        sys.stdin = os.fdopen(_reserved(0, os.O_WRONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(_reserved(1, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(_reserved(2, os.O_WRONLY), "w")


def _reserved(number: int, flags: int) -> int:
    """Return `number`, as the descriptor of the null device that does `flags` alone."""
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return number


def utf8(arguments: list[str]) -> list[str]:
    """Return arguments for MLIR's own command lines; `ValueError` for what is not UTF-8."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="backslashreplace").decode()
            raise ValueError(
                f"argument '{shown}' must be UTF-8: rename the file, or give it on standard input"
            ) from None
    return arguments


def import_mlir_without_numpy() -> None:
    """Import `mlir.ir` as if there were no NumPy, which is half of its time.

    Upstream takes it for builders of dense attributes from lists, and does without where it is not
    installed. No pass of this project calls them. NumPy can still be imported later.
    """
    if "numpy" in sys.modules or "mlir.ir" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]  # an import of it then fails
    try:
        import mlir.ir  # noqa: F401
    finally:
        del sys.modules["numpy"]
