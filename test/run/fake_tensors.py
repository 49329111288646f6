# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Device tensors without a device: NumPy arrays that say they are on a GPU, in each protocol."""

from __future__ import annotations

import ctypes
import weakref
from types import ModuleType, SimpleNamespace
from typing import Any

import fake_cuda
import numpy.typing as npt

from mlir_tile.runtime import dlpack

Array = npt.NDArray[Any]


class Interface:
    """Offers `__cuda_array_interface__` alone."""

    def __init__(self, array: Array, stream: int | None = None, **changes: Any) -> None:
        self.array = array
        interface = dict(array.__array_interface__) | {"version": 3, "stream": stream}
        self.__cuda_array_interface__ = interface | changes


class Dlpack:
    """Offers DLPack alone, of version 1 or older; remembers the streams that it is asked for."""

    def __init__(
        self,
        array: Array,
        device: int = 0,
        device_type: int = 2,
        versioned: bool = True,
        flags: int = 0,
    ) -> None:
        self.array, self.versioned, self.flags = array, versioned, flags
        self.device = (device_type, device)
        self.streams: list[int | None] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        if options and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.streams.append(stream)
        capsule = self.array.__dlpack__(max_version=(1, 0) if self.versioned else None)
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        structure = dlpack._Versioned if self.versioned else dlpack._Tensor
        content: Any = structure.from_address(dlpack._pointer(capsule, name))
        tensor = content.tensor if self.versioned else content
        if self.versioned:
            content.flags |= self.flags
        tensor.device_type, tensor.device_id = self.device
        return capsule


class Temporary(Dlpack):
    """Exports an array that nobody else holds, made for each exchange."""

    def __dlpack__(self, **options: Any) -> Any:
        self.array = self.array.copy()
        self._exported = weakref.ref(self.array)
        capsule = super().__dlpack__(**options)
        self.array = self.array.copy()
        return capsule

    def is_alive(self) -> bool:
        """Whether the array that was exported last is still there."""
        return self._exported() is not None


STRIDED = object()


class TorchTensor:
    """Has what is asked of a `torch.Tensor`."""

    requires_grad = False
    layout = STRIDED

    def __init__(self, array: Array, device: int = 0) -> None:
        self.array = array
        self.dtype = f"torch.{array.dtype}"
        self.shape = array.shape
        self._device = device
        self.device = SimpleNamespace(type="cpu" if device < 0 else "cuda")
        self.negated = False

    def is_neg(self) -> bool:
        return self.negated

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def data_ptr(self) -> int:
        return self.array.ctypes.data if self.array.size else 0

    def get_device(self) -> int:
        return self._device


class CupyArray:
    """Has what is asked of a `cupy.ndarray`."""

    def __init__(self, array: Array, device: int = 0) -> None:
        self.array, self.dtype = array, array.dtype
        self.shape, self.strides = array.shape, array.strides
        self.data = SimpleNamespace(ptr=array.ctypes.data, device_id=device)


class Streams:
    """The current streams of the two libraries, by device."""

    def __init__(self) -> None:
        self.torch = {0: 0, 1: 0}
        self.cupy = {0: 0, 1: 0}

    def modules(self) -> dict[str, ModuleType]:
        """Return what stands for the libraries in `sys.modules`."""
        torch: Any = ModuleType("torch")
        torch.Tensor = TorchTensor
        torch.strided = STRIDED
        torch._C = SimpleNamespace(_cuda_getCurrentRawStream=self.torch.__getitem__)
        cupy: Any = ModuleType("cupy")
        cupy.ndarray = CupyArray
        cupy.cuda = SimpleNamespace(
            get_current_stream=lambda device: SimpleNamespace(ptr=self.cupy[device])
        )
        return {"torch": torch, "cupy": cupy}


def on_device(fake: fake_cuda.FakeDriver, array: Array, device: int = 0) -> Array:
    """Let the driver know the memory of an array as a device's."""
    whole = array if array.base is None else array.base
    fake.add_device_memory(whole.ctypes.data, whole.nbytes, device)
    return array


def words(values: list[int]) -> list[int]:
    """Return values as unsigned words of 8 bytes."""
    return [ctypes.c_uint64(value).value for value in values]
