# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What asynchronous copies combine with the bytes at their destination, by PTX's tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tile_emulator._tile_emulator import combine
from tile_emulator.ptx.types import type_bits

Bytes = NDArray[np.uint8]

_SHARED = {
    "add": {"u32", "s32", "u64"},
    "min": {"u32", "s32"},
    "max": {"u32", "s32"},
    "inc": {"u32"},
    "dec": {"u32"},
    "and": {"b32"},
    "or": {"b32"},
    "xor": {"b32"},
}
"""`red.async` and `cp.reduce.async.bulk` into shared memory of the cluster."""

_WIDE = {"u32", "s32", "u64", "s64", "f16", "bf16"}
_GLOBAL = {
    "add": {"u32", "s32", "u64", "f16", "bf16", "f32", "f64"},
    "min": _WIDE,
    "max": _WIDE,
    "inc": {"u32"},
    "dec": {"u32"},
    "and": {"b32", "b64"},
    "or": {"b32", "b64"},
    "xor": {"b32", "b64"},
}
"""`cp.reduce.async.bulk` into global memory."""


_KINDS = {
    "uint32": "u32", "int32": "s32", "uint64": "u64", "int64": "s64", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float32_ftz": "f32",
}  # fmt: skip
"""The types of a tensor map's elements that `cp.reduce.async.bulk.tensor` knows, all but bits."""


@dataclass(frozen=True)
class Reduction:
    """A reduction of PTX's; every element is combined atomically."""

    name: str
    kind: str

    @property
    def width(self) -> int:
        """Bytes of an element."""
        return (type_bits(self.kind) or 0) // 8

    def combine(self, old: Bytes, new: Bytes) -> Bytes:
        """Return what is at the destination after `new` was combined with `old`."""
        result = combine(self.name, self.kind, old.tobytes(), new.tobytes(), self.width)
        return np.frombuffer(result, dtype=np.uint8)


def split_reduction(
    parts: tuple[str, ...], to_global: bool
) -> tuple[tuple[str, ...], Reduction] | None:
    """Take the reduction off the end of an opcode: `.add.u32`, `.add.noftz.f16`.

    Returns what is before it, and it; None for one that PTX does not have.
    """
    kept = 3 if parts[-2:-1] == ("noftz",) else 2
    if len(parts) < kept:
        return None
    name, kind = parts[-kept], parts[-1]
    half_add = name == "add" and kind in ("f16", "bf16")
    if half_add != (kept == 3) or kind not in (_GLOBAL if to_global else _SHARED).get(name, set()):
        return None
    return parts[:-kept], Reduction(name, kind)


def tensor_reduction(name: str, element: str) -> Reduction | None:
    """Return what combines elements of a tensor map, or None for one that PTX does not have."""
    kind = _KINDS.get(element, "")
    if name in ("and", "or", "xor") and kind[:1] in ("u", "s"):
        kind = "b" + kind[1:]
    return Reduction(name, kind) if kind in _GLOBAL.get(name, set()) else None
