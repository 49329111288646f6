# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes."""

from .._tile import CopyPlanAttr, IssueAttr, LayoutAttr
from ._tile_enum_gen import Issue
from ._tile_ops_gen import (
    AssumeMultipleOp,
    CopyAsyncOp,
    OffsetOp,
    SliceOp,
    ViewOp,
    assume_multiple,
    copy_async,
    offset,
    slice,
    view,
)

__all__ = [
    "AssumeMultipleOp",
    "CopyAsyncOp",
    "CopyPlanAttr",
    "Issue",
    "IssueAttr",
    "LayoutAttr",
    "OffsetOp",
    "SliceOp",
    "ViewOp",
    "assume_multiple",
    "copy_async",
    "offset",
    "slice",
    "view",
]
