# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTML for layouts and plans in notebooks."""

from __future__ import annotations

from typing import Any

from mlir import ir

from . import html, model
from .notation import DEFAULT_ELEMENT, Spec


def layout_html(layout: Any) -> str:
    """Return a layout as HTML; banks are those of elements of 16 bits."""
    with layout.context:
        spec = Spec(layout, ir.Type.parse(DEFAULT_ELEMENT), assumed=True)
        return html.fragment(model.picture_of_layout(spec, None, model.Window()))


def plan_html(plan: Any) -> str:
    """Return a plan as HTML: both buffers byte by byte, a row for each round of all banks."""
    return html.fragment(model.picture_of_plan(plan, model.Window(rows=16)))
