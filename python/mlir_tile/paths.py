# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folders of the files that programs compiled ahead of time are built with."""

from __future__ import annotations

import os
from pathlib import Path


def installed(name: str) -> Path:
    """Return the file or folder `name` of what was compiled and installed with this package.

    An editable install has the package in two places: the sources and what is built.
    """
    import mlir_tile

    places = [Path(folder) / name for folder in mlir_tile.__path__]
    return next((place for place in places if place.exists()), places[0])


def include_dir() -> Path:
    """Return the folder of `TileRuntime.h`."""
    return installed("include")


def library_dir() -> Path:
    """Return the folder of `libtile_runtime.so`."""
    return installed("_libs")


def runtime_library() -> Path:
    """Return `libtile_runtime.so`, or what the variable `MLIR_TILE_RUNTIME` names instead."""
    override = os.environ.get("MLIR_TILE_RUNTIME")
    return Path(override) if override else library_dir() / "libtile_runtime.so"


def cmake_dir() -> Path:
    """Return the folder of `TileRuntimeConfig.cmake`, which defines the target `tile::runtime`."""
    return installed("cmake")
