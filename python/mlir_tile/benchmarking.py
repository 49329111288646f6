# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long calls take on a GPU, by the events of PyTorch."""

from __future__ import annotations

import importlib
import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

from . import validation

FLUSH_BYTES = 1 << 30
"""More than any L2 cache; to fill them takes longer than a call from Python, which that hides."""


class Timing(NamedTuple):
    """Microseconds of a call on the GPU: the median of all calls, the shortest and the longest."""

    median: float
    shortest: float
    longest: float


def benchmark(
    fn: Callable[[], Any], *, calls: int = 30, warm_up: int = 10, flush: bool = True
) -> Timing:
    """Return how long `fn()` takes on PyTorch's current GPU and stream, in microseconds.

    It is called `warm_up` times, and then `calls` times between two events each. With `flush`, the
    GPU fills 1 GiB of memory before each call: nothing that the call reads is in the L2 cache then,
    and what Python does in the meantime is not measured.

    Raises `TypeError` and `ValueError` for wrong arguments, and `RuntimeError` without PyTorch or
    without a GPU that it finds.
    """
    if not callable(fn):
        raise TypeError(f"fn must be callable, got {type(fn).__name__}")
    calls = validation.integer("calls", calls, 1)
    warm_up = validation.integer("warm_up", warm_up, 0)
    validation.flag("flush", flush)
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError:
        raise RuntimeError("benchmark needs PyTorch for its events: pip install torch") from None
    if not torch.cuda.is_available():
        raise RuntimeError("benchmark needs a GPU that PyTorch finds")
    filled = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda") if flush else None
    times = []
    for number in range(warm_up + calls):
        if filled is not None:
            filled.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        torch.cuda.synchronize()
        if number >= warm_up:
            times.append(start.elapsed_time(end) * 1e3)
    return Timing(statistics.median(times), min(times), max(times))
