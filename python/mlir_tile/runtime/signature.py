# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a host function takes, and how Python values become that.

Reads function types of the `func` dialect, before they are lowered; produces the memref descriptors
and scalars of MLIR's C interface. Everything is checked here, before anything runs.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mlir import ir

from mlir_tile.runtime.dtypes import dtype_of, is_same_element

__all__ = ["Argument", "MemRef", "Scalar", "Signature", "signatures_of"]

_DYNAMIC = None


@dataclass(frozen=True)
class Scalar:
    """An integer, index or float argument, by its MLIR spelling."""

    element: str

    def __str__(self) -> str:
        return self.element

    def convert(self, value: Any, where: str) -> tuple[ctypes.Array[ctypes.c_char], list[Any]]:
        """Return the bytes of `value` as this type."""
        dtype = dtype_of(self.element)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if self.element[0] == "f" or self.element.startswith("bf"):
            try:
                number = np.asarray(float(value)).astype(dtype)
            except (TypeError, ValueError):
                raise TypeError(f"{where} must be a number, got {_kind(value)}") from None
        else:
            number = self._integer(value, dtype, where)
        return ctypes.create_string_buffer(number.tobytes(), dtype.itemsize), []

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
    """A memref argument; None stands for an extent, stride or offset known only at run time."""

    text: str
    element: str
    shape: tuple[int | None, ...] | None
    strides: tuple[int | None, ...]
    offset: int | None

    def __str__(self) -> str:
        return self.text

    def convert(self, value: Any, where: str) -> tuple[ctypes.Array[ctypes.c_int64], list[Any]]:
        """Return the descriptor of `value`, and what must live as long as it is used."""
        array = self._array(value, where)
        strides = self._element_strides(array, where)
        # The address says where the first element is; a static offset of the type is added by the
        # program, so it is taken off first, and a dynamic one is 0.
        offset = self.offset or 0
        address = array.ctypes.data
        fields = [address, address - offset * array.itemsize, offset, *array.shape, *strides]
        descriptor = (ctypes.c_int64 * len(fields))(*fields)
        if self.shape is None:
            unranked = (ctypes.c_int64 * 2)(array.ndim, ctypes.addressof(descriptor))
            return unranked, [descriptor, array]
        return descriptor, [array]

    def _array(self, value: Any, where: str) -> npt.NDArray[Any]:
        if not isinstance(value, np.ndarray):
            if not hasattr(value, "__dlpack__"):
                raise TypeError(f"{where} must be a NumPy array for {self}, got {_kind(value)}")
            try:
                value = np.from_dlpack(value)
            except Exception as error:
                raise TypeError(
                    f"{where} must be an array in host memory for {self}: {error}"
                ) from error
        array: npt.NDArray[Any] = value
        if not is_same_element(array.dtype, self.element):
            raise TypeError(
                f"{where} must have element type {self.element}, as {self} does, got {array.dtype}"
            )
        if self.shape is not None and not self._fits(array.shape):
            expected = "x".join("?" if n is None else str(n) for n in self.shape)
            given = "x".join(map(str, array.shape))
            raise ValueError(
                f"{where} must have shape {expected or '()'}, as {self} does, got {given or '()'}"
            )
        if not array.flags.writeable:
            raise ValueError(
                f"{where} must be writeable, got a read-only array: a program may write to any "
                "memref that it takes; pass a copy"
            )
        return array

    def _fits(self, shape: tuple[int, ...]) -> bool:
        assert self.shape is not None
        return len(shape) == len(self.shape) and all(
            want is None or want == have for want, have in zip(self.shape, shape, strict=True)
        )

    def _element_strides(self, array: npt.NDArray[Any], where: str) -> list[int]:
        strides = []
        for dimension, stride in enumerate(array.strides):
            elements, rest = divmod(stride, array.itemsize)
            if rest:
                raise ValueError(
                    f"{where} must have strides of whole elements ({array.itemsize} bytes), got "
                    f"{stride} bytes in dimension {dimension}"
                )
            strides.append(elements)
        wanted = self._wanted_strides(array.shape)
        for dimension, (want, have) in enumerate(zip(wanted, strides, strict=True)):
            if want is None or want == have:
                continue
            if array.size > 0 and array.shape[dimension] > 1:
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
    """The `arguments` of the host function `name`, and its `result` if it is a scalar.

    `unsupported` says why Python cannot call it, or is empty.
    """

    name: str
    arguments: tuple[Argument, ...]
    result: Scalar | None = None
    unsupported: str = ""

    @classmethod
    def of(cls, name: str, types: Sequence[Any], results: Sequence[Any] = ()) -> Signature:
        """Make the signature of `name` from MLIR `types` and `results`, or from their text."""
        context = next((t.context for t in types if isinstance(t, ir.Type)), None) or ir.Context()
        with context:
            arguments = []
            for number, given in enumerate(types):
                parsed = _parse(given)
                if parsed is None:
                    return cls(name, (), unsupported=f"argument {number} has type {given}")
                arguments.append(parsed)
            parsed_results = [_parse(given) for given in results]
        if not parsed_results:
            return cls(name, tuple(arguments))
        result = parsed_results[0]
        if len(parsed_results) > 1 or not isinstance(result, Scalar):
            text = ", ".join(map(str, results))
            return cls(name, (), unsupported=f"it returns {text}; pass memrefs as arguments")
        return cls(name, tuple(arguments), result)

    def convert(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return a C value for each of `values`, and what must live as long as those."""
        if self.unsupported:
            raise TypeError(f"'{self.name}' cannot be called from Python: {self.unsupported}")
        if len(values) != len(self.arguments):
            types = ", ".join(map(str, self.arguments))
            raise TypeError(
                f"'{self.name}' takes {len(self.arguments)} arguments ({types}), got {len(values)}"
            )
        converted, alive = [], []
        for number, (argument, value) in enumerate(zip(self.arguments, values, strict=True)):
            c_value, kept = argument.convert(value, f"argument {number} of '{self.name}'")
            converted.append(c_value)
            alive.extend(kept)
        return converted, alive


def signatures_of(module: ir.Module) -> dict[str, Signature]:
    """Return the signatures of what one can call of `module`: with `llvm.emit_c_interface`.

    To be asked before the functions are lowered: afterwards the types are gone.
    """
    signatures = {}
    for op in module.body.operations:
        if op.operation.name != "func.func" or "llvm.emit_c_interface" not in op.attributes:
            continue
        name = ir.StringAttr(op.attributes["sym_name"]).value
        function_type = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        signatures[name] = Signature.of(name, function_type.inputs, function_type.results)
    return signatures


def _parse(given: Any) -> Argument | None:
    """Return the argument for an MLIR type or its text; None if Python cannot pass it."""
    parsed = ir.Type.parse(given) if isinstance(given, str) else given
    text = str(parsed)
    if isinstance(parsed, ir.UnrankedMemRefType):
        element = str(parsed.element_type)
        return MemRef(text, element, None, (), 0) if dtype_of(element, None) else None
    if not isinstance(parsed, ir.MemRefType):
        return Scalar(text) if dtype_of(text, None) else None
    memref = parsed
    element = str(memref.element_type)
    if not dtype_of(element, None):
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


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"[:80]
