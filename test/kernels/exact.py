# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the kernels compute, from the definition in f64, and how far from it they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
ULP = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance from 1 to the next number."""
TINY = {"float32": 2.0**-146, "float16": 2.0**-24, "bfloat16": 2.0**-133}
"""What numbers below the normal ones, and steps to them, may be off by."""
F32 = ULP["float32"]


class Answer(NamedTuple):
    """Values in f64, and what each may be off by before it is rounded."""

    values: Array
    error: Array


def softmax(x: Array) -> Answer:
    """Return the softmax; subtraction and product round before `exp`, by so much of their size."""
    shifted, powers = _shifted(x)
    values = powers / powers.sum(-1, keepdims=True)
    return Answer(values, values * (8 + 2 * np.abs(shifted)) * F32)


def log_softmax(x: Array) -> Answer:
    """Return the logarithm of the softmax."""
    shifted, powers = _shifted(x)
    logs = np.log(powers.sum(-1, keepdims=True))
    return Answer(shifted - logs, (4 + np.abs(shifted) + logs) * 2 * F32)


def cross_entropy(x: Array, targets: Array, ignored: int = -100) -> Answer:
    """Return the loss of each row."""
    found = log_softmax(x)
    is_class = (targets >= 0) & (targets < x.shape[-1])
    if x.shape[-1] == 0:
        losses = errors = np.full(targets.shape, np.nan)
    else:
        place = np.where(is_class, targets, 0)[..., None]
        losses = -np.take_along_axis(found.values, place, -1)[..., 0]
        errors = np.take_along_axis(found.error, place, -1)[..., 0]
    losses = np.where(is_class, losses, np.nan)
    is_ignored = targets == ignored
    return Answer(np.where(is_ignored, 0.0, losses), np.where(is_ignored, 0.0, errors))


def rms_norm(x: Array, weight: Array | None, eps: float) -> Answer:
    """Return the rows over their root mean squares."""
    if x.shape[-1] == 0:
        return Answer(x, x)
    values = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    values = values if weight is None else values * weight
    return Answer(values, np.abs(values) * 16 * F32)


def layer_norm(x: Array, weight: Array | None, bias: Array | None, eps: float) -> Answer:
    """Return the rows with mean 0 and variance 1; what cancels in `x - mean` counts in full."""
    if x.shape[-1] == 0:
        return Answer(x, x)
    mean = x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)
    values, sizes = (x - mean) * scale, (np.abs(x) + np.abs(x).max(-1, keepdims=True)) * scale
    if weight is not None:
        values, sizes = values * weight, sizes * np.abs(weight)
    if bias is not None:
        values, sizes = values + bias, sizes + np.abs(bias)
    return Answer(values, sizes * 16 * F32)


def topk(x: Array, k: int) -> Array:
    """Return the columns of the largest elements: NaN first, then by value, then by column."""
    if x.size == 0:
        return np.zeros((*x.shape[:-1], k), np.int64)
    flat = x.reshape(-1, x.shape[-1]).astype(np.float64)
    nan = np.isnan(flat)
    falling = np.where(nan, 0, -flat)
    columns = [np.lexsort((row, ~is_nan)) for row, is_nan in zip(falling, nan, strict=True)]
    return np.array(columns, np.int64).reshape(x.shape)[..., :k]


def _shifted(x: Array) -> tuple[Array, Array]:
    if x.shape[-1] == 0:
        return x, x
    shifted = x - np.fmax.reduce(x, -1, keepdims=True)
    return shifted, np.exp(shifted)


def check(found: Any, exact: Callable[..., Answer], *arguments: Any) -> None:
    """Assert that `found` is what `exact` computes of the arguments, rounded."""
    wide = [a.astype(np.float64) if getattr(a, "dtype", None) is not None
            and a.dtype.kind not in "iu" else a for a in arguments]  # fmt: skip
    with np.errstate(all="ignore"):
        values, error = exact(*wide)
        rounded = values.astype(found.dtype).astype(np.float64)
        found, name = found.astype(np.float64), found.dtype.name
        allowed = error + np.abs(values) * ULP[name] / 2 * 1.01 + TINY[name]
        is_right = (np.abs(found - values) <= allowed) | (found == rounded)
    is_right |= np.isnan(found) & np.isnan(values)
    wrong = np.argwhere(~is_right)
    assert found.shape == values.shape
    assert wrong.size == 0, f"at {wrong[0]}: {found[~is_right][0]}, not {values[~is_right][0]}"
