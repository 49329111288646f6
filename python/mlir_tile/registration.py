# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the dialect, the passes and the pipelines known to the installed `mlir` package."""

from mlir import _mlir_libs
from mlir._mlir_libs import _mlir

from . import _tile, scripted


def register() -> None:
    """Register everything, once: contexts made afterwards know the tile dialect."""
    _mlir.globals.append_dialect_search_prefix("mlir_tile.dialects")
    _tile.register_dialects(_mlir_libs.get_dialect_registry())
    scripted.raise_from_passes()
    from . import legalize, pipeline  # noqa: F401  (registers by being imported)
