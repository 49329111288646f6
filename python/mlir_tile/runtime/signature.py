# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The signatures of host functions, and the conversion of Python values to their arguments.

Reads function types of the `func` dialect, before they are lowered; produces the memref descriptors
and scalars of MLIR's C interface. Everything is checked here, before anything runs.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mlir import ir

from mlir_tile.elements import ELEMENTS
from mlir_tile.runtime.dlpack import Exporter
from mlir_tile.runtime.dtypes import (
    dtype_of,
    element_bytes,
    element_of,
    is_extension,
    is_same_element,
)
from mlir_tile.runtime.tensors import owner_of

__all__ = ["Argument", "MemRef", "Scalar", "Signature", "parse_argument", "signatures_of"]


_LARGEST = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": sys.float_info.max}
"""Bounds within which a number needs no check of its range, which is slow."""


@dataclass(frozen=True)
class Scalar:
    """An integer, index or float argument, by its MLIR spelling."""

    element: str

    def __str__(self) -> str:
        return self.element

    def convert(self, value: Any, where: str) -> tuple[ctypes.Array[ctypes.c_char], list[Any]]:
        """Return the bytes of `value` as this type."""
        try:
            dtype = dtype_of(self.element)
        except ValueError as error:
            raise TypeError(f"{where} cannot be passed: {error}") from None
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if self.element in ELEMENTS and ELEMENTS[self.element].is_float:
            number = self._float(value, dtype, where)
        else:
            number = self._integer(value, dtype, where)
        return ctypes.create_string_buffer(number.tobytes(), dtype.itemsize), []

    def _float(self, value: Any, dtype: np.dtype[Any], where: str) -> npt.NDArray[Any]:
        try:
            given = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{where} must be a number, got {_kind(value)}") from None
        except OverflowError:
            raise self._beyond(value, where) from None
        if abs(given) <= _LARGEST.get(self.element, 0.0):
            return np.asarray(given).astype(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            number = np.asarray(given).astype(dtype)
        if math.isfinite(given) and not math.isfinite(float(number)):
            raise self._beyond(value, where)
        return number

    def _beyond(self, value: Any, where: str) -> ValueError:
        return ValueError(f"{where} must be in the range of {self.element}, got {_kind(value)}")

    def _integer(self, value: Any, dtype: np.dtype[Any], where: str) -> npt.NDArray[Any]:
        try:
            integer = operator.index(bool(value) if isinstance(value, np.bool_) else value)
        except TypeError:
            raise TypeError(f"{where} must be an integer, got {_kind(value)}") from None
        bits = 1 if self.element == "i1" else 8 * dtype.itemsize
        lowest, highest = (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << bits) - 1)
        if not lowest <= integer <= highest:
            raise ValueError(f"{where} must be from {lowest} to {highest}, got {integer}")
        raw = (integer & ((1 << 8 * dtype.itemsize) - 1)).to_bytes(dtype.itemsize, "little")
        return np.frombuffer(raw, np.uint8)


