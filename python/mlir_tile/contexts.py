# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR contexts: those of this package, and those of its users.

MLIR's verifier and pass manager may emit a diagnostic of a nested op on a worker thread. The
handler with which upstream's bindings turn diagnostics into exceptions touches Python objects there
without the GIL, which ends the process; an ordinary error in a kernel is enough. So this package
runs every context in one thread, and gives a user's context its threads back afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mlir import _mlir_libs, ir


def context() -> ir.Context:
    """Return a new context with the tile dialect loaded, to be used in a `with` statement.

    It runs in one thread until `enable_multithreading` changes that.
    """
    made = ir.Context()
    made.enable_multithreading(False)
    made.dialects["tile"]
    return made


def load_dialect(context: ir.Context) -> None:
    """Load the tile dialect in `context`, which may be older than the import of this package.

    A newer context has the dialect already. Raises `TypeError` for anything but a context.
    """
    if not isinstance(context, ir.Context):
        raise TypeError(f"context must be an mlir.ir.Context, got {context!r}")
    context.append_dialect_registry(_mlir_libs.get_dialect_registry())
    context.dialects["tile"]


@contextlib.contextmanager
def one_thread(context: ir.Context | None) -> Iterator[None]:
    """Run `context` in this thread alone for the block; do nothing for None."""
    if context is None or context.get_num_threads() == 1:
        yield
        return
    context.enable_multithreading(False)
    try:
        yield
    finally:
        context.enable_multithreading(True)
