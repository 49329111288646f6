# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parameters of a lowered kernel, packed into bytes.

A memref is its descriptor's fields, each a parameter of its own: allocated and aligned pointer,
offset, sizes, strides. Each parameter gets 8 bytes, whatever it needs of them.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from mlir_tile.runtime.dtypes import element_bytes, is_same_name
from mlir_tile.runtime.kernel_signature import KernelSignature
from mlir_tile.runtime.signature import MemRef, Scalar
from mlir_tile.runtime.tensors import Tensor

__all__ = ["Parameters", "Place"]


class Place(NamedTuple):
    """The parameters of a memref besides its pointer.

    `tail` is offset, sizes and strides as bytes; `offset_bytes` precede the first element, and a
    base with one of `misaligned_bits` is not aligned as the kernel needs it.
    """

    offset_bytes: int
    misaligned_bits: int
    tail: bytes


class Parameters:
    """How a kernel's arguments become its parameters.

    `scalars` has what converts each argument that is no memref, else None, and `pack` returns the
    bytes: of a memref it takes two pointers and the tail, of a scalar the converted value.
    """

    def __init__(self, signature: KernelSignature) -> None:
        self._signature = signature
        self.memrefs = [n for n, a in enumerate(signature.arguments) if isinstance(a, MemRef)]
        self.scalars: list[Callable[[Any], Any] | None] = []
        formats, self.count = ["<"], 0
        for number, argument in enumerate(signature.arguments):
            if isinstance(argument, MemRef):
                fields = 3 + 2 * len(argument.shape or ())
                formats.append(f"QQ{8 * (fields - 2)}s")
                self.count += fields
                self.scalars.append(None)
            else:
                code, convert = _scalar(argument, self.where(number))
                formats.append(f"{code}{8 - struct.calcsize('<' + code)}x")
                self.count += 1
                self.scalars.append(convert)
        self.pack: Callable[..., bytes] = struct.Struct("".join(formats)).pack
        self.offsets = (ctypes.c_int64 * max(self.count, 1))(*range(0, 8 * self.count, 8))

    def where(self, number: int) -> str:
        """Return how errors name an argument."""
        return f"argument {number} of kernel '{self._signature.name}'"

    def wrong_count(self, given: int) -> TypeError:
        """Return the error for another number of arguments."""
        arguments = self._signature.arguments
        types = ", ".join(map(str, arguments))
        return TypeError(
            f"kernel '{self._signature.name}' takes {len(arguments)} arguments ({types}), "
            f"got {given}"
        )

    def places(self, tensors: dict[int, Tensor]) -> tuple[Place | None, ...]:
        """Check tensors, by number, against their types; return a place for each memref."""
        return tuple(
            self._place(number, argument, tensors[number]) if number in tensors else None
            for number, argument in enumerate(self._signature.arguments)
        )

    def _place(self, number: int, argument: Any, tensor: Tensor) -> Place:
        memref, where = argument, self.where(number)
        if not is_same_name(tensor.element, memref.element):
            raise memref.wrong_element(tensor.element, where)
        memref.check_shape(tensor.shape, where)
        size = element_bytes(memref.element)
        assert size is not None
        strides = memref.element_strides(
            tensor.shape, [size * stride for stride in tensor.strides], size, where
        )
        if tensor.read_only:
            raise memref.not_writeable(where)
        if tensor.is_copy:
            raise memref.copied(where)
        if tensor.pointer % size:
            raise memref.misaligned(where)
        return _place(memref, size, tensor.pointer, tensor.shape, strides, where)

    def of_host_arrays(
        self, values: Sequence[Any]
    ) -> tuple[list[Any], list[tuple[int, int]], list[Any]]:
        """Return what `pack` takes for arrays in host memory, the memory that they need, and them.

        The memory as disjoint pairs of an address and a size in bytes. It is there as long as the
        arrays are.
        """
        fields: list[Any] = []
        spans = []
        arrays = []
        for number, argument in enumerate(self._signature.arguments):
            if not isinstance(argument, MemRef):
                convert = self.scalars[number]
                assert convert is not None
                fields.append(convert(values[number]))
                continue
            array = argument.array(values[number], self.where(number))
            arrays.append(array)
            strides = argument.host_strides(array, self.where(number))
            address = array.ctypes.data
            where = self.where(number)
            place = _place(argument, array.itemsize, address, array.shape, strides, where)
            fields += (address, address - place.offset_bytes, place.tail)
            if array.size:
                reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
                first = address + sum(r for r in reach if r < 0)
                spans.append((first, first + sum(map(abs, reach)) + array.itemsize))
        return fields, _merged(spans), arrays


def _place(
    memref: MemRef,
    size: int,
    address: int,
    shape: Sequence[int],
    strides: Sequence[int],
    where: str,
) -> Place:
    """Return the place of what begins at `address`; raise `ValueError` for a broken promise."""
    offset = memref.offset or 0
    if (base := address - offset * size) % memref.alignment:
        raise memref.off_alignment(base, where)
    memref.check_multiples(shape, strides, where)
    words = (offset, *shape, *strides)
    bits = max(size, memref.alignment) - 1
    return Place(offset * size, bits, struct.pack(f"<{len(words)}q", *words))


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return addresses and sizes of spans, given by first and last address, that may overlap."""
    merged: list[list[int]] = []
    for first, end in sorted(spans):
        if merged and first < merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([first, end])
    return [(first, end - first) for first, end in merged]


def _scalar(argument: Scalar, where: str) -> tuple[str, Callable[[Any], Any]]:
    """Return the `struct` code of a scalar, and what converts a value to it."""
    size = element_bytes(argument.element)
    code = f"{size}s"

    def convert(value: Any) -> bytes:
        return bytes(argument.convert(value, where)[0].raw)

    # NumPy would do for all, but takes as long as the launch.
    if argument.element in ("f32", "f64"):
        pack = struct.Struct("<f" if argument.element == "f32" else "<d").pack

        def convert_float(value: Any) -> bytes:
            if type(value) is float:
                try:
                    return pack(value)
                except OverflowError:
                    pass
            return convert(value)

        return code, convert_float
    if argument.element in ("i32", "i64", "index"):
        bits = 8 * (size or 0)
        lowest, highest, mask = -(1 << (bits - 1)), (1 << bits) - 1, (1 << bits) - 1

        def convert_integer(value: Any) -> bytes:
            if type(value) is int and lowest <= value <= highest:
                return (value & mask).to_bytes(bits // 8, "little")
            return convert(value)

        return code, convert_integer
    return code, convert
