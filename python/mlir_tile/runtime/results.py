# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of host functions as Python values.

MLIR's C interface returns one scalar by value, and anything else through a pointer to a struct,
which comes first. A returned memref does not say whose its memory is. The run-time library knows
what the host code allocated: only that is taken over. What is an argument's or a global's is
copied, and anything else, as device memory, is refused: reading it might end the process.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlir_tile.errors import Error
from mlir_tile.runtime.dtypes import dtype_of, element_bytes
from mlir_tile.runtime.library import library
from mlir_tile.runtime.signature import Argument, MemRef, Scalar, Signature

__all__ = ["Results"]

# What the lowering of memref.get_global gives as the allocated pointer, which must not be freed.
_GLOBAL = 0xDEADBEEF


class Results:
    """Room for the results of one call of a host function, which takes the arrays in `alive`."""

    def __init__(self, signature: Signature, alive: Sequence[Any]) -> None:
        self._borrowed = {each.ctypes.data for each in alive if isinstance(each, np.ndarray)}
        self._name = signature.name
        self._results = signature.results
        self._offsets, size = _struct(signature.results)
        self.buffer = ctypes.create_string_buffer(max(size, 1))
        self._is_by_value = isinstance(signature.result, Scalar)

    def packed(self, arguments: list[Any]) -> list[Any]:
        """Return what the packed function takes: `arguments`, and where the results go."""
        if not self._results:
            return arguments
        if self._is_by_value:
            return [*arguments, self.buffer]
        return [ctypes.c_void_p(ctypes.addressof(self.buffer)), *arguments]

    def read(self) -> Any:
        """Return the results after the call.

        Raises `Error` for a memref whose memory has no known owner.
        """
        owned: dict[int, Any] = {}
        try:
            values = []
            for result, offset in zip(self._results, self._offsets, strict=True):
                raw = self.buffer.raw[offset : offset + _size(result)]
                if isinstance(result, Scalar):
                    values.append(_scalar(raw, dtype_of(result.element)))
                else:
                    values.append(self._array(result, raw, owned))
        except BaseException:
            self.discard()
            raise
        if len(self._results) < 2:
            return values[0] if values else None
        return tuple(values)

    def discard(self) -> None:
        """Free what the call allocated for results that are not returned."""
        for result, offset in zip(self._results, self._offsets, strict=True):
            if isinstance(result, MemRef):
                allocated = int.from_bytes(self.buffer.raw[offset : offset + 8], "little")
                if self._take(allocated):
                    library().tile_runtime_free(allocated)

    def _take(self, allocated: int) -> bool:
        """Whether memory was the host code's and is ours from now on."""
        return allocated not in self._borrowed and bool(library().tile_runtime_take(allocated))

    def _array(self, result: MemRef, raw: bytes, owned: dict[int, Any]) -> np.ndarray[Any, Any]:
        rank = (len(raw) // 8 - 3) // 2
        allocated, aligned = (int(word) for word in np.frombuffer(raw[:16], np.uint64))
        offset, *rest = (int(word) for word in np.frombuffer(raw[16:], np.int64))
        shape, strides = rest[:rank], rest[rank:]
        dtype = dtype_of(result.element)
        if 0 in shape and allocated not in owned:
            if self._take(allocated):
                library().tile_runtime_free(allocated)
            return np.zeros(shape, dtype)
        reach = [(n - 1) * s * dtype.itemsize for n, s in zip(shape, strides, strict=True)]
        first = aligned + offset * dtype.itemsize + sum(r for r in reach if r < 0)
        size = sum(map(abs, reach)) + dtype.itemsize
        if allocated not in owned and self._take(allocated):
            owned[allocated] = _Owner(allocated)
        owner = owned.get(allocated)
        if owner is None and allocated != _GLOBAL and allocated not in self._borrowed:
            raise Error(
                f"'{self._name}' returns {result} in memory that is not its own (memref.alloc), "
                "nor an argument's, nor a global's: host code cannot return device memory, or "
                "memory of a stack; copy it into an argument or a memref.alloc"
            )
        memory = (ctypes.c_char * size).from_address(first)
        memory.owner = owner
        array: np.ndarray[Any, Any] = np.ndarray(
            shape,
            dtype,
            memory,
            offset=aligned + offset * dtype.itemsize - first,
            strides=[s * dtype.itemsize for s in strides],
        )
        return array.copy() if owner is None else array


class _Owner:
    """Frees memory of the host code once, when no array needs it any more."""

    def __init__(self, allocated: int) -> None:
        # At the end of the process arrays may still be in use.
        weakref.finalize(self, library().tile_runtime_free, allocated).atexit = False


def _struct(results: Sequence[Argument]) -> tuple[list[int], int]:
    """Return the offset of each member of the struct, and its size in bytes."""
    offsets, size = [], 0
    for result in results:
        alignment = 8 if isinstance(result, MemRef) else _size(result)
        size = -(-size // alignment) * alignment
        offsets.append(size)
        size += _size(result)
    return offsets, size


def _size(result: Argument) -> int:
    if isinstance(result, MemRef):
        assert result.shape is not None
        return 8 * (3 + 2 * len(result.shape))
    size = element_bytes(result.element)
    assert size is not None
    return size


def _scalar(raw: bytes, dtype: np.dtype[Any]) -> Any:
    value = np.frombuffer(raw, dtype)[0]
    return value.item() if dtype.kind in "bif" else float(value)
