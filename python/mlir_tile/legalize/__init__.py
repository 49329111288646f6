# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stage legalize, pass `tile-legalize-to-nvvm`: rewrite tile ops into NVVM.

Reads only the plans that `tile-analyze-layout` left on the ops, and computes no stride.
"""

from collections.abc import Callable
from typing import Any

from mlir import ir
from mlir.rewrite import PatternRewriter, RewritePatternSet, walk_and_apply_patterns

from .. import _tile
from ..scripted import PassFailure
from .arrive import legalize_arrive
from .copy_async import legalize_copy_async
from .expect import legalize_expect
from .values import shared_values
from .wait import legalize_wait

Pattern = Callable[[ir.OpView, PatternRewriter], None]

PATTERNS: dict[str, Pattern] = {
    "tile.arrive": legalize_arrive,
    "tile.copy_async": legalize_copy_async,
    "tile.expect": legalize_expect,
    "tile.wait": legalize_wait,
}


class _Rewriter:
    """A `PatternRewriter` that marks what it erases: using it is an error then, not a crash."""

    def __init__(self, rewriter: PatternRewriter) -> None:
        self._rewriter = rewriter

    @property
    def ip(self) -> ir.InsertionPoint:
        return self._rewriter.ip

    def erase_op(self, op: ir.Operation | ir.OpView) -> None:
        self._rewriter.erase_op(op.operation)
        op.operation._set_invalid()

    def replace_op(self, op: ir.Operation | ir.OpView, by: Any) -> None:
        self._rewriter.replace_op(op, by)
        op.operation._set_invalid()


def _guarded(pattern: Pattern, failures: list[BaseException]) -> Callable[..., bool]:
    """Keep the pattern's exceptions on this side of MLIR's C++; True means no match there."""

    def apply(op: ir.OpView, rewriter: PatternRewriter) -> bool:
        if failures:
            return True
        try:
            pattern(op, _Rewriter(rewriter))
        except BaseException as failure:
            failures.append(failure)
            return True
        return False

    return apply


def legalize_to_nvvm(module: ir.Operation) -> None:
    """Rewrite every tile op of `module` but those on layouts, or fail by the name of one."""
    failures: list[BaseException] = []
    patterns = RewritePatternSet()
    for name, pattern in PATTERNS.items():
        patterns.add(name, _guarded(pattern, failures))
    with shared_values():
        walk_and_apply_patterns(module, patterns.freeze())
    if failures:
        raise failures[0]
    if (left := _tile.first_unlowered(module)) is not None:
        raise PassFailure(left, f"'{left.name}' op has no legalization")
