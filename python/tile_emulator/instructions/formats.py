# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The element formats of matrices, and conversions of 8-bit floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_emulator.instructions.decoder import Decoder
from tile_emulator.machine.warp import Mask, Warp
from tile_emulator.ptx.module import Instruction

Array = Any

BITS = {
    "f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8,
    "s4": 4, "u4": 4, "b1": 1,
}  # fmt: skip
"""Bits of an element by its type."""

_MANTISSA = {"e4m3": 3, "e5m2": 2}
_BIAS = {"e4m3": 7, "e5m2": 15}
# The greatest finite number's code; in e4m3 only the one after it is no number.
_GREATEST = {"e4m3": 0x7E, "e5m2": 0x7B}
NAN8 = 0x7F


def _values(kind: str) -> Array:
    """Return the numbers of all 256 codes of an 8-bit format."""
    mantissa_bits = _MANTISSA[kind]
    codes = np.arange(256)
    exponent = codes >> mantissa_bits & (1 << 7 - mantissa_bits) - 1
    fraction = (codes & (1 << mantissa_bits) - 1) / (1 << mantissa_bits)
    scale = np.exp2(np.maximum(exponent, 1) - _BIAS[kind])
    values = np.where(exponent > 0, 1 + fraction, fraction) * scale
    size = codes & 0x7F
    values[size > _GREATEST[kind]] = np.nan
    if kind == "e5m2":
        values[size == 0x7C] = np.inf
    return np.where(codes >> 7, -values, values)


FLOATS8 = {kind: _values(kind) for kind in _MANTISSA}


def decode(kind: str, raw: Array) -> Array:
    """Return the numbers of packed elements, given as bytes along the last axis.

    Integers are int64, floats float64.
    """
    bits = BITS[kind]
    if kind == "b1":
        return np.unpackbits(raw, axis=-1, bitorder="little").astype(np.int64)
    if bits == 4:
        pairs = np.stack([raw & 15, raw >> 4], axis=-1).astype(np.int64)
        values = pairs.reshape(*raw.shape[:-1], -1)
        return (values ^ 8) - 8 if kind == "s4" else values
    if kind in FLOATS8:
        return FLOATS8[kind][raw]
    if kind == "bf16":
        words = raw.view(np.uint16).astype(np.uint32) << np.uint32(16)
        return words.view(np.float32).astype(np.float64)
    if kind == "tf32":
        return (raw.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    if kind in ("s8", "u8"):
        return raw.view(np.int8 if kind == "s8" else np.uint8).astype(np.int64)
    return raw.view({"f16": np.float16, "f64": np.float64}[kind]).astype(np.float64)


_NAN: dict[str, Any] = {"f16": np.uint16(0x7FFF), "f32": np.uint32(0x7FFFFFFF)}


def round_sums(total: Array, kind: str) -> Array:
    """Round float64 to the nearest of a format, and return its bits with the hardware's NaN."""
    dtype, unsigned = {
        "f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32),
        "f64": (np.float64, np.uint64),
    }[kind]  # fmt: skip
    bits = np.ascontiguousarray(total.astype(dtype)).view(unsigned)
    return np.where(np.isnan(total), _NAN[kind], bits) if kind in _NAN else bits


def encode8(kind: str, values: Array, relu: bool) -> Array:
    """Round float64 to codes of an 8-bit format: to nearest even, the greatest for all above."""
    table = FLOATS8[kind][: _GREATEST[kind] + 1]
    size = np.minimum(np.abs(values), table[-1])
    known = np.where(np.isnan(size), 0, size)
    low = np.minimum(np.searchsorted(table, known, side="right") - 1, len(table) - 2)
    below, above = known - table[low], table[low + 1] - known
    codes = low + ((below > above) | ((below == above) & (low % 2 == 1)))
    negative = np.signbit(values)
    codes = np.where(negative, 0 if relu else codes | 0x80, codes)
    return np.where(np.isnan(values), NAN8, codes).astype(np.uint8)


def convert8(d: Decoder, ins: Instruction) -> None:
    """`cvt` to and from `e4m3x2` and `e5m2x2`."""
    to, kind = ins.parts[-2:]
    modifiers = set(ins.parts[1:-2])
    relu = "relu" in modifiers
    if kind.removesuffix("x2") in FLOATS8:
        if to != "f16x2" or modifiers - {"relu"} != {"rn"}:
            raise d.unsupported()
        element = kind.removesuffix("x2")
        source, target = d.source(ins.operands[1], "b16"), d.target(ins.operands[0], "b32")

        def widen(w: Warp, m: Mask) -> None:
            values = FLOATS8[element][w.u[source].view(np.uint8)].astype(np.float16)
            bits = values.view(np.uint16)
            if relu:
                bits = np.where(np.signbit(values), np.uint16(0), bits)
            bits = np.where(np.isnan(values), np.uint16(0x7FFF), bits)
            np.copyto(w.u[target], bits.view(np.uint32), where=m)

        d.emit(widen)
        return
    element = to.removesuffix("x2")
    if element not in FLOATS8 or modifiers - {"relu"} != {"rn", "satfinite"}:
        raise d.unsupported()
    if kind == "f16x2":
        packed = d.source(ins.operands[1], "b32")
        target = d.target(ins.operands[0], "b16")

        def narrow_pair(w: Warp, m: Mask) -> None:
            values = w.u[packed].view(np.float16).astype(np.float64)
            codes = encode8(element, values, relu)
            np.copyto(w.u[target], codes.view(np.uint16), where=m)

        d.emit(narrow_pair)
        return
    if kind != "f32":
        raise d.unsupported()
    high, low = (d.source(o, "f32") for o in ins.operands[1:3])
    target = d.target(ins.operands[0], "b16")

    def narrow_two(w: Warp, m: Mask) -> None:
        values = np.stack([w.f[low], w.f[high]], axis=1).astype(np.float64)
        codes = encode8(element, values, relu)
        np.copyto(w.u[target], codes.reshape(-1).view(np.uint16), where=m)

    d.emit(narrow_two)
