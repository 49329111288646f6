# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of arguments from Python; errors name the argument, what it may be and what it was.

`tile_emulator.validation` is the emulator's, which knows nothing of this package.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any

from mlir import ir

__all__ = ["flag", "integer", "is_int", "module_of", "seconds", "text", "wrong_type"]


def wrong_type(argument: str, expected: str, given: object) -> TypeError:
    """Return the exception that names the argument, what it must be, and what it is."""
    text = f"a value of type {given.type}" if isinstance(given, ir.Value) else repr(given)
    return TypeError(f"{argument} must be {expected}, got {text}")


def is_int(given: object) -> bool:
    """Whether `given` is a number of Python's, and not a truth value."""
    return isinstance(given, int) and not isinstance(given, bool)


def integer(
    name: str, given: Any, lowest: int | None = None, highest: int | None = None, or_else: str = ""
) -> int:
    """Return `given` as an int from `lowest` to `highest`; raises TypeError and ValueError.

    `or_else` is what the caller takes besides, in words.
    """
    try:
        value = operator.index(given)
    except TypeError:
        raise wrong_type(name, f"an int{or_else}", given) from None
    if isinstance(given, bool):
        raise wrong_type(name, f"an int{or_else}", given)
    if highest is not None and not (lowest or 0) <= value <= highest:
        raise ValueError(f"{name} must be in {lowest or 0} to {highest}, got {value}")
    if lowest is not None and value < lowest:
        raise ValueError(f"{name} must be at least {lowest}, got {value}")
    return value


def seconds(name: str, given: Any) -> float:
    """Return `given` as a positive number; raises TypeError and ValueError."""
    if not isinstance(given, numbers.Real) or isinstance(given, bool):
        raise wrong_type(name, "a number of seconds", given)
    if not float(given) > 0:
        raise ValueError(f"{name} must be a positive number of seconds, got {given}")
    return float(given)


def flag(name: str, given: Any, or_else: str = "") -> None:
    """Raise TypeError unless `given` is True or False; other values only count as one of them."""
    if not isinstance(given, bool):
        raise wrong_type(name, f"True or False{or_else}", given)


def text(name: str, given: Any) -> None:
    """Raise TypeError unless `given` is text."""
    if not isinstance(given, str):
        raise wrong_type(name, "a str", given)


def module_of(name: str, given: Any) -> Any:
    """Return `given`, an `ir.Module` or the op `builtin.module`; raises TypeError."""
    if isinstance(given, ir.Module):
        return given
    if isinstance(given, ir.OpView | ir.Operation):
        if given.operation.name == "builtin.module":
            return given.operation.opview
        raise TypeError(f"{name} must be an ir.Module, got the op '{given.operation.name}'")
    raise wrong_type(name, "an ir.Module", given)
