# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the dialect, the passes and the pipelines known to the installed `mlir` package."""

from mlir import _mlir_libs
from mlir._mlir_libs import _mlir

from . import _tile


def register() -> None:
    """Register everything, once: contexts made afterwards know the tile dialect."""
    _mlir.globals.append_dialect_search_prefix("mlir_tile.dialects")
    _tile.register_dialects(_mlir_libs.get_dialect_registry())
    from . import passes  # noqa: F401  (registers by being imported)

    _tile.LayoutAttr._repr_html_ = _layout_html
    _tile.CopyPlanAttr._repr_html_ = _plan_html


def _layout_html(self: _tile.LayoutAttr) -> str:
    """Return a picture of the layout, for notebooks."""
    from .viewer.notebook import layout_html

    return layout_html(self)


def _plan_html(self: _tile.CopyPlanAttr) -> str:
    """Return a picture of the plan, for notebooks."""
    from .viewer.notebook import plan_html

    return plan_html(self)
