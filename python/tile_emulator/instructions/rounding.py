# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Correctly rounded floating point, in every rounding mode of PTX.

Results are first found in binary64 "rounded to odd" (truncated, with the last bit set when anything
was lost). From such a value a narrower format follows correctly by one more rounding, because
binary64 has more than two bits beyond twice the precision that is left (Boldo and Melquiond, 2008).
binary64 itself goes through exact fractions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
MODES = ("rn", "rz", "rm", "rp")
_TINY = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126}


def bf16_to_f32(bits: Array) -> Array:
    """Widen bfloat16, given as uint16, to float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def flush(value: Array, kind: str) -> Array:
    """Replace subnormals by zeros of their sign (`.ftz`)."""
    tiny = _TINY.get(kind)
    if tiny is None:
        return value
    small = np.abs(value) < tiny
    return np.where(small, np.copysign(value.dtype.type(0), value), value)


def add_odd(a: Array, b: Array) -> Array:
    """Return a + b of float64 arrays, rounded to odd."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return _odd(total, error)


def _odd(value: Array, error: Array) -> Array:
    lost = (error != 0) & np.isfinite(value) & np.isfinite(error)
    if not lost.any():
        return value
    bits = value.view(np.int64)
    inward = lost & ((error < 0) != (value < 0))
    bits = np.where(inward, bits - 1, bits)
    return np.where(lost, bits | 1, bits).view(np.float64)


def narrow(value: Array, kind: str, mode: str) -> Array:
    """Round float64 to `f32`, `f16` (as floats) or `bf16` (as float32 with 8 bits)."""
    if kind == "f64":
        return value
    if kind == "bf16":
        return bf16_to_f32(round_bf16(_to_f32_odd(value), mode))
    dtype: Any = np.float32 if kind == "f32" else np.float16
    result = value.astype(dtype)
    return result if mode == "rn" else _directed(result, value, mode)


def _directed(result: Array, exact: Array, mode: str) -> Array:
    back = result.astype(np.float64)
    zero, infinity = result.dtype.type(0), result.dtype.type(np.inf)
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(exact), np.nextafter(result, zero), result)
    if mode == "rm":
        return np.where(back > exact, np.nextafter(result, -infinity), result)
    return np.where(back < exact, np.nextafter(result, infinity), result)


def _to_f32_odd(value: Array) -> Array:
    near = value.astype(np.float32)
    cut = _directed(near, value, "rz")
    lost = (cut.astype(np.float64) != value) & np.isfinite(value)
    bits = cut.view(np.uint32)
    return np.where(lost, bits | np.uint32(1), bits).view(np.float32)


def round_bf16(value: Array, mode: str = "rn") -> Array:
    """Round float32 to bfloat16 bits (uint16); NaN becomes 0x7fff."""
    bits = np.ascontiguousarray(value).view(np.uint32)
    cut = bits >> np.uint32(16)
    rest = bits & np.uint32(0xFFFF)
    negative = bits >> np.uint32(31) != 0
    if mode == "rn":
        up = (rest > 0x8000) | ((rest == 0x8000) & (cut & np.uint32(1) != 0))
    elif mode == "rz":
        up = np.zeros(bits.shape, dtype=np.bool_)
    else:
        up = (rest != 0) & (negative if mode == "rm" else ~negative)
    up &= np.isfinite(value)
    result = (cut + up).astype(np.uint16)
    return np.where(np.isnan(value), np.uint16(0x7FFF), result)


def fma(a: Array, b: Array, c: Array, kind: str, mode: str) -> Array:
    """Return a * b + c with one rounding; arrays of the kind's float type."""
    product = a.astype(np.float64) * b.astype(np.float64)
    return narrow(add_odd(product, c.astype(np.float64)), kind, mode)


def add(a: Array, b: Array, kind: str, mode: str) -> Array:
    """Return a + b, rounded once."""
    if mode == "rn":
        return a + b if kind != "bf16" else narrow((a + b).astype(np.float64), "bf16", "rn")
    total = add_odd(a.astype(np.float64), b.astype(np.float64))
    result = narrow(total, kind, mode)
    if mode == "rm":
        cancelled = (total == 0) & (a != 0)
        result = np.where(cancelled, -np.abs(result), result)
    return result


def multiply(a: Array, b: Array, kind: str, mode: str) -> Array:
    """Return a * b, rounded once."""
    if mode == "rn" and kind != "bf16":
        return a * b
    return narrow(a.astype(np.float64) * b.astype(np.float64), kind, mode)


def integer_to_f64_odd(value: Array) -> Array:
    """Return integers as float64, rounded to odd where they do not fit."""
    wide = value.astype(np.float64)
    if value.dtype.itemsize < 8:
        return wide
    big = np.abs(wide) >= 2.0**53
    if not big.any():
        return wide
    negative = value < 0
    whole = value.view(np.uint64)
    magnitude = np.where(negative, np.uint64(0) - whole, whole)
    cut = magnitude >> np.uint64(24)
    sticky = (magnitude & np.uint64(0xFFFFFF)) != 0
    odd = (cut | sticky.astype(np.uint64)).astype(np.float64) * 2.0**24
    return np.where(big, np.where(negative, -odd, odd), wide)
