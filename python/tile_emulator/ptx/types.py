# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scalar types of PTX by name."""

from __future__ import annotations

import re

_SCALAR = re.compile(r"([busf]|bf|tf)(8|16|32|64|128)$")
_PACKED = {"f16x2": 32, "bf16x2": 32, "u16x2": 32, "s16x2": 32, "e4m3x2": 16, "e5m2x2": 16}


def type_bits(name: str) -> int | None:
    """Return the width of a type in bits (`pred` has 1), or None when it is no type."""
    if name == "pred":
        return 1
    if name in _PACKED:
        return _PACKED[name]
    match = _SCALAR.match(name)
    return int(match.group(2)) if match else None


def type_bytes(name: str) -> int | None:
    """Return the width of a type in bytes, or None when it is no type."""
    bits = type_bits(name)
    return None if bits is None else max(1, bits // 8)
