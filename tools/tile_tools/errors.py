# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How every tool ends: 0, or 1 with `error: ...` on stderr and no traceback."""

import os
import sys
from collections.abc import Callable


def report(work: Callable[[], None]) -> int:
    """Do `work`; return 0, or print what went wrong and return 1."""
    from mlir_tile.runtime.errors import CompileError, Error

    try:
        work()
    except CompileError as error:
        # Diagnostics say `place: error: ...` themselves.
        text = str(error)
        print(text if "error: " in text else f"error: {text}", file=sys.stderr)
    except BrokenPipeError:
        # Whoever read our output has had enough; leave nothing for the interpreter to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        print(f"error: {name}{(error.strerror or str(error)).lower()}", file=sys.stderr)
    except (Error, ValueError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
    except MemoryError:
        print("error: out of memory", file=sys.stderr)
    else:
        return 0
    return 1
