# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-opt: mlir-opt with the tile dialect, its passes and its pipelines."""

import sys

from .startup import end_on_interrupt, import_mlir_without_numpy
from .version import version_line


def main() -> int:
    """Run mlir-opt on `sys.argv`; return its exit status."""
    end_on_interrupt()
    import_mlir_without_numpy()
    if sys.argv[1:] == ["--version"]:
        print(version_line("tile-opt"))
        return 0
    import mlir_tile.registration  # noqa: F401  (registers by being imported)
    from mlir_tile import _tile, scripted

    status: int = _tile.opt_main(["tile-opt", *sys.argv[1:]])
    sys.stderr.write(scripted.take_traceback())
    return status


if __name__ == "__main__":
    sys.exit(main())
