# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of PyTorch and arrays of NumPy, as rows of elements in memory.

PyTorch is there where it is installed, and nothing needs it.
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

torch: Any = None
with contextlib.suppress(ModuleNotFoundError):
    torch = importlib.import_module("torch")

ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4}
_ELEMENT_OF = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
}
_DTYPE_OF = {element: dtype for dtype, element in _ELEMENT_OF.items()}


def dtype_of(element: str) -> Any:
    """Return NumPy's dtype of an element type; of bf16 it needs `ml_dtypes`."""
    if element == "bf16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_DTYPE_OF[element])


FLOATS = ("f32", "f16", "bf16")


class Result(NamedTuple):
    """The shape of a result, and its element type."""

    shape: tuple[int, ...]
    element: str


class Rows(NamedTuple):
    """A tensor as the rows of its last dimension; `tensor` has one dimension or two.

    `step` is in elements. What has one dimension is the same row each time.
    """

    tensor: Any
    pointer: int
    step: int
    element: str


_ELEMENT_OF_DTYPE: dict[Any, str] = (
    {} if torch is None else {getattr(torch, name): el for name, el in _ELEMENT_OF.items()}
)


def is_torch(value: object) -> bool:
    """Whether `value` is a tensor of PyTorch."""
    return torch is not None and isinstance(value, torch.Tensor)


def element_of(tensor: Any) -> str:
    """Return MLIR's name of the element type, or the library's where MLIR has none here."""
    known = _ELEMENT_OF_DTYPE.get(tensor.dtype)
    return known or _ELEMENT_OF.get(str(tensor.dtype), str(tensor.dtype).removeprefix("torch."))


def check(name: str, tensor: Any, elements: Sequence[str], like: Any = None) -> None:
    """Raise `TypeError` or `ValueError` unless a kernel takes `tensor`.

    It must have one of the element types, and be where `like` is.
    """
    if not is_torch(tensor) and not isinstance(tensor, np.ndarray):
        kind = f"{type(tensor).__name__} {tensor!r}"[:80]
        raise TypeError(f"{name} must be a tensor of PyTorch or an array of NumPy, got {kind}")
    if element_of(tensor) not in elements:
        allowed = [_DTYPE_OF[element] for element in elements]
        wanted = " or ".join(filter(None, [", ".join(allowed[:-1]), allowed[-1]]))
        raise TypeError(f"{name} must have elements of {wanted}, got {tensor.dtype}")
    if is_torch(tensor):
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                f"{name} must not require a gradient, as this kernel has none; detach() it"
            )
        if str(tensor.layout) != "torch.strided":
            raise TypeError(f"{name} must be a strided tensor, got {tensor.layout}")
    if like is None:
        return
    if is_torch(tensor) != is_torch(like):
        raise TypeError(f"{name} must be of the same library as x, got {type(tensor).__name__}")
    if is_torch(tensor) and tensor.device != like.device:
        raise ValueError(f"{name} must be on {like.device}, as x is, got {tensor.device}")


def check_rows(name: str, tensor: Any) -> None:
    """Raise `TypeError` or `ValueError` unless `tensor` has rows of floats."""
    check(name, tensor, FLOATS)
    if tensor.ndim == 0:
        raise ValueError(f"{name} must have at least one dimension, got a tensor without any")


def check_shape(name: str, tensor: Any, shape: tuple[int, ...]) -> None:
    """Raise `ValueError` for a tensor of another shape."""
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {tuple(tensor.shape)}")


def number(name: str, given: Any) -> float:
    """Return `given` as a float; raise `TypeError` for what is none."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{name} must be a number, got {given!r}")
    return float(given)


def check_result(name: str, tensor: Any, result: Result, like: Any) -> None:
    """Raise `TypeError` or `ValueError` unless `tensor` can hold a result."""
    check(name, tensor, [result.element], like)
    check_shape(name, tensor, result.shape)
    if not is_torch(tensor) and not tensor.flags.writeable:
        raise ValueError(f"{name} must be writeable")


def empty(result: Result, like: Any) -> Any:
    """Return a new tensor where `like` is."""
    if is_torch(like):
        return like.new_empty(result.shape, dtype=getattr(torch, _DTYPE_OF[result.element]))
    return np.empty(result.shape, dtype_of(result.element))


def in_place(tensor: Any) -> Any:
    """Return what a kernel gets for a tensor: memory of the host as an array of NumPy."""
    if not is_torch(tensor):
        return tensor
    tensor = tensor.detach() if tensor.requires_grad else tensor
    if tensor.device.type != "cpu":
        return tensor
    if element_of(tensor) != "bf16":
        return tensor.numpy()
    return tensor.view(torch.int16).numpy().view(dtype_of("bf16"))


def rows_of(tensor: Any, length: int) -> Rows:
    """Return a tensor that is not empty as rows of `length` elements that follow each other.

    What is laid out otherwise is copied.
    """
    if is_torch(tensor):
        strides = tensor.stride()
        if len(strides) != 2 or strides[1] != 1:
            tensor = _torch_rows(tensor, length)
            strides = tensor.stride()
        return Rows(tensor, tensor.data_ptr(), strides[0], element_of(tensor))
    size = tensor.itemsize
    if tensor.strides[-1] != size and length > 1:
        tensor = np.ascontiguousarray(tensor)
    tensor = tensor.reshape(-1, length)
    if not tensor.flags.writeable or tensor.strides[0] % size:
        tensor = tensor.copy()  # kernels may write to all that they get
    return Rows(tensor, tensor.ctypes.data, tensor.strides[0] // size, element_of(tensor))


def _torch_rows(tensor: Any, length: int) -> Any:
    if tensor.stride(-1) != 1 and length > 1:
        tensor = tensor.contiguous()
    if tensor.dim() != 2:
        tensor = tensor.reshape(-1, length)
    if tensor.stride(1) != 1:  # of a single column
        tensor = tensor.as_strided(tensor.shape, (tensor.stride(0), 1))
    return tensor


def vector_of(tensor: Any) -> Rows:
    """Return a tensor of one dimension, which is the same for all rows."""
    if is_torch(tensor):
        tensor = tensor.contiguous()
        return Rows(tensor, tensor.data_ptr(), 0, element_of(tensor))
    tensor = np.require(tensor, requirements=["C", "W"])
    return Rows(tensor, tensor.ctypes.data, 0, element_of(tensor))


def write_back(rows: Rows, tensor: Any) -> None:
    """Bring what was written to a copy of `tensor` there; do nothing where `rows` are no copy."""
    if is_torch(tensor):
        if rows.pointer != tensor.data_ptr():
            tensor.copy_(rows.tensor.view(tensor.shape))
    elif rows.pointer != tensor.ctypes.data:
        tensor[...] = rows.tensor.reshape(tensor.shape)


def common_alignment(x: Rows, other: Rows, lanes: int) -> int:
    """Return bytes of which the addresses of vectors of `other` are multiples.

    They are of `lanes` elements, and begin in the columns in which those of `x` begin at a multiple
    of 16 bytes.
    """
    size = ELEMENT_BYTES[other.element]
    start = x.pointer // ELEMENT_BYTES[x.element] * size
    steps = (other.step - x.step) * size if x.tensor.shape[0] > 1 else 0
    return math.gcd(16, lanes * size, other.pointer - start, steps)
