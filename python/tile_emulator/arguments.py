# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of the command line: arrays, numbers, raw bytes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from tile_emulator.errors import Error

_INTEGERS: dict[str, Any] = {
    f"{prefix}{bits}": np.dtype(f"{name}{bits}")
    for prefix, name in (("i", "int"), ("s", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
}
_FLOATS: dict[str, Any] = {f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)}
_TYPES: dict[str, Any] = {**_INTEGERS, **_FLOATS, "bf16": np.dtype("uint16")}
_ARRAY = re.compile(r"(zeros|iota|random(?::(\d+))?):((?:\d+x)*)([a-z]+\d+)")
_NUMBER = re.compile(r"(?:([a-z]+\d+):)?([-+]?(?:0x[0-9a-fA-F]+|[0-9.]+(?:[eE][-+]?\d+)?|inf|nan))")


def parse_argument(text: str) -> Any:
    """Return the array, NumPy scalar, number or bytes that `text` stands for; raises Error."""
    if text.endswith(".npy"):
        try:
            array = np.load(Path(text), allow_pickle=False)
        except Exception as error:  # whatever the parts of NumPy's reader raise on a damaged header
            raise Error(f"argument '{text}' cannot be read: {error}") from None
        if not isinstance(array, np.ndarray):
            raise Error(f"argument '{text}' must hold one array, got an archive of arrays")
        return array
    if text.startswith("hex:"):
        try:
            return bytes.fromhex(text[4:])
        except ValueError:
            raise Error(f"argument '{text}' must have pairs of hexadecimal digits") from None
    match = _ARRAY.fullmatch(text)
    if match is not None:
        return _array(text, match.group(1), match.group(2), match.group(3), match.group(4))
    number = _NUMBER.fullmatch(text)
    if number is None:
        raise Error(
            f"argument '{text}' must be a .npy file, zeros:, iota: or random[:SEED]:SHAPExDTYPE, a "
            "number with an optional type (i32:5), or hex: and bytes"
        )
    return _number(text, number.group(1), number.group(2))


def _array(text: str, form: str, seed: str | None, shape_text: str, kind: str) -> Any:
    if kind not in _TYPES:
        raise Error(f"argument '{text}' has an unknown type '{kind}', known: {', '.join(_TYPES)}")
    extents = [n for n in shape_text.split("x") if n]
    longest = max(map(len, extents), default=0)
    shape = tuple(map(int, extents)) if longest < 19 else (10**19,)
    dtype = _TYPES[kind]
    count = math.prod(shape)
    # NumPy multiplies extents without asking whether another one is 0.
    if len(shape) > 32 or math.prod(max(extent, 1) for extent in shape) > 1 << 31:
        raise Error(f"argument '{text}' must have at most 32 dimensions and {1 << 31} elements")
    if form == "zeros":
        return np.zeros(shape, dtype=dtype)
    values: Any
    if form == "iota":
        values = np.arange(count)
    elif kind in _FLOATS or kind == "bf16":
        values = np.random.default_rng(int(seed or 0)).standard_normal(count)
    else:
        values = np.random.default_rng(int(seed or 0)).integers(0, 256, count)
    if kind == "bf16":
        from tile_emulator.instructions.rounding import round_bf16

        return round_bf16(values.astype(np.float32)).reshape(shape)
    with np.errstate(all="ignore"):
        return values.astype(dtype).reshape(shape)


def _number(text: str, kind: str | None, digits: str) -> Any:
    try:
        value: Any = (
            int(digits, 0) if re.fullmatch(r"[-+]?(0x[0-9a-fA-F]+|\d+)", digits) else float(digits)
        )
        if kind is None:
            return value
        if kind not in _TYPES:
            raise Error(f"argument '{text}' has an unknown type '{kind}'")
        if kind == "bf16":
            from tile_emulator.instructions.rounding import round_bf16

            return round_bf16(np.array([value], dtype=np.float32))[0]
        dtype = _TYPES[kind]
        if kind in _INTEGERS:
            info = np.iinfo(dtype)
            if int(value) != value or not info.min <= value <= info.max:
                raise Error(f"argument '{text}' does not fit its type")
        return dtype.type(value)
    except (ValueError, OverflowError):
        raise Error(f"argument '{text}' is not a number") from None
