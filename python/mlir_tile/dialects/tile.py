# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tile dialect: op classes, builders and attributes."""

from .._tile import CopyPlanAttr, IssueAttr
from ._tile_enum_gen import Issue
from ._tile_ops_gen import CopyAsyncOp, copy_async

__all__ = ["CopyAsyncOp", "CopyPlanAttr", "Issue", "IssueAttr", "copy_async"]
