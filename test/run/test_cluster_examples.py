# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in MLIR of what a cluster does together compute what NumPy does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import mlir_tile as mt

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str, *arguments: object, device: str) -> None:
    with mt.context():
        executable = mt.compile(mt.parse_file(EXAMPLES / f"{name}.mlir"))
    executable.invoke("main", *arguments, device=device)


def test_softmax(device: str) -> None:
    a = np.random.default_rng(1).normal(size=8192).astype(np.float32)
    b = np.zeros_like(a)
    run("softmax", a, b, device=device)
    powers = np.exp(a.astype(np.float64) - a.max())
    assert np.allclose(b, powers / powers.sum(), rtol=1e-5)


def test_histogram(device: str) -> None:
    a = np.random.default_rng(1).integers(0, 256, 4096, dtype=np.int32)
    b = np.zeros(256, np.int32)
    run("histogram", a, b, device=device)
    assert (b == np.bincount(a, minlength=256)).all()


def test_halo(device: str) -> None:
    for steps in (0, 1, 2, 7):
        a = np.random.default_rng(steps).random(256, np.float32)
        b = np.zeros_like(a)
        run("halo", a, b, steps, device=device)
        expected = a
        for _ in range(steps):
            expected = expected / 2 + (np.roll(expected, 1) + np.roll(expected, -1)) / 4
        assert np.allclose(b, expected, rtol=1e-5)
