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
from .legalize.addresses import Side
from .legalize.bulk import chunk_offsets
from .legalize.copy import Copy, PlanError
from .legalize.copy_async import VARIANTS
from .legalize.threads import Threads
from .validation import integer

__all__ = [
    "Copy",
    "Cost",
    "Issue",
    "PlanError",
    "Side",
    "Threads",
    "chunk_offsets",
    "names",
    "register_variant",
    "replace_variant",
]

Issue = Callable[[Copy], None]
"""Builds, at the current insertion point, what issues the copies of `copy.plan`.

All of `copy.plan.total_bytes` must arrive, and complete on `copy.barrier`. It maps no address and
computes no stride: what the plan says was proved, and nothing else was.
"""

BUILT_IN = tuple(VARIANTS)
MAX_GRANULE_BYTES = 1024


@dataclass(frozen=True)
class Cost:
    """The estimate by which the analysis compares a variant with others, in cycles for one tile.

    It is `base_cycles + cycles_per_copy * n + cycles_per_byte * bytes`, where `n` is how many
    copies one thread issues and `bytes` are those of the tile.
    """

    base_cycles: float = 0.0
    cycles_per_copy: float = 0.0
    cycles_per_byte: float = 0.0

    def __post_init__(self) -> None:
        for name in ("base_cycles", "cycles_per_copy", "cycles_per_byte"):
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
    max_bytes: int | None = None,
    cooperative: bool = False,
    cost: Cost | None = None,
    min_ptx: int = 80,
    uses_async_proxy: bool = True,
    threads_load: bool = True,
) -> None:
    """Make the variant `name` known, whose plans `issue` turns into ops.

    The analysis cuts a tile into the longest runs that both layouts share, and proves that the
    bytes of each, and the address of each on both sides, are multiples of `granule_bytes`, a power
    of two. Runs longer than `max_bytes` are cut into equal copies that are not. With `cooperative`
    all threads that execute the op share the copies, thread `t` of `plan.threads` those with the
    numbers `t`, `t + plan.threads`, ..., and `issue(thread)` cannot be this variant; otherwise one
    of them issues all. `cost` lets the analysis choose it; without it a copy has to say
    `variant = "name"`. `min_ptx` is the PTX version, times ten, that has its instructions.
    `uses_async_proxy` and `threads_load` are how it reads and writes shared memory, for the fences
    that order it: by both proxies, if nothing else is said.

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
    if max_bytes is not None:
        max_bytes = integer("max_bytes", max_bytes, or_else=" or None")
        if max_bytes < 1 or max_bytes % granule_bytes:
            raise ValueError(
                f"max_bytes must be a multiple of granule_bytes, {granule_bytes}, got {max_bytes}"
            )
    if cost is not None and not isinstance(cost, Cost):
        raise TypeError(f"cost must be a Cost or None, got {cost!r}")
    min_ptx = integer("min_ptx", min_ptx)
    if min_ptx < 80:
        raise ValueError(f"min_ptx must be a PTX version times ten, at least 80, got {min_ptx}")
    _keep(name, issue)
    cycles = None
    if cost is not None:
        cycles = (cost.base_cycles, cost.cycles_per_copy, cost.cycles_per_byte)
    traits = _tile.VariantTraits(
        name, bool(cooperative), bool(uses_async_proxy), bool(threads_load), min_ptx
    )
    _tile.declare_variant(traits, granule_bytes, max_bytes or 0, cycles)


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
