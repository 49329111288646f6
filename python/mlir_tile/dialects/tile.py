# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes.

The op classes are generated and take operands as the op has them. The builders next to them, named
as the ops are, take numbers and barriers as one writes them; see docs/how-to/python-builders.md.
"""

from .._tile import CopyPlanAttr, IssueAttr, LayoutAttr, ScopeAttr
from ._tile_builders import (
    arrive,
    assume_multiple,
    copy_async,
    expect,
    offset,
    slice,
    view,
    wait,
)
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
