# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of arguments from Python; errors name the argument, what it may be and what it was.

`tile_emulator.validation` is the emulator's, which knows nothing of this package.
"""

from __future__ import annotations

import numbers
import operator
from typing import Any

__all__ = ["flag", "integer", "seconds", "text"]


def integer(name: str, given: Any, lowest: int | None = None, highest: int | None = None) -> int:
    """Return `given` as an int from `lowest` to `highest`; raises TypeError and ValueError."""
    value = None if isinstance(given, bool) else _index(given)
    if value is None:
        raise TypeError(f"{name} must be an int, got {given!r}")
    if highest is not None and not (lowest or 0) <= value <= highest:
        raise ValueError(f"{name} must be in {lowest or 0} to {highest}, got {value}")
    if lowest is not None and value < lowest:
        raise ValueError(f"{name} must be at least {lowest}, got {value}")
    return value


def _index(given: Any) -> int | None:
    try:
        return operator.index(given)
    except TypeError:
        return None


def seconds(name: str, given: Any) -> float:
    """Return `given` as a positive number; raises TypeError and ValueError."""
    if not isinstance(given, numbers.Real) or isinstance(given, bool):
        raise TypeError(f"{name} must be a number of seconds, got {given!r}")
    if not float(given) > 0:
        raise ValueError(f"{name} must be a positive number of seconds, got {given}")
    return float(given)


def flag(name: str, given: Any) -> bool:
    """Return `given`, which is True or False; raises TypeError for what only counts as one."""
    if not isinstance(given, bool):
        raise TypeError(f"{name} must be True or False, got {given!r}")
    return given


def text(name: str, given: Any) -> str:
    """Return `given`, which is text; raises TypeError."""
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a str, got {given!r}")
    return given
