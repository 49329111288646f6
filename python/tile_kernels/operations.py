# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What users call: on arrays of NumPy directly, on tensors of PyTorch by its dispatcher.

Of each operation there is a `torch.library` op that returns new tensors, with a fake
implementation, and one with the ending `_out` that writes into given ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import tensors
from .tensors import Result, torch

OPERATIONS: dict[str, Operation] = {}


@dataclass(frozen=True)
class Operation:
    """An operation with one result, or several.

    `schema` has its arguments in the words of `torch.library`. `result` tells from them what there
    will be, a `Result` or a tuple of them, and `run` takes them and the tensors to write to; it is
    not called for empty ones.
    """

    name: str
    schema: str
    result: Callable[..., Result | tuple[Result, ...]]
    run: Callable[..., None]
    count: int = 1

    def __post_init__(self) -> None:
        OPERATIONS[self.name] = self

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        """Return the result, which is `out` where that is given; several are a tuple."""
        is_torch = tensors.is_torch(arguments[0])
        if out is None:
            if is_torch:
                return getattr(torch.ops.tile_kernels, self.name)(*arguments)
            return self.new(*arguments)
        outs = self._checked(out, arguments)
        if is_torch:
            getattr(torch.ops.tile_kernels, f"{self.name}_out")(*arguments, *outs)
        else:
            self.write(*arguments, *outs)
        return out

    def _checked(self, out: Any, arguments: tuple[Any, ...]) -> list[Any]:
        if self.count > 1 and not (isinstance(out, tuple) and len(out) == self.count):
            raise TypeError(
                f"out must be a tuple of {self.count} tensors, got {type(out).__name__}"
            )
        outs = list(out) if self.count > 1 else [out]
        for number, (tensor, result) in enumerate(zip(outs, self._results(arguments), strict=True)):
            name = f"out[{number}]" if self.count > 1 else "out"
            tensors.check_result(name, tensor, result, arguments[0])
        return outs

    def _results(self, arguments: tuple[Any, ...]) -> tuple[Result, ...]:
        found = self.result(*arguments)
        return (found,) if isinstance(found, Result) else found

    def empty(self, *arguments: Any) -> Any:
        """Return a new tensor for the result, or several."""
        made = [tensors.empty(result, arguments[0]) for result in self._results(arguments)]
        return tuple(made) if self.count > 1 else made[0]

    def write(self, *arguments: Any) -> None:
        """Run on the arguments; the last ones get the results."""
        if 0 not in arguments[-1].shape:
            self.run(*arguments)

    def new(self, *arguments: Any) -> Any:
        """Return the result in a new tensor, or several."""
        out = self.empty(*arguments)
        self.write(*arguments, *(out if self.count > 1 else [out]))
        return out


def same_as_x(x: Any, *others: Any) -> Result:
    """Return that a result has the shape and the element type of `x`."""
    return Result(tuple(x.shape), tensors.element_of(x))


def register() -> None:
    """Make the ops of PyTorch for all that are in `OPERATIONS`."""
    library = torch.library.Library("tile_kernels", "DEF")
    _KEPT.append(library)
    for name, operation in OPERATIONS.items():
        count = operation.count
        returned = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        outs = ", ".join(f"Tensor({letter}!) out_{letter}" for letter in "abcdefgh"[:count])
        library.define(f"{name}({operation.schema}) -> {returned}")
        library.define(f"{name}_out({operation.schema}, {outs}) -> ()")
        for key in "CUDA", "CPU":
            library.impl(name, operation.new, key)
            library.impl(f"{name}_out", operation.write, key)
        torch.library.register_fake(f"tile_kernels::{name}", operation.empty, lib=library)
        torch.library.register_fake(f"tile_kernels::{name}_out", _write_nothing, lib=library)


_KEPT: list[Any] = []
"""The library of the ops, which are there as long as it is."""


def _write_nothing(*arguments: Any) -> None:
    """Stand in for an op that writes to its last argument where there is no memory."""
