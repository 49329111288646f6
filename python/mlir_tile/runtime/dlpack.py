# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack capsules, read without taking them over.

A capsule that is not renamed frees its tensor itself: to use the memory is to keep the capsule.
Structures are those of dlpack.h, before and after version 1.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from mlir_tile.elements import ELEMENTS

__all__ = ["CUDA", "CUDA_MANAGED", "Content", "Exporter", "read_capsule"]

CUDA = 2
CUDA_MANAGED = 13
_READ_ONLY, _IS_COPIED = 1, 2

_ELEMENTS = {(element.dlpack, 8 * element.bytes): name for name, element in ELEMENTS.items()}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


@dataclass(frozen=True)
class Content:
    """A tensor as DLPack describes it; strides are in elements, the offset is in the pointer.

    The memory is there as long as the `capsule`; with `is_copy` it was made for this exchange.
    """

    pointer: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device_type: int
    device: int
    read_only: bool
    is_copy: bool
    capsule: Any = field(repr=False, compare=False)


class Exporter:
    """Hands on what another exports, and then says whether that `is_copy`."""

    is_copy = False

    def __init__(self, value: Any) -> None:
        self._value = value

    def __dlpack_device__(self) -> Any:
        """Return the device of the other."""
        return self._value.__dlpack_device__()

    def __dlpack__(self, *arguments: Any, **options: Any) -> Any:
        """Return the capsule of the other."""
        capsule = self._value.__dlpack__(*arguments, **options)
        self.is_copy = bool(_flags(capsule) & _IS_COPIED)
        return capsule


def read_capsule(value: Any, stream: int) -> Content:
    """Return what `value.__dlpack__` gives, with its content ready on `stream`.

    `stream` is as DLPack counts them for CUDA, where 1 is the legacy stream. Raises `BufferError`
    for what the capsule cannot be read as, and whatever the exporter raises.
    """
    try:
        capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:
        capsule = value.__dlpack__(stream=stream)
    flags = _flags(capsule)
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise BufferError(f"DLPack version {versioned.major} is not known")
        tensor = versioned.tensor
    elif _is_valid(capsule, b"dltensor"):
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    else:
        raise BufferError("__dlpack__ gave no DLPack capsule")
    element = _ELEMENTS.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if element is None:
        raise BufferError(
            f"DLPack type {tensor.code} of {tensor.bits} bits and {tensor.lanes} lanes is not known"
        )
    shape = tuple(tensor.shape[: tensor.ndim]) if tensor.ndim else ()
    return Content(
        (tensor.data or 0) + tensor.byte_offset,
        element,
        shape,
        tuple(tensor.strides[: tensor.ndim]) if tensor.strides and tensor.ndim else dense(shape),
        tensor.device_type,
        tensor.device_id,
        bool(flags & _READ_ONLY),
        bool(flags & _IS_COPIED),
        capsule,
    )


def _flags(capsule: Any) -> int:
    """Return what a capsule says of its tensor; before version 1 it says nothing."""
    if not _is_valid(capsule, b"dltensor_versioned"):
        return 0
    return int(_Versioned.from_address(_pointer(capsule, b"dltensor_versioned")).flags)


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a tensor in row-major order, in elements."""
    strides, running = [], 1
    for extent in reversed(shape):
        strides.append(running)
        running *= extent
    return tuple(reversed(strides))


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
