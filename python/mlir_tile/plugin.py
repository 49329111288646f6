# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin for upstream's `mlir-opt`: `python -m mlir_tile.plugin` prints where it is."""

from __future__ import annotations

from pathlib import Path


def path() -> Path:
    """Return the shared object that `--load-dialect-plugin` and `--load-pass-plugin` take.

    It holds the dialect and the C++ passes, and works in an `mlir-opt` of the same build of MLIR.
    """
    # An editable install has the package in two places: what is written and what is built.
    import mlir_tile

    places = [Path(folder) / "_libs" / "tile_plugin.so" for folder in mlir_tile.__path__]
    return next((place for place in places if place.exists()), places[0])


if __name__ == "__main__":
    print(path())
