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
