# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How every tool ends: 0, or 1 with `error: ...` on stderr and no traceback.

argparse ends a tool with 2 for wrong usage, and with 0 after `--help` and `--version`.
"""

import os
import sys
from collections.abc import Callable


def report(work: Callable[[], int | None]) -> int:
    """Do `work`; return its status, 0 for None, or print what went wrong and return 1.

    All that it printed has been written by then; a failure to write is an error too.
    """
    try:
        status = work() or 0
    except SystemExit:
        if _is_written():
            raise
        return 1
    except BrokenPipeError:
        # The reader of the output has closed it.
        _drop_output()
        return 1
    except Exception as error:
        text = _explanation(error)
        if text is None:
            raise
        print(text, file=sys.stderr)
        return 1
    return status if _is_written() else 1


def _explanation(error: Exception) -> str | None:
    """Return the text to print for `error`; None for a bug of this project."""
    all_written = _flushes()
    if isinstance(error, OSError):
        # A failed print does not say where it went.
        name = error.filename or ("" if all_written else "standard output")
        return f"error: {name}{': ' * bool(name)}{(error.strerror or str(error)).lower()}"
    if isinstance(error, MemoryError):
        return "error: out of memory"
    # Not imported where the tool does without the compiler, and then not raised either.
    ours = sys.modules.get("mlir_tile.errors")
    if ours is not None and isinstance(error, ours.CompileError):
        # Diagnostics say `place: error: ...` themselves.
        return str(error) if error.diagnostics else f"error: {error}"
    if isinstance(error, (ValueError, TypeError, Warning)):
        return f"error: {error}"
    for module in (ours, sys.modules.get("tile_emulator.errors")):
        if module is not None and isinstance(error, module.Error):
            return f"error: {error}"
    return None


def _is_written() -> bool:
    """Write what stdout still holds, and say why where that fails."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        _drop_output()
        print(f"error: standard output: {(error.strerror or str(error)).lower()}", file=sys.stderr)
    else:
        return True
    return False


def _flushes() -> bool:
    """Flush stdout before an error is printed; return whether that succeeds."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
        return False
    return True


def _drop_output() -> None:
    """Redirect stdout to nowhere, so that the interpreter does not flush to it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
