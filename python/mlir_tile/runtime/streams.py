# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CUDA streams of other libraries, as the driver's handles."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["current_stream_of", "stream_handle"]

LEGACY = 0
# The driver's names for the legacy stream and for that of the thread.
_LEGACY_HANDLE = 1


def stream_handle(stream: Any) -> int:
    """Return the handle of a CUDA stream: an integer, or an object of PyTorch, CuPy or the like.

    Objects have `__cuda_stream__`, `cuda_stream`, `ptr` or `handle`. Raises `TypeError` for others.
    """
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return normal(operator.index((protocol() if callable(protocol) else protocol)[1]))
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return normal(int(value))
    with contextlib.suppress(TypeError):
        return normal(operator.index(stream))
    raise TypeError(f"stream must be a CUDA stream or its address, got {type(stream).__name__}")


def normal(handle: int) -> int:
    """Return one handle for the legacy stream, which has two."""
    if handle < 0:
        raise ValueError(f"stream must be a CUDA stream or its address, got {handle}")
    return LEGACY if handle == _LEGACY_HANDLE else handle


def current_stream_of(owner: str) -> Callable[[int], int]:
    """Return a function from a device to the library's current stream, or to the legacy stream."""
    if owner == "torch":
        torch = sys.modules["torch"]
        # The public function makes an object, which costs more than a launch.
        raw: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        return raw or (lambda device: int(torch.cuda.current_stream(device).cuda_stream))
    if owner == "cupy":
        get: Callable[[int], Any] = sys.modules["cupy"].cuda.get_current_stream
        return lambda device: normal(int(get(device).ptr))
    return lambda device: LEGACY
