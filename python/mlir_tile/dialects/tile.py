# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes."""

from .._tile import CopyPlanAttr, IssueAttr, LayoutAttr, ScopeAttr
from ._tile_enum_gen import Issue, Scope
from ._tile_ops_gen import (
    ArriveOp,
    AssumeMultipleOp,
    CopyAsyncOp,
    ExpectOp,
    OffsetOp,
    SliceOp,
    ViewOp,
    WaitOp,
    arrive,
    assume_multiple,
    copy_async,
    expect,
    offset,
    slice,
    view,
    wait,
)


def _layout_html(self: LayoutAttr) -> str:
    """Return a picture of the layout, for notebooks."""
    from ..viewer.notebook import layout_html

    return layout_html(self)


def _plan_html(self: CopyPlanAttr) -> str:
    """Return a picture of the plan, for notebooks."""
    from ..viewer.notebook import plan_html

    return plan_html(self)


LayoutAttr._repr_html_ = _layout_html
CopyPlanAttr._repr_html_ = _plan_html

__all__ = [
    "ArriveOp",
    "AssumeMultipleOp",
    "CopyAsyncOp",
    "CopyPlanAttr",
    "ExpectOp",
    "Issue",
    "IssueAttr",
    "LayoutAttr",
    "OffsetOp",
    "Scope",
    "ScopeAttr",
    "SliceOp",
    "ViewOp",
    "WaitOp",
    "arrive",
    "assume_multiple",
    "copy_async",
    "expect",
    "offset",
    "slice",
    "view",
    "wait",
]