@dataclass(frozen=True)
class MemRef:
    """A memref argument; an extent, stride or offset of None is known only at run time.

    A kernel promises that its base is at a multiple of `alignment` bytes, and that its strides are
    `multiples`, in elements; a run-time offset is always passed as 0.
    """

    text: str
    element: str
    shape: tuple[int | None, ...] | None
    strides: tuple[int | None, ...]
    offset: int | None
    alignment: int = 1
    multiples: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text

    def convert(self, value: Any, where: str) -> tuple[ctypes.Array[ctypes.c_int64], list[Any]]:
        """Return the descriptor of `value`, and what must live as long as it is used."""
        array = self.array(value, where)
        # The address says where the first element is; a static offset of the type is added by the
        # program, so it is taken off first, and a dynamic one is 0.
        offset = self.offset or 0
        address = array.ctypes.data
        strides = self.host_strides(array, where)
        fields = [address, address - offset * array.itemsize, offset, *array.shape, *strides]
        descriptor = (ctypes.c_int64 * len(fields))(*fields)
        if self.shape is None:
            unranked = (ctypes.c_int64 * 2)(array.ndim, ctypes.addressof(descriptor))
            return unranked, [descriptor, array]
        return descriptor, [array]

    def array(self, value: Any, where: str) -> npt.NDArray[Any]:
        """Return `value` as an array of this element type and shape in host memory."""
        array = _host_array(value, where, self)
        try:
            is_same = is_same_element(array.dtype, self.element)
        except ValueError as error:
            raise TypeError(f"{where} cannot be passed: {error}") from None
        if not is_same:
            raise self.wrong_element(str(array.dtype), where)
        self.check_shape(array.shape, where)
        if not array.flags.writeable:
            raise self.not_writeable(where)
        return array

    def wrong_element(self, given: str, where: str) -> TypeError:
        """Return the error for elements of another type."""
        return TypeError(
            f"{where} must have element type {self.element}, as {self} does, got {given}"
        )

    def not_writeable(self, where: str) -> ValueError:
        """Return the error for an array that must not be written to."""
        return ValueError(
            f"{where} must be writeable, got a read-only array: a program may write to any "
            "memref that it takes; pass a copy"
        )

    def copied(self, where: str) -> ValueError:
        """Return the error for memory that an exporter made for us."""
        return ValueError(
            f"{where} must share its memory, got a copy that its library exported: what a program "
            "writes to a memref would be lost; pass an array whose own memory can be exported"
        )

    def misaligned(self, where: str) -> ValueError:
        """Return the error for elements that are not at multiples of their size."""
        return ValueError(
            f"{where} must be aligned to its elements, as {self} is, and starts between two; "
            "pass a copy"
        )

    def off_alignment(self, address: int, where: str) -> ValueError:
        """Return the error for a base that breaks the kernel's promise."""
        return ValueError(
            f"{where} must begin at a multiple of {self.alignment} bytes (llvm.align), got an "
            f"address that is {address % self.alignment} past one"
        )

    def check_multiples(self, shape: Sequence[int], strides: Sequence[int], where: str) -> None:
        """Raise `ValueError` for a stride, in elements, that breaks the kernel's promise."""
        for dimension, (multiple, stride) in enumerate(zip(self.multiples, strides, strict=False)):
            if shape[dimension] > 1 and stride % multiple:
                raise ValueError(
                    f"{where} must have a stride in dimension {dimension} that is a multiple of "
                    f"{multiple} elements (tile.multiple_of), got {stride}"
                )

    def check_shape(self, shape: tuple[int, ...], where: str) -> None:
        """Raise `ValueError` unless arrays of `shape` fit."""
        if self.shape is None or (
            len(shape) == len(self.shape)
            and all(w is None or w == h for w, h in zip(self.shape, shape, strict=True))
        ):
            return
        expected = "x".join("?" if n is None else str(n) for n in self.shape)
        given = "x".join(map(str, shape))
        raise ValueError(
            f"{where} must have shape {expected or '()'}, as {self} does, got {given or '()'}"
        )

    def host_strides(self, array: npt.NDArray[Any], where: str) -> list[int]:
        """Return the strides of `array` in elements, checked against this type."""
        strides = self.element_strides(array.shape, array.strides, array.itemsize, where)
        if not array.flags.aligned:
            raise self.misaligned(where)
        return strides

    def element_strides(
        self, shape: Sequence[int], strides_bytes: Sequence[int], itemsize: int, where: str
    ) -> list[int]:
        """Return strides in elements, checked against this type."""
        strides = []
        for dimension, stride in enumerate(strides_bytes):
            elements, rest = divmod(stride, itemsize)
            if rest:
                raise ValueError(
                    f"{where} must have strides of whole elements ({itemsize} bytes), got "
                    f"{stride} bytes in dimension {dimension}"
                )
            strides.append(elements)
        wanted = self._wanted_strides(shape)
        for dimension, (want, have) in enumerate(zip(wanted, strides, strict=True)):
            if want is None or want == have:
                continue
            if 0 not in shape and shape[dimension] > 1:
                raise ValueError(
                    f"{where} must have stride {want} in dimension {dimension}, as {self} does, "
                    f"got {have}"
                )
            strides[dimension] = want  # the stride of a single element means nothing
        return strides

    def _wanted_strides(self, shape: Sequence[int]) -> list[int | None]:
        if self.shape is not None and self.strides:
            return list(self.strides)
        wanted, running = [], 1
        for extent in reversed(shape):
            wanted.append(running)
            running *= extent
        # An unranked memref carries its strides; any array will do.
        return [None] * len(wanted) if self.shape is None else list(reversed(wanted))


Argument = Scalar | MemRef


@dataclass(frozen=True)
class Signature:
    """The `arguments` and `results` of the host function `name`.

    `unsupported` says why Python cannot call it, or is empty.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...] = ()
    unsupported: str = ""

    @property
    def result(self) -> Argument | None:
        """The result, if there is one and only one."""
        return self.results[0] if len(self.results) == 1 else None

    @classmethod
    def of(cls, name: str, types: Sequence[Any], results: Sequence[Any] = ()) -> Signature:
        """Make the signature of `name` from MLIR `types` and `results`, or from their text."""
        given = [*types, *results]
        context = next((t.context for t in given if isinstance(t, ir.Type)), None) or ir.Context()
        with context:
            mlir_types = [ir.Type.parse(each) if isinstance(each, str) else each for each in given]
            parsed = [parse_argument(each) for each in mlir_types]
        for number, (each, type_) in enumerate(zip(parsed, mlir_types, strict=True)):
            if number < len(types) and each is None:
                return cls(name, (), unsupported=f"argument {number} has type {type_}{_why(type_)}")
            if number >= len(types) and (each is None or is_unranked(each)):
                return cls(name, (), unsupported=f"it returns {type_}; pass memrefs as arguments")
        found = tuple(each for each in parsed if each is not None)
        return cls(name, found[: len(types)], found[len(types) :])

    def convert(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return a C value for each of `values`, and what must live as long as those."""
        if self.unsupported:
            raise TypeError(f"'{self.name}' cannot be called from Python: {self.unsupported}")
        if len(values) != len(self.arguments):
            types = ", ".join(map(str, self.arguments))
            raise TypeError(
                f"'{self.name}' takes {len(self.arguments)} arguments ({types}), got {len(values)}"
            )
        converted: list[Any] = []
        alive: list[Any] = []
        for number, (argument, value) in enumerate(zip(self.arguments, values, strict=True)):
            c_value, kept = argument.convert(value, f"argument {number} of '{self.name}'")
            converted.append(c_value)
            alive.extend(kept)
        return converted, alive


