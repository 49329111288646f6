# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-opt: mlir-opt with the tile dialect, its passes and its pipelines."""

import signal
import sys
import traceback

from .errors import report
from .guard import guarded
from .startup import import_mlir_without_numpy, utf8
from .version import version_line


def main() -> int:
    """Run mlir-opt on `sys.argv`; return its exit status."""
    # As in mlir-opt: a closed output pipe ends the tool, which LLVM would report as a failure.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    return report(lambda: run(utf8(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run mlir-opt on `arguments`; return its exit status."""
    if "--version" in arguments:
        print(version_line("tile-opt"))
        return 0
    import_mlir_without_numpy()
    import mlir_tile.registration  # noqa: F401  (registers by being imported)
    from mlir_tile import _tile, scripted

    raised: list[str] = []
    with scripted.exceptions_to(lambda _: raised.append(traceback.format_exc())):
        status: int = _tile.opt_main(["tile-opt", *arguments])
    sys.stderr.write("".join(raised))
    return status


def command() -> int:
    """Run on `sys.argv` as a tool; return the exit status."""
    return guarded(main, may_exit=True)


if __name__ == "__main__":
    sys.exit(command())
