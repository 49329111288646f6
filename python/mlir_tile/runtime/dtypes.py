# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR element types and the NumPy dtypes of their values."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

__all__ = [
    "NUMPY_ELEMENTS",
    "dtype_of",
    "element_bytes",
    "element_dtypes",
    "element_of",
    "is_same_element",
    "is_same_name",
]

# bf16 and f8 arrays are for those who install it.
_ml_dtypes: Any = None
if importlib.util.find_spec("ml_dtypes"):
    _ml_dtypes = importlib.import_module("ml_dtypes")

_NUMPY = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
NUMPY_ELEMENTS = frozenset(_NUMPY)
_ML_DTYPES = {
    "bf16": "bfloat16",
    "f8E5M2": "float8_e5m2",
    "f8E4M3": "float8_e4m3",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E3M4": "float8_e3m4",
    "f8E8M0FNU": "float8_e8m0fnu",
}
_WIDE_ML_DTYPES = {"bf16": 2}  # the others have a byte
_BY_DTYPE = {np.dtype(dtype).name: name for name, dtype in _NUMPY.items() if name != "index"}
_BY_DTYPE |= {f"uint{bits}": f"ui{bits}" for bits in (8, 16, 32, 64)}
_BY_DTYPE |= {dtype: name for name, dtype in _ML_DTYPES.items()}
_REQUIRED: Any = object()


def element_dtypes() -> dict[str, Any]:
    """Return the dtypes of the element types that there are some for here."""
    dtypes = {name: dtype_of(name, None) for name in (*_NUMPY, *_ML_DTYPES)}
    return {name: dtype for name, dtype in dtypes.items() if dtype is not None}


def dtype_of(element: str, default: Any = _REQUIRED) -> Any:
    """Return the NumPy dtype of an MLIR element type; `ValueError`, or `default`, without one."""
    signless = element[1:] if element[:2] in ("si", "ui") else element
    if signless in _NUMPY:
        return np.dtype(_NUMPY[signless])
    if element in _ML_DTYPES and _ml_dtypes is not None:
        found = getattr(_ml_dtypes, _ML_DTYPES[element], None)
        if found is not None:
            return np.dtype(found)
    if default is not _REQUIRED:
        return default
    if element in _ML_DTYPES:
        raise ValueError(f"element type {element} needs the package ml_dtypes")
    raise ValueError(f"element type {element} has no NumPy dtype")


def element_of(dtype: str) -> str:
    """Return MLIR's name for a dtype's; the same text for one that it has no name for."""
    return _BY_DTYPE.get(dtype, dtype)


def element_bytes(element: str) -> int | None:
    """Return the bytes of an MLIR element type, None for one that Python cannot pass.

    None also for i4 and the like: host code reads a whole byte for one and takes its upper half to
    be zero, which `ml_dtypes.int4`, that extends the sign, does not keep to.
    """
    if element in _ML_DTYPES:
        return _WIDE_ML_DTYPES.get(element, 1)
    dtype = dtype_of(element, None)
    return None if dtype is None else int(dtype.itemsize)


def is_same_name(given: str, element: str) -> bool:
    """Whether `given`, an element type by MLIR's name, is `element` but for signs."""
    wanted, have = (name[1:] if name[:2] in ("si", "ui") else name for name in (element, given))
    wanted = "i64" if wanted == "index" else wanted
    return have == wanted or (wanted == "i1" and have == "i8")


def is_same_element(dtype: np.dtype[Any], element: str) -> bool:
    """Whether arrays of `dtype` hold `element`: MLIR's integers have no sign of their own."""
    expected = dtype_of(element)
    if dtype == expected:
        return True
    if not dtype.isnative:
        return False
    if element in _ML_DTYPES and dtype.kind == "V" and dtype.fields is None:
        return bool(dtype.itemsize == expected.itemsize)  # how .npy files hold such a type
    is_bit = element == "i1" and dtype in (np.dtype(np.int8), np.dtype(np.uint8))
    is_unsigned = dtype.kind == "u" and expected.kind == "i" and dtype.itemsize == expected.itemsize
    return is_bit or is_unsigned
