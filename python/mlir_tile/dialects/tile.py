# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes."""

from .._tile import CopyPlanAttr, IssueAttr, ScopeAttr
from ._tile_enum_gen import Issue, Scope
from ._tile_ops_gen import (
    ArriveOp,
    CopyAsyncOp,
    ExpectOp,
    WaitOp,
    arrive,
    copy_async,
    expect,
    wait,
)

__all__ = [
    "ArriveOp",
    "CopyAsyncOp",
    "CopyPlanAttr",
    "ExpectOp",
    "Issue",
    "IssueAttr",
    "Scope",
    "ScopeAttr",
    "WaitOp",
    "arrive",
    "copy_async",
    "expect",
    "wait",
]
