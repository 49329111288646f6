# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a tool does first: end on Ctrl-C, and import no more than it needs."""

import signal
import sys


def end_on_interrupt() -> None:
    """Let SIGINT end the process at once, unless whoever started it had it ignored.

    Python would only note it, and raise an exception when the compiler or a kernel returns.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def import_mlir_without_numpy() -> None:
    """Import `mlir.ir` as if there were no NumPy, which is half of its time.

    Upstream takes it for builders of dense attributes from lists, and does without where it is not
    installed. No pass of ours calls them. NumPy can be imported as ever afterwards.
    """
    if "numpy" in sys.modules or "mlir.ir" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment]  # an import of it then fails
    try:
        import mlir.ir  # noqa: F401
    finally:
        del sys.modules["numpy"]
