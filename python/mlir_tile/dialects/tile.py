# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes.

The op classes are generated and take operands as the op has them. The builders next to them, named
as the ops are, take numbers and barriers as one writes them; see docs/how-to/python-builders.md.
"""

from .._tile import (
    CacheHintAttr,
    CopyPlanAttr,
    CopySideAttr,
    IssueAttr,
    LayoutAttr,
    ReductionKindAttr,
    ScopeAttr,
)
from ._tile_builders import (
    all_reduce,
    arrive,
    assume_multiple,
    copy_async,
    expect,
    offset,
    peer,
    slice,
    store_async,
    view,
    wait,
)
from ._tile_enum_gen import CacheHint, Issue, ReductionKind, Scope
from ._tile_ops_gen import (
    AllReduceOp,
    ArriveOp,
    AssumeMultipleOp,
    CopyAsyncOp,
    ExpectOp,
    OffsetOp,
    PeerOp,
    SliceOp,
    StoreAsyncOp,
    ViewOp,
    WaitOp,
    YieldOp,
)

__all__ = [
    "AllReduceOp",
    "ArriveOp",
    "AssumeMultipleOp",
    "CacheHint",
    "CacheHintAttr",
    "CopyAsyncOp",
    "CopyPlanAttr",
    "CopySideAttr",
    "ExpectOp",
    "Issue",
    "IssueAttr",
    "LayoutAttr",
    "OffsetOp",
    "PeerOp",
    "ReductionKind",
    "ReductionKindAttr",
    "Scope",
    "ScopeAttr",
    "SliceOp",
    "StoreAsyncOp",
    "ViewOp",
    "WaitOp",
    "YieldOp",
    "all_reduce",
    "arrive",
    "assume_multiple",
    "copy_async",
    "expect",
    "offset",
    "peer",
    "slice",
    "store_async",
    "view",
    "wait",
]
