# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A GPU behind the interface of `tile_emulator.Device`, to run the same PTX on both.

Over the CUDA driver's own functions, so that neither the compiler nor the run-time library of the
project takes part.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

CLUSTER_DIMENSION = 4
MAX_DYNAMIC_SHARED_SIZE_BYTES = 8

# Of tensor maps, as the driver counts them.
DATA_TYPES = (
    "uint8", "uint16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64",
    "bfloat16",
)  # fmt: skip


class _Attribute(ctypes.Structure):
    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("value", ctypes.c_uint * 16),
    )


class _Config(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint),
    )


class CudaDevice:
    """GPU 0, in its primary context, for the length of a `with` statement."""

    def __enter__(self) -> CudaDevice:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._memory: list[int] = []
        self._call("cuInit", 0)
        context = ctypes.c_void_p()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxSetCurrent", context)
        return self

    def __exit__(self, *unused: object) -> None:
        for pointer in self._memory:
            self._call("cuMemFree_v2", ctypes.c_uint64(pointer))
        self._call("cuDevicePrimaryCtxRelease_v2", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorName(status, ctypes.byref(text))
            raise RuntimeError(f"{name} returned {(text.value or b'?').decode()}")

    def alloc(self, nbytes: int) -> int:
        """Return the address of new device memory."""
        pointer = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(nbytes))
        self._memory.append(pointer.value)
        return pointer.value

    def write(self, pointer: int, data: bytes) -> None:
        """Copy `data` to the device."""
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), data, ctypes.c_size_t(len(data)))

    def read(self, pointer: int, nbytes: int) -> bytes:
        """Copy bytes from the device."""
        data = ctypes.create_string_buffer(nbytes)
        self._call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(pointer), ctypes.c_size_t(nbytes))
        return data.raw

    def encode_tiled(
        self,
        data_type: str,
        rank: int,
        address: int,
        dims: Sequence[int],
        strides: Sequence[int],
        box: Sequence[int],
        steps: Sequence[int],
        *modes: str,
    ) -> bytes:
        """Return a tensor map by the driver's function, from what `te.encode_tiled` takes."""
        room = ctypes.create_string_buffer(128 + 64)
        at = -ctypes.addressof(room) % 64
        names = ((), ("none", "32B", "64B", "128B"), (), ("none", "nan"))
        numbers = [
            known.index(mode) if known else 0 for known, mode in zip(names, modes, strict=True)
        ]
        self._call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(ctypes.addressof(room) + at),
            DATA_TYPES.index(data_type),
            rank,
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*dims),
            (ctypes.c_uint64 * rank)(*strides),
            (ctypes.c_uint32 * rank)(*box),
            (ctypes.c_uint32 * rank)(*steps),
            *numbers,
        )
        return room.raw[at : at + 128]

    def launch(
        self,
        text: str,
        name: str,
        grid: int,
        block: int,
        cluster: int | None = None,
        smem: int = 0,
        args: Sequence[bytes] = (),
    ) -> None:
        """Compile the PTX, launch a kernel of it and wait for its end."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), text.encode())
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        self._call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED_SIZE_BYTES, smem)
        attribute = _Attribute(CLUSTER_DIMENSION, b"", (cluster or 1, 1, 1))
        config = _Config((grid, 1, 1), (block, 1, 1), smem, None, ctypes.pointer(attribute), 1)
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in args]
        pointers = (ctypes.c_void_p * len(args))(*map(ctypes.addressof, buffers))
        self._call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
        self._call("cuCtxSynchronize")
        self._call("cuModuleUnload", module)
