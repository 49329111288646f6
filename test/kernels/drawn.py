# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows as users have them: of every length, with gaps between them, with special values."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

import tile_kernels
from tile_kernels import plans

DTYPES = [np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
SPECIAL = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 3.0e38, -3.0e38]


def rows(draw: random.Random, longest: int = 700) -> np.ndarray[Any, Any]:
    """Return an array of one to three dimensions that begins anywhere and may have gaps."""
    length = draw.choice([0, 1, 2, 7, 8, 31, 64, 130, draw.randint(0, longest), longest])
    shape = draw.choice([(), (1,), (3,), (0,), (2, 2)])
    dtype = draw.choice(DTYPES)
    gap, start = draw.choice([0, 0, 8, draw.randint(1, 9)]), draw.choice([0, 0, draw.randint(1, 9)])
    step = draw.choice([1, 1, 1, 2])
    width = length * step + gap
    generator = np.random.default_rng(draw.getrandbits(32))
    flat = generator.normal(0, 3, start + width * int(np.prod(shape, dtype=int)))
    whole = flat.astype(dtype)[start:].reshape(*shape, width)
    x = whole[..., : length * step : step]
    if draw.random() < 0.2 and x.ndim > 1:
        x = x[::-1]
    if draw.random() < 0.4 and x.size:
        with np.errstate(over="ignore"):
            for _ in range(draw.randint(1, 3)):
                x[tuple(draw.randrange(n) for n in x.shape)] = draw.choice(SPECIAL)
    if draw.random() < 0.1 and x.size:
        x[(0,) * (x.ndim - 1)] = -np.inf
    return x


@contextlib.contextmanager
def surroundings(draw: random.Random, most: int = 16) -> Iterator[None]:
    """Let kernels have drawn sizes, up to a cluster of `most`, and run under a drawn schedule."""
    cluster, block = draw.choice([(1, 32), (1, 64), (2, 32), (4, 64), (8, 32), (16, 32)])
    cluster = min(cluster, most)
    schedule = draw.choice(["eager", "late", f"random:{draw.randrange(1000)}"])
    with (
        plans.sizes(cluster, block, draw.choice([1, 2])),
        tile_kernels.emulation(schedule=schedule),
    ):
        yield
