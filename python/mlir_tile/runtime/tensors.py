# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors in device memory, whichever library made them, as pointers with a layout.

PyTorch's and CuPy's are asked directly. Others are read through DLPack, which lets them order their
content before the stream of the launch, or else through `__cuda_array_interface__`. Neither of the
two is imported here.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlir_tile.runtime.dlpack import CUDA, CUDA_MANAGED, dense, read_capsule
from mlir_tile.runtime.dtypes import element_of
from mlir_tile.runtime.library import library
from mlir_tile.runtime.streams import LEGACY, normal

__all__ = ["FAST_READERS", "Tensor", "owner_of", "read_tensor"]


@dataclass(frozen=True)
class Tensor:
    """A tensor on a device; `stream` is where its content is ready, None where it is anywhere.

    `device` is None for a tensor without elements that does not say. Strides are in elements. The
    memory may be there only as long as `owner`; with `is_copy` what is written to it is lost.
    """

    pointer: int
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int | None
    read_only: bool = False
    stream: int | None = None
    is_copy: bool = False
    owner: Any = field(default=None, repr=False, compare=False)


def owner_of(value: Any) -> str:
    """Return "torch" or "cupy" for their tensors, else an empty text."""
    for owner, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        module = sys.modules.get(owner)
        if module is not None and isinstance(value, getattr(module, name)):
            return owner
    return ""


def _read_torch(tensor: Any) -> tuple[int, Hashable]:
    # The memory of such a tensor does not hold its values, or autograd must see all writes to it.
    return tensor.data_ptr(), (
        tensor.dtype,
        tensor.shape,
        tensor.stride(),
        tensor.get_device(),
        tensor.requires_grad or tensor.is_neg(),
    )


def _read_cupy(array: Any) -> tuple[int, Hashable]:
    data = array.data
    return data.ptr, (array.dtype, array.shape, array.strides, data.device_id)


FAST_READERS: dict[str, Callable[[Any], tuple[int, Hashable]]] = {
    "torch": _read_torch,
    "cupy": _read_cupy,
}
"""What gives the pointer and the layout of an owner's tensors fast. Equal layouts are those of
tensors that a kernel takes or refuses alike; see `read_tensor`."""


def read_tensor(value: Any, owner: str, where: str, driver: int, stream: int | None) -> Tensor:
    """Return a tensor in device memory, of that `owner`; DLPack gets the stream of the launch.

    Raises `TypeError` for anything else, in words that name `where` it was passed, and for what its
    library does not give away.
    """
    try:
        if owner == "torch":
            return _torch(value, where)
        if owner == "cupy":
            return _cupy(value)
        if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
            return _dlpack(value, where, stream)
        if hasattr(value, "__cuda_array_interface__"):
            return _interface(value.__cuda_array_interface__, where, driver)
    except (BufferError, RuntimeError, KeyError) as error:
        raise TypeError(f"{where} cannot be read as a device tensor: {error}") from error
    kind = f"{type(value).__name__} {value!r}"[:80]
    raise TypeError(f"{where} must be a device tensor, got {kind}")


def _on_host(value: Any, where: str) -> TypeError:
    return TypeError(
        f"{where} must be on a GPU, got a {type(value).__name__} in host memory: pass a device "
        'tensor, use device="emulator", or let a host function copy it (exe.invoke)'
    )


def _torch(tensor: Any, where: str) -> Tensor:
    if tensor.device.type == "cpu":
        raise _on_host(tensor, where)
    if tensor.device.type != "cuda":
        raise TypeError(f"{where} must be a CUDA tensor, got one on {tensor.device}")
    if tensor.layout != sys.modules["torch"].strided:
        raise TypeError(f"{where} must be a strided tensor, got {tensor.layout}")
    if tensor.requires_grad:
        raise TypeError(f"{where} must not require a gradient, as kernels have none; detach() it")
    if tensor.is_neg():
        raise TypeError(f"{where} is a negated view; pass what resolve_neg() returns")
    name = str(tensor.dtype).removeprefix("torch.")
    return Tensor(
        int(tensor.data_ptr()),
        element_of(name),
        tuple(tensor.shape),
        tuple(tensor.stride()),
        int(tensor.get_device()),
    )


def _cupy(array: Any) -> Tensor:
    name = str(array.dtype)
    size = array.dtype.itemsize
    return Tensor(
        int(array.data.ptr),
        element_of(name),
        tuple(array.shape),
        _whole(array.strides, size),
        int(array.data.device_id),
    )


def _dlpack(value: Any, where: str, stream: int | None) -> Tensor:
    device_type = int(value.__dlpack_device__()[0])
    if device_type not in (CUDA, CUDA_MANAGED):
        raise _on_host(value, where)
    # 1 is DLPack's word for the legacy stream, and 0 is not allowed.
    content = read_capsule(value, stream or 1)
    return Tensor(
        content.pointer,
        content.element,
        content.shape,
        content.strides,
        content.device,
        content.read_only,
        stream or LEGACY,
        content.is_copy,
        content.capsule,
    )


def _interface(described: dict[str, Any], where: str, driver: int) -> Tensor:
    pointer, read_only = described["data"]
    pointer = int(pointer or 0)
    typestr, shape = described["typestr"], tuple(described["shape"])
    if described.get("mask") is not None:
        raise TypeError(f"{where} must not have a mask")
    dtype = np.dtype(typestr)
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise TypeError(f"{where} has elements of type '{typestr}', which no memref holds")
    element = element_of(dtype.name)
    given = described.get("strides")
    strides = dense(shape) if given is None else _whole(given, dtype.itemsize)
    device = None
    if 0 not in shape or pointer:
        ordinal = ctypes.c_int()
        library().tile_runtime_pointer(driver, pointer, ctypes.byref(ordinal))
        if ordinal.value < 0:
            raise TypeError(f"{where} must be on a GPU, its address 0x{pointer:x} is on none")
        device = ordinal.value
    stream = described.get("stream")
    if stream == 0:
        raise ValueError(f"{where} gives stream 0, which __cuda_array_interface__ does not allow")
    return Tensor(
        pointer,
        element,
        shape,
        strides,
        device,
        bool(read_only),
        None if stream is None else normal(int(stream)),
    )


def _whole(strides_bytes: tuple[int, ...], size: int) -> tuple[int, ...]:
    if any(stride % size for stride in strides_bytes):
        raise BufferError(f"strides of {strides_bytes} bytes are not whole elements of {size}")
    return tuple(stride // size for stride in strides_bytes)
