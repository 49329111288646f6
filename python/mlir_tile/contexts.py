# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR contexts: those of this package, and those that its users made.

MLIR's verifier and pass manager may emit a diagnostic of a nested op on a worker thread. The
handler by which upstream's bindings make exceptions of diagnostics touches Python objects there
without the GIL, which ends the process; an ordinary error in a kernel does it. So what this package
does in a context is done in one thread, and a context of a user keeps the threads that it has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mlir import _mlir_libs, ir


def context() -> ir.Context:
    """Return a new context with the tile dialect loaded, to be used in a `with` statement.

    It works in one thread, unless it is told otherwise by `enable_multithreading`.
    """
    made = ir.Context()
    made.enable_multithreading(False)
    made.dialects["tile"]
    return made


def load_dialect(context: ir.Context) -> None:
    """Load the tile dialect in `context`, which may be older than the import of this package.

    One that was made afterwards knows the dialect without. Raises `TypeError` for no context.
    """
    if not isinstance(context, ir.Context):
        raise TypeError(f"context must be an mlir.ir.Context, got {context!r}")
    context.append_dialect_registry(_mlir_libs.get_dialect_registry())
    context.dialects["tile"]


@contextlib.contextmanager
def one_thread(context: ir.Context | None) -> Iterator[None]:
    """Let `context` work in this thread alone meanwhile; without one do nothing."""
    if context is None or context.get_num_threads() == 1:
        yield
        return
    context.enable_multithreading(False)
    try:
        yield
    finally:
        context.enable_multithreading(True)
