# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Variants of the copy from outside of this package.

A variant declares what it needs, and the analysis makes its plans and proves them like any other:
the regions, the alignment of every address, the bytes of one phase. From Python comes what issues
the copies of a plan. A package makes its variants known by an entry point of the group
`mlir_tile.variants` that names the module that registers them; docs/how-to/extending.md has an
example.

Registration is for the whole process, and for modules that are parsed afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from . import _tile
from .dialects import tile
from .legalize.addresses import Side, advance, mapped, mapped_barrier, pointer_to
from .legalize.bulk import chunk_offsets
from .legalize.copy_async import VARIANTS
from .legalize.threads import one_thread_of, thread_in
from .validation import integer

__all__ = [
    "Cost",
    "Issue",
    "Side",
    "advance",
    "chunk_offsets",
    "mapped",
    "mapped_barrier",
    "names",
    "one_thread_of",
    "pointer_to",
    "register_variant",
    "replace_variant",
    "thread_in",
]

Issue = Callable[[tile.CopyAsyncOp], None]
"""Builds, at the current insertion point, what issues the copies of `op.plan`.

All of `op.plan.total_bytes` must arrive, and complete on the barrier of CTA `op.rank`. It computes
no stride: what the plan says was proved, and nothing else was.
"""

BUILT_IN = tuple(VARIANTS)
MAX_GRANULE_BYTES = 1024


@dataclass(frozen=True)
class Cost:
    """The estimate by which the analysis compares a variant with the others, in clk for one tile.

    It is `base_clk + clk_per_copy * n + clk_per_byte * bytes`, where `n` is how many copies one
    thread issues and `bytes` are those of the tile.
    """

    base_clk: float = 0.0
    clk_per_copy: float = 0.0
    clk_per_byte: float = 0.0

    def __post_init__(self) -> None:
        for name in ("base_clk", "clk_per_copy", "clk_per_byte"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise TypeError(f"{name} must be a finite number, got {value!r}")
            if not 0 <= value <= 1e9:
                raise ValueError(f"{name} must be in 0 to 1e9, got {value!r}")


_module_of: dict[str, str] = {}
"""Who registered, or replaced, a variant from outside."""


def register_variant(
    name: str,
    issue: Issue,
    *,
    granule_bytes: int,
    most_bytes: int | None = None,
    spread: bool = False,
    cost: Cost | None = None,
) -> None:
    """Make the variant `name` known, whose plans `issue` turns into ops.

    The analysis cuts a tile into the longest runs that both layouts share, and proves that the
    bytes of each, and the address of each on both sides, are multiples of `granule_bytes`, a power
    of two. Runs longer than `most_bytes` are cut into equal copies that are not. With `spread` all
    threads that execute the op share the copies, thread `t` of `plan.threads` those with the
    numbers `t`, `t + plan.threads`, ..., and `issue(thread)` cannot be this variant; otherwise one
    of them issues all. `cost` lets the analysis choose it; without it a copy has to say
    `variant = "name"`.

    Registering a name again from the same module replaces it. Raises `TypeError` and `ValueError`
    by the name of the argument.
    """
    if not isinstance(name, str) or not re.fullmatch("[a-z_][a-z0-9_]*", name):
        raise ValueError(f"name must be lower-case letters, digits and '_', got {name!r}")
    if name in BUILT_IN:
        raise ValueError(f"name must be new, got {name!r}; replace_variant() replaces what issues")
    granule_bytes = integer("granule_bytes", granule_bytes)
    if not 1 <= granule_bytes <= MAX_GRANULE_BYTES or granule_bytes & (granule_bytes - 1):
        raise ValueError(
            f"granule_bytes must be a power of two in 1 to {MAX_GRANULE_BYTES}, got {granule_bytes}"
        )
    if most_bytes is not None:
        most_bytes = integer("most_bytes", most_bytes, or_else=" or None")
        if most_bytes < 1 or most_bytes % granule_bytes:
            raise ValueError(
                f"most_bytes must be a multiple of granule_bytes, {granule_bytes}, got {most_bytes}"
            )
    if cost is not None and not isinstance(cost, Cost):
        raise TypeError(f"cost must be a Cost or None, got {cost!r}")
    _keep(name, issue)
    clk = None if cost is None else (cost.base_clk, cost.clk_per_copy, cost.clk_per_byte)
    _tile.declare_variant(name, granule_bytes, most_bytes or 0, bool(spread), clk)


def replace_variant(name: str, issue: Issue) -> None:
    """Let `issue` turn the plans of the project's own variant `name` into ops.

    What the analysis proves and plans stays as it is. Replacing a variant again from the same
    module replaces the replacement. Raises `TypeError` and `ValueError` by the name of the
    argument.
    """
    if name not in BUILT_IN:
        raise ValueError(f"name must be one of {', '.join(BUILT_IN)}, got {name!r}")
    _keep(name, issue)


def _keep(name: str, issue: Issue) -> None:
    """Take over what issues the variant, unless another module has."""
    if not callable(issue):
        raise TypeError(f"issue must be callable, got {issue!r}")
    module = getattr(issue, "__module__", None) or type(issue).__module__
    if (owner := _module_of.setdefault(name, module)) != module:
        raise ValueError(f"name must not be taken, got {name!r}, which is that of {owner}")
    VARIANTS[name] = issue


def names() -> list[str]:
    """Return what `variant = "..."` may be: the project's own, then those registered, in order."""
    return _tile.variant_names()