def signatures_of(module: ir.Module | ir.OpView) -> dict[str, Signature]:
    """Return the signatures of what one can call of `module`: with `llvm.emit_c_interface`.

    Declarations, such as those of MLIR's own library, are not among them. To be asked
    before the functions are lowered: afterwards the types are gone.
    """
    signatures = {}
    for op in module.body.operations:
        if op.operation.name != "func.func" or "llvm.emit_c_interface" not in op.attributes:
            continue
        if not op.operation.regions[0].blocks:
            continue
        name = ir.StringAttr(op.attributes["sym_name"]).value
        function_type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        signatures[name] = Signature.of(name, function_type.inputs, function_type.results)
    return signatures


def _why(given: ir.Type) -> str:
    """Return the reason why Python cannot pass a type, if it is not plain."""
    element = getattr(given, "element_type", given)
    if isinstance(element, ir.IntegerType) and 1 < element.width < 8:
        return ", and no array has integers of less than a byte as host code reads them"
    return ""


def is_unranked(argument: Argument) -> bool:
    """Whether the rank is known only at run time."""
    return isinstance(argument, MemRef) and argument.shape is None


def parse_argument(given: ir.Type) -> Argument | None:
    """Return the argument for an MLIR type; None if Python cannot pass it."""
    text = str(given)
    if isinstance(given, ir.UnrankedMemRefType):
        element = str(given.element_type)
        return MemRef(text, element, None, (), 0) if element_bytes(element) else None
    if not isinstance(given, ir.MemRefType):
        return Scalar(text) if element_bytes(text) else None
    memref = given
    element = str(memref.element_type)
    if not element_bytes(element):
        return None
    dynamic_size = ir.ShapedType.get_dynamic_size()
    dynamic_stride = ir.ShapedType.get_dynamic_stride_or_offset()
    shape = tuple(None if extent == dynamic_size else extent for extent in memref.shape)
    try:
        strides, offset = memref.get_strides_and_offset()
    except (RuntimeError, ValueError):
        return None
    is_identity = ir.AffineMap.get_identity(memref.rank) == memref.affine_map
    return MemRef(
        text,
        element,
        shape,
        # With dynamic extents the strides of the identity are dynamic too, but not free.
        () if is_identity else tuple(None if s == dynamic_stride else s for s in strides),
        None if offset == dynamic_stride else offset,
    )


def _host_array(value: Any, where: str, wanted: MemRef) -> npt.NDArray[Any]:
    """Return `value`, which is passed for `wanted`, as a view of host memory."""
    if isinstance(value, np.ndarray):
        return value
    try:
        if owner_of(value) == "torch" and value.device.type == "cpu":
            return _torch_on_host(value)
    except (RuntimeError, TypeError) as error:
        raise TypeError(f"{where} cannot be passed for {wanted}: {error}") from error
    if is_on_gpu(value):
        raise TypeError(
            f"{where} must be in host memory for {wanted}, got a {type(value).__name__} on a GPU: "
            "host functions copy to the device themselves; launch the kernel with exe.kernel(...), "
            "or pass a copy in host memory"
        )
    if not hasattr(value, "__dlpack__"):
        raise TypeError(f"{where} must be a NumPy array for {wanted}, got {_kind(value)}")
    exporter = Exporter(value)
    try:
        array = np.from_dlpack(exporter)
    except Exception as error:
        raise TypeError(f"{where} must be an array in host memory for {wanted}: {error}") from error
    if exporter.is_copy:
        raise wanted.copied(where)
    return array


def _torch_on_host(tensor: Any) -> npt.NDArray[Any]:
    """Return PyTorch's own view, as older versions export DLPack that NumPy takes as read-only."""
    element = element_of(str(tensor.dtype).removeprefix("torch."))
    if dtype_of(element, None) is None or not is_extension(element):
        return tensor.numpy()  # type: ignore[no-any-return]
    torch, dtype = sys.modules["torch"], dtype_of(element)
    bits = tensor.view(torch.int16 if dtype.itemsize == 2 else torch.uint8)
    return bits.numpy().view(dtype)  # type: ignore[no-any-return]


def is_on_gpu(value: Any) -> bool:
    """Whether `value` says that its memory is a device's and not the host's."""
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) == DLPACK_CUDA
    return hasattr(value, "__cuda_array_interface__")


DLPACK_CUDA = 2


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"[:80]
