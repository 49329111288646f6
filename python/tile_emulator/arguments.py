# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of the command line: arrays, numbers, raw bytes.

    A.npy                    the array in the file
    zeros:128x64xf16         zeros
    iota:128x64xf16          0, 1, 2, ... in row-major order
    random[:7]:128x64xf16    random numbers from seed 7, or 0
    3, 0x10, 1.5             a number in the size of its parameter
    i32:5                    a number of a type
    hex:0011                 bytes

`iota` holds exact values only: integers wrap, and floats count modulo the first power of two after
which their type skips integers (2048 for f16). `random` draws floats from [-1, 1) and integers from
the whole range of their type. `tile-run` has the same arrays for the same text, but those of bf16
are held here as their bits.
"""

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
} | {"index": np.dtype("int64")}
_FLOATS: dict[str, Any] = {f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)}
_TYPES: dict[str, Any] = {
    "i1": np.dtype("bool"), **_INTEGERS, **_FLOATS, "bf16": np.dtype("uint16"),
}  # fmt: skip
# How many integers from 0 on a float type holds before it skips one.
_EXACT = {"bf16": 2**8, "f16": 2**11, "f32": 2**24, "f64": 2**53}
_ARRAY = re.compile(r"(zeros|iota|random(?::(\d+))?):((?:\d+x)*)([a-zA-Z]\w*)")
_TYPED = re.compile(r"([a-z]+\d*):(.+)")


def parse_argument(text: str) -> Any:
    """Return the array, NumPy scalar, number or bytes that `text` stands for; raises Error."""
    match = _ARRAY.fullmatch(text)
    if match is not None:
        return _array(text, match.group(1), match.group(2), match.group(3), match.group(4))
    if text.endswith(".npy"):
        return _load(text)
    if text.startswith("hex:"):
        try:
            return bytes.fromhex(text[4:])
        except ValueError:
            raise Error(f"argument '{text}' must have pairs of hexadecimal digits") from None
    typed = _TYPED.fullmatch(text)
    if typed is not None and typed.group(1) not in ("zeros", "iota", "random"):
        return _typed(text, typed.group(1), typed.group(2))
    return _number(text, text)


def _load(text: str) -> Any:
    try:
        array = np.load(Path(text), allow_pickle=False)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Error(f"argument '{text}' cannot be read: {reason}") from None
    except Exception as error:  # whatever the parts of NumPy's reader raise on a damaged header
        raise Error(f"argument '{text}' cannot be read: {error}") from None
    if not isinstance(array, np.ndarray):
        raise Error(f"argument '{text}' must hold one array, got an archive of arrays")
    return array


def _array(text: str, form: str, seed: str | None, shape_text: str, kind: str) -> Any:
    if kind not in _TYPES:
        raise Error(f"argument '{text}' has an unknown type '{kind}', known: {', '.join(_TYPES)}")
    extents = [n for n in shape_text.split("x") if n]
    longest = max(map(len, extents), default=0)
    shape = tuple(map(int, extents)) if longest < 19 else (10**19,)
    # NumPy multiplies extents without asking whether another one is 0.
    if len(shape) > 32 or math.prod(max(extent, 1) for extent in shape) > 1 << 31:
        raise Error(f"argument '{text}' must have at most 32 dimensions and {1 << 31} elements")
    dtype = _TYPES[kind]
    if form == "zeros":
        return np.zeros(shape, dtype=dtype)
    if form == "iota":
        return _iota(math.prod(shape), kind).reshape(shape)
    generator = np.random.default_rng(int(seed or 0))
    if kind == "i1":
        return generator.integers(0, 2, shape).astype(dtype)
    if kind in _INTEGERS:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return _rounded(generator.uniform(-1, 1, shape), kind)


def _iota(count: int, kind: str) -> Any:
    numbers = np.arange(count, dtype=np.int64)
    if kind == "i1":
        return (numbers % 2).astype(np.bool_)
    if kind in _INTEGERS:
        return numbers.astype(_INTEGERS[kind])
    return _rounded(numbers % _EXACT[kind], kind)


def _rounded(values: Any, kind: str) -> Any:
    """Round numbers to a float type."""
    if kind != "bf16":
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(_FLOATS[kind])
    from tile_emulator.instructions.rounding import round_bf16

    with np.errstate(all="ignore"):
        # It makes an array of a single number.
        return round_bf16(np.asarray(values).astype(np.float32)).reshape(np.shape(values))


def _number(text: str, digits: str) -> int | float:
    try:
        return int(digits, 0)
    except ValueError:
        pass
    try:
        value = float(digits)
    except ValueError:
        raise Error(
            f"argument '{text}' must be a .npy file, zeros:, iota: or random[:SEED]:SHAPExDTYPE, a "
            "number with an optional type (i32:5), or hex: and bytes"
        ) from None
    if math.isinf(value) and "inf" not in digits.lower():
        raise Error(f"argument '{text}' must be a number that f64 holds")
    return value


def _typed(text: str, kind: str, digits: str) -> Any:
    """Return the NumPy scalar for a number of a type; a number that does not fit is an Error."""
    value = _number(text, digits)
    if kind not in _TYPES:
        raise Error(f"argument '{text}' has an unknown type '{kind}', known: {', '.join(_TYPES)}")
    dtype = _TYPES[kind]
    misfit = Error(f"argument '{text}' does not fit its type")
    if kind in _FLOATS or kind == "bf16":
        try:
            rounded = _rounded(np.float64(value), kind)[()]
        except OverflowError:  # an integer beyond f64
            raise misfit from None
        is_infinite = rounded & 0x7FFF == 0x7F80 if kind == "bf16" else np.isinf(rounded)
        if is_infinite and not math.isinf(value):
            raise misfit
        return rounded
    limits = (0, 1) if kind == "i1" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    # NaN lies between no limits.
    if not limits[0] <= value <= limits[1] or value != int(value):
        raise misfit
    return dtype.type(int(value))
