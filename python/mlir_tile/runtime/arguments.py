# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The argument forms of `tile-run --arg`: text in, NumPy arrays and numbers out.

    A.npy                    the array in the file
    zeros:128x64xf16         zeros
    iota:128x64xf16          0, 1, 2, ... in row-major order
    random:128x64xf16        random numbers from seed 0
    random:7:128x64xf16      random numbers from seed 7
    3, 0x10, 1.5             a number, for a scalar argument

`iota` holds exact values only: integers wrap, and floats count modulo the first power of two after
which their type skips integers (2048 for f16). `random` draws floats from [-1, 1) and integers from
the whole range of their type.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mlir_tile.runtime.dtypes import dtype_of, element_names

__all__ = ["parse_argument", "parse_shaped"]

_SHAPED = re.compile(r"(?P<extents>(?:\d+x)*)(?P<element>[a-zA-Z]\w*)")
_MOST_DIMENSIONS = 32  # what every NumPy has
_FORMS = "a .npy file, zeros:SHAPExDTYPE, iota:SHAPExDTYPE, random[:SEED]:SHAPExDTYPE or a number"


def parse_argument(text: str) -> npt.NDArray[Any] | int | float:
    """Return the value that `text` stands for; raise `ValueError` that quotes what is wrong."""
    try:
        return _parsed(text)
    except (MemoryError, OverflowError):
        raise ValueError(f"'{text}' does not fit into memory") from None


def _parsed(text: str) -> npt.NDArray[Any] | int | float:
    form, _, rest = text.partition(":")
    if form == "zeros":
        shape, dtype = parse_shaped(rest, text)
        return np.zeros(shape, dtype)
    if form == "iota":
        shape, dtype = parse_shaped(rest, text)
        return _iota(math.prod(shape), dtype).reshape(shape)
    if form == "random":
        return _random(rest, text)
    if text.endswith(".npy"):
        return _load(text)
    return _number(text)


def parse_shaped(shaped: str, text: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of `SHAPExDTYPE`, a part of the argument `text`."""
    match = _SHAPED.fullmatch(shaped)
    if match is None:
        raise ValueError(f"'{text}' must give SHAPExDTYPE, as in 128x64xf16, got '{shaped}'")
    element = match["element"]
    try:
        dtype: np.dtype[Any] = dtype_of(element)
    except ValueError as error:
        known = ", ".join(element_names())
        raise ValueError(f"'{text}' has an unknown type: {error}; known are {known}") from None
    extents = match["extents"].split("x")[:-1]
    if len(extents) > _MOST_DIMENSIONS:
        raise ValueError(
            f"'{text}' must have at most {_MOST_DIMENSIONS} dimensions, got {len(extents)}"
        )
    longest = max(map(len, extents), default=0)
    shape = tuple(map(int, extents)) if longest < 19 else (10**19,)
    # NumPy multiplies extents without asking whether another one is 0.
    needed = math.prod(max(extent, 1) for extent in shape) * dtype.itemsize
    if needed > physical_bytes():
        raise ValueError(f"'{text}' must fit into the {physical_bytes()} bytes of this machine")
    return shape, dtype


def physical_bytes() -> int:
    """Return the memory of the machine: what is larger may be given, but not be filled."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _exact_count(dtype: np.dtype[Any]) -> int | None:
    """How many integers from 0 on a float type holds before it skips one; None for integers."""
    if dtype.kind in "iub":
        return None
    digits = 0
    while float(np.asarray(2.0**digits + 1).astype(dtype)) == 2.0**digits + 1 and digits < 53:
        digits += 1
    return int(2**digits)


def _iota(count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    numbers = np.arange(count, dtype=np.int64)
    if dtype.kind == "b":
        return (numbers % 2).astype(dtype)
    exact = _exact_count(dtype)
    return (numbers if exact is None else numbers % exact).astype(dtype)


def _random(rest: str, text: str) -> npt.NDArray[Any]:
    seed_text, colon, shaped = rest.partition(":")
    if not colon:
        seed_text, shaped = "0", rest
    if not seed_text.isdecimal():
        raise ValueError(f"'{text}' must have a seed of decimal digits, got '{seed_text}'")
    shape, dtype = parse_shaped(shaped, text)
    generator = np.random.default_rng(int(seed_text))
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.uniform(-1, 1, shape).astype(dtype)


def _load(text: str) -> npt.NDArray[Any]:
    if not Path(text).is_file():
        raise ValueError(f"'{text}' is not a file")
    try:
        array = np.load(text, allow_pickle=False)
    except Exception as error:  # whatever the parts of NumPy's reader raise on a damaged header
        raise ValueError(f"'{text}' cannot be read as an array: {error}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"'{text}' must hold one array, got an archive of arrays")
    return array


def _number(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"'{text}' must be {_FORMS}") from None
    if math.isinf(value) and "inf" not in text.lower():
        raise ValueError(f"'{text}' must be a number that f64 holds")
    return value
