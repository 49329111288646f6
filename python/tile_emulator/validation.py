# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of arguments from Python; errors name the argument, what it may be and what it was."""

from __future__ import annotations

import numbers
import operator
from typing import Any


def integer(name: str, given: Any, lowest: int | None = None) -> int:
    """Return `given` as an int of at least `lowest`; raises TypeError and ValueError."""
    try:
        value = operator.index(given)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {given!r}") from None
    if lowest is not None and value < lowest:
        raise ValueError(f"{name} must be at least {lowest}, got {value}")
    return value


def seconds(name: str, given: Any) -> float:
    """Return `given` as a positive number; raises TypeError and ValueError."""
    if not isinstance(given, numbers.Real):
        raise TypeError(f"{name} must be a number of seconds, got {given!r}")
    if not float(given) > 0:
        raise ValueError(f"{name} must be a positive number of seconds, got {given}")
    return float(given)
