# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-lsp-server: MLIR's language server, which knows the tile dialect and all upstream ones."""

import signal
import sys


def main() -> int:
    """Speak the language server protocol on stdin and stdout until the editor ends it."""
    # Python notes a signal for later, and the server never comes back to Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    import mlir_tile.registration  # noqa: F401  (registers by being imported)
    from mlir_tile import _tile

    status: int = _tile.lsp_server_main(["tile-lsp-server", *sys.argv[1:]])
    return status


if __name__ == "__main__":
    sys.exit(main())
