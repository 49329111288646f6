# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of `--arg`: arrays, numbers, raw bytes; and how `--expect` compares them.

    A.npy                    the array in the file
    zeros:128x64xf16         zeros
    iota:128x64xf16          0, 1, 2, ... in row-major order
    random[:7]:128x64xf16    random numbers from seed 7, or 0
    3, 0x10, 1.5             a number in the size of its parameter
    i32:5                    a number of a type
    hex:0011                 bytes

`iota` holds exact values only: integers wrap, and floats count modulo the first power of two after
which their type skips integers (2048 for f16). `random` draws floats from [-1, 1) and integers from
the whole range of their type. `tile-run` reads the same forms here, with the types that it knows;
where there is no dtype for bf16, an array of it holds its bits.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tile_emulator.errors import Error

_INTEGERS: dict[str, Any] = {
    f"{prefix}{bits}": np.dtype(f"{name}{bits}")
    for prefix, name in (("i", "int"), ("s", "int"), ("u", "uint"))
    for bits in (8, 16, 32, 64)
} | {"index": np.dtype("int64")}
_BITS = np.dtype("uint16")
TYPES: dict[str, Any] = {
    "i1": np.dtype("bool"),
    **_INTEGERS,
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    "bf16": _BITS,
}
"""What an array of each type is held as."""
_ARRAY = re.compile(r"(zeros|iota|random(?::(\d+))?):((?:\d+x)*)([a-zA-Z]\w*)")
_MOST_DIMENSIONS = 32  # what every NumPy has
_TYPED = re.compile(r"([a-z]+\d*):(.+)")


def parse_argument(text: str, types: Mapping[str, Any] = TYPES) -> Any:
    """Return the array, NumPy scalar, number or bytes that `text` stands for; raises Error.

    `types` has the dtype of each type that `text` may name.
    """
    match = _ARRAY.fullmatch(text)
    if match is not None:
        form, seed, extents, kind = match.groups()
        try:
            return _array(text, form, seed, extents, kind, types)
        except (MemoryError, OverflowError):
            raise Error(f"argument '{text}' does not fit into memory") from None
    if text.endswith(".npy"):
        return _load(text)
    if text.startswith("hex:"):
        try:
            return bytes.fromhex(text[4:])
        except ValueError:
            raise Error(f"argument '{text}' must have pairs of hexadecimal digits") from None
    typed = _TYPED.fullmatch(text)
    if typed is not None and typed.group(1) not in ("zeros", "iota", "random"):
        return _typed(text, typed.group(1), typed.group(2), types)
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


def _array(
    text: str, form: str, seed: str | None, extents: str, kind: str, types: Mapping[str, Any]
) -> Any:
    dtype = _dtype(text, kind, types)
    lengths = [n for n in extents.split("x") if n]
    shape = tuple(map(int, lengths)) if max(map(len, lengths), default=0) < 19 else (10**19,)
    # NumPy multiplies extents without asking whether another one is 0.
    needed = math.prod(max(extent, 1) for extent in shape) * dtype.itemsize
    if len(shape) > _MOST_DIMENSIONS or needed > physical_bytes():
        raise Error(
            f"argument '{text}' must have at most {_MOST_DIMENSIONS} dimensions and "
            f"{physical_bytes()} bytes, the memory of this machine"
        )
    if form == "zeros":
        return np.zeros(shape, dtype=dtype)
    if form == "iota":
        return _iota(math.prod(shape), kind, dtype).reshape(shape)
    generator = np.random.default_rng(int(seed or 0))
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if _is_integer(kind, dtype):
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return _rounded(generator.uniform(-1, 1, shape), kind, dtype)


def physical_bytes() -> int:
    """Return the memory of the machine: what is larger could be given, but not be filled."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _dtype(text: str, kind: str, types: Mapping[str, Any]) -> Any:
    if kind not in types:
        raise Error(f"argument '{text}' has an unknown type '{kind}', known: {', '.join(types)}")
    return types[kind]


def _is_integer(kind: str, dtype: Any) -> bool:
    return dtype.kind in "iu" and kind != "bf16"


def _iota(count: int, kind: str, dtype: Any) -> Any:
    numbers = np.arange(count, dtype=np.int64)
    if dtype.kind == "b":
        return (numbers % 2).astype(dtype)
    if _is_integer(kind, dtype):
        return numbers.astype(dtype)
    return _rounded(numbers % _exact_count(kind, dtype), kind, dtype)


def _exact_count(kind: str, dtype: Any) -> int:
    """Return how many integers from 0 on a float type holds before it skips one."""
    if kind == "bf16":
        return 1 << 8
    digits = 0
    while digits < 53 and float(np.asarray(2.0**digits + 1).astype(dtype)) == 2.0**digits + 1:
        digits += 1
    return 1 << digits


def _rounded(values: Any, kind: str, dtype: Any) -> Any:
    """Round numbers to a float type."""
    with np.errstate(all="ignore"):
        if dtype != _BITS:
            return np.asarray(values).astype(dtype)
        number = np.asarray(values).astype(np.float32)
        bits = number.view(np.uint32)
        # To nearest, ties to even.
        near = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
        return np.where(np.isnan(number), np.uint16(0x7FFF), near).astype(np.uint16)


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


def _typed(text: str, kind: str, digits: str, types: Mapping[str, Any]) -> Any:
    """Return the NumPy scalar for a number of a type; a number that does not fit is an Error."""
    value = _number(text, digits)
    dtype = _dtype(text, kind, types)
    misfit = Error(f"argument '{text}' does not fit its type")
    if dtype.kind == "b" or _is_integer(kind, dtype):
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        # NaN lies between no limits.
        if not limits[0] <= value <= limits[1] or value != int(value):
            raise misfit
        return dtype.type(int(value))
    try:
        rounded = _rounded(np.float64(value), kind, dtype)[()]
    except OverflowError:  # an integer beyond f64
        raise misfit from None
    is_infinite = rounded & 0x7FFF == 0x7F80 if dtype == _BITS else np.isinf(rounded)
    if is_infinite and not math.isinf(value):
        raise misfit
    return rounded


def as_array(value: Any) -> Any:
    """Return an argument as an array: raw bytes as those, a number as one of no dimensions."""
    return np.frombuffer(value, np.uint8) if isinstance(value, bytes) else np.asarray(value)


def compare(left: int, right: int, a: Any, b: Any) -> None:
    """Raise Error at the first element in which two arguments differ; NaN equals NaN."""
    a, b = as_array(a), as_array(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        raise Error(
            f"argument {left} must equal argument {right}, got {a.dtype}{list(a.shape)}"
            f" and {b.dtype}{list(b.shape)}"
        )
    different = (a != b) & ~((a != a) & (b != b))
    if different.any():
        first = tuple(int(i) for i in np.argwhere(different)[0])
        raise Error(
            f"argument {left} must equal argument {right}, but {int(different.sum())} of {a.size}"
            f" elements differ; the first at {list(first)}: {a[first]} and {b[first]}"
        )
