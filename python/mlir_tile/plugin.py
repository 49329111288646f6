# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for upstream's `mlir-opt`: `python -m mlir_tile.plugin` prints where it is."""

from __future__ import annotations

import argparse
from pathlib import Path

from mlir_tile.paths import installed


def path() -> Path:
    """Return the shared object that `--load-dialect-plugin` and `--load-pass-plugin` take.

    It holds the dialect and the C++ passes, and works in an `mlir-opt` of the same build of MLIR.
    """
    return installed("_libs/tile_plugin.so")


if __name__ == "__main__":
    argparse.ArgumentParser(
        prog="python -m mlir_tile.plugin",
        description="Print where the plugin for upstream's mlir-opt is, which "
        "--load-dialect-plugin and --load-pass-plugin take.",
    ).parse_args()
    print(path())
