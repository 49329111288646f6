# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR element types and the NumPy dtypes of their values."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

from mlir_tile.elements import ELEMENTS, signless

__all__ = [
    "dtype_of",
    "element_bytes",
    "element_dtypes",
    "element_of",
    "is_extension",
    "is_same_element",
    "is_same_name",
]

# Optional: without it there are no bf16 and f8 arrays.
_ml_dtypes: Any = None
if importlib.util.find_spec("ml_dtypes"):
    _ml_dtypes = importlib.import_module("ml_dtypes")

_BY_DTYPE = {element.numpy: name for name, element in ELEMENTS.items() if name != "index"}
_REQUIRED: Any = object()


def element_dtypes() -> dict[str, Any]:
    """Return the dtypes of all element types that have one in this environment."""
    dtypes = {name: dtype_of(name, None) for name in ELEMENTS if name == signless(name)}
    return {name: dtype for name, dtype in dtypes.items() if dtype is not None}


def dtype_of(element: str, default: Any = _REQUIRED) -> Any:
    """Return the NumPy dtype of an MLIR element type; `ValueError`, or `default`, without one.

    An integer has that with a sign, whichever its own is.
    """
    known = ELEMENTS.get(signless(element))
    if known is not None and not known.is_extension:
        return np.dtype(known.numpy)
    if known is not None and hasattr(_ml_dtypes, known.numpy):
        return np.dtype(getattr(_ml_dtypes, known.numpy))
    if default is not _REQUIRED:
        return default
    if known is not None:
        raise ValueError(f"element type {element} needs the package ml_dtypes")
    raise ValueError(f"element type {element} has no NumPy dtype")


def element_of(dtype: str) -> str:
    """Return MLIR's name for a dtype's; the same text for one that it has no name for."""
    return _BY_DTYPE.get(dtype, dtype)


def element_bytes(element: str) -> int | None:
    """Return the bytes of an MLIR element type, None for one that Python cannot pass.

    None also for types such as i4: host code reads a whole byte for one and expects zeros in its
    upper half, where `ml_dtypes.int4` extends the sign.
    """
    known = ELEMENTS.get(signless(element))
    return None if known is None else known.bytes


def is_extension(element: str) -> bool:
    """Whether only ml_dtypes has a dtype for an element type."""
    return element in ELEMENTS and ELEMENTS[element].is_extension


def is_same_name(given: str, element: str) -> bool:
    """Whether `given`, an element type by MLIR's name, is `element` but for signs."""
    wanted, have = signless(element), signless(given)
    wanted = "i64" if wanted == "index" else wanted
    return have == wanted or (wanted == "i1" and have == "i8")


def is_same_element(dtype: np.dtype[Any], element: str) -> bool:
    """Whether arrays of `dtype` hold `element`: MLIR's integers have no sign of their own."""
    expected = dtype_of(element)
    if dtype == expected:
        return True
    if not dtype.isnative:
        return False
    if is_extension(element) and dtype.kind == "V" and dtype.fields is None:
        return bool(dtype.itemsize == expected.itemsize)  # how .npy files hold such a type
    is_bit = element == "i1" and dtype in (np.dtype(np.int8), np.dtype(np.uint8))
    is_unsigned = dtype.kind == "u" and expected.kind == "i" and dtype.itemsize == expected.itemsize
    return is_bit or is_unsigned
