# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels on rows beside their definitions, on the emulator, at drawn shapes and sizes."""

from __future__ import annotations

import random
from typing import Any

import exact
import numpy as np
import pytest
from drawn import DTYPES, rows, surroundings

import tile_kernels
from tile_kernels import launching, plans

SEEDS = range(8)


def columns(draw: random.Random, x: Any) -> Any:
    """Return None, or a number for each column."""
    if draw.random() < 0.3:
        return None
    generator = np.random.default_rng(draw.getrandbits(32))
    return generator.normal(1, 1, x.shape[-1:]).astype(draw.choice([x.dtype, np.dtype("f4")]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_exponentials(name: str, seed: int) -> None:
    draw = random.Random(seed)
    x = rows(draw)
    before = x.copy()
    with surroundings(draw):
        found = getattr(tile_kernels, name)(x)
    exact.check(found, getattr(exact, name), x)
    assert found.dtype == x.dtype
    assert before.tobytes() == x.tobytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_cross_entropy(seed: int) -> None:
    draw = random.Random(seed)
    x = rows(draw)
    classes = np.array([draw.choice([-100, -1, x.shape[-1], *range(5)]) for _ in range(4)])
    targets = np.resize(classes, x.shape[:-1])
    ignored = draw.choice([-100, 2])
    with surroundings(draw):
        found = tile_kernels.cross_entropy(x, targets, ignored)
    exact.check(found, exact.cross_entropy, x, targets, ignored)
    assert found.dtype == x.dtype


@pytest.mark.parametrize("seed", SEEDS)
def test_rms_norm(seed: int) -> None:
    draw = random.Random(seed)
    x = rows(draw)
    x = np.clip(x, -1e4, 1e4).astype(x.dtype) if draw.random() < 0.9 else x * 0
    weight = columns(draw, x)
    with surroundings(draw):
        found = tile_kernels.rms_norm(x, weight, 1e-4)
    exact.check(found, exact.rms_norm, x, weight, 1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_layer_norm(seed: int) -> None:
    draw = random.Random(seed)
    x = rows(draw)
    x = np.clip(x, -1e4, 1e4).astype(x.dtype)
    weight, bias = columns(draw, x), columns(draw, x)
    with surroundings(draw):
        found = tile_kernels.layer_norm(x, weight, bias, 1e-4)
    exact.check(found, exact.layer_norm, x, weight, bias, 1e-4)


def assert_topk(x: Any, k: int) -> None:
    values, columns = tile_kernels.topk(x, k)
    expected = exact.topk(x, k)
    np.testing.assert_array_equal(columns, expected)
    assert values.tobytes() == np.take_along_axis(x, expected, -1).tobytes()


@pytest.mark.parametrize("seed", SEEDS)
def test_topk(seed: int) -> None:
    draw = random.Random(seed)
    x = rows(draw, 250)
    if draw.random() < 0.5:  # many of a few values, which no bound on values tells apart
        x = np.where(np.isnan(x), x, np.sign(x)).astype(x.dtype)
    with surroundings(draw, 4):
        assert_topk(x, min(x.shape[-1], draw.choice([0, 1, 3, 20, 33, draw.randint(0, 150)])))


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "blocks"])
def test_topk_of_rows_that_are_in_order(order: str) -> None:
    """The largest are in a few groups, or no groups tell them apart: the bound is raised."""
    x = np.arange(2000, dtype=np.float32)
    x = {"rising": x, "falling": x[::-1], "equal": x * 0, "blocks": x // 500}[order]
    with plans.sizes(2, 32, 2):
        assert_topk(np.stack([x, x]), 40)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("schedule", ["eager", "late", "random:1", "random:2"])
def test_each_schedule_gives_the_same_bits(dtype: Any, schedule: str) -> None:
    x = np.random.default_rng(1).normal(0, 3, (2, 333)).astype(dtype)
    with plans.sizes(2, 32, 1):
        expected = tile_kernels.softmax(x)
        with tile_kernels.emulation(schedule=schedule, checks="strict,-in-flight"):
            assert tile_kernels.softmax(x).tobytes() == expected.tobytes()
            assert_topk(x, 9)


def test_plans_without_sizes_of_their_own_take_long_rows() -> None:
    x = np.random.default_rng(1).normal(0, 3, (1, 20_001)).astype(np.float32)
    exact.check(tile_kernels.softmax(x), exact.softmax, x)


@pytest.mark.parametrize("step", [1, 2])
def test_out_is_written_and_returned(step: int) -> None:
    x = np.random.default_rng(1).normal(0, 3, (4, 65)).astype(np.float32)
    whole = np.zeros((4, 65 * step), np.float32)
    out = whole[:, ::step]
    assert tile_kernels.softmax(x, out=out) is out
    exact.check(out, exact.softmax, x)
    if step == 2:
        assert not whole[:, 1::2].any()


def test_a_result_may_take_the_place_of_its_rows() -> None:
    x = np.random.default_rng(1).normal(0, 3, (4, 1000)).astype(np.float32)
    expected = tile_kernels.softmax(x)
    for sizes in (1, 128, 4), (1, 64, 1):  # which holds a row, or reads it again
        with plans.sizes(*sizes):
            place = x.copy()
            tile_kernels.softmax(place, out=place)
        np.testing.assert_allclose(place, expected, rtol=1e-6)


def test_kernels_are_kept_by_what_they_depend_on() -> None:
    def compiled(rows: int, length: int, start: int = 0) -> int:
        flat = np.zeros(rows * length + start, np.float32)[start:]
        tile_kernels.softmax(flat.reshape(rows, length))
        return launching._compile.cache_info().misses

    with plans.sizes(1, 32, 2):
        first = compiled(1, 64)
        assert compiled(5, 64) == compiled(2, 128) == first
        assert compiled(5, 64, start=1) == first + 1  # rows that do not begin at 16 bytes
        assert compiled(1, 512) > first + 1  # a row that is not held


def test_rows_that_must_not_be_written_are_read() -> None:
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    x.flags.writeable = False
    exact.check(tile_kernels.softmax(x), exact.softmax, x)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_cross_entropy_of_all_rows(reduction: str) -> None:
    x = np.random.default_rng(1).normal(0, 3, (5, 40)).astype(np.float32)
    targets = np.array([3, -100, 0, 39, 7])
    losses = exact.cross_entropy(x.astype(np.float64), targets).values
    expected = losses.sum() / (4 if reduction == "mean" else 1)
    found = tile_kernels.cross_entropy(x, targets, reduction=reduction)
    assert found.shape == () and abs(found - expected) < 1e-5
    out = np.zeros((), np.float32)
    assert tile_kernels.cross_entropy(x, targets, reduction=reduction, out=out) is out
    assert out == found


F32 = np.zeros((2, 8), np.float32)
LABELS = np.zeros(2, np.int64)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda k: k.softmax([1.0]), TypeError, "x must be a tensor of PyTorch or an array"),
        (lambda k: k.softmax(F32.astype(int)), TypeError, "x must have elements of float32, fl"),
        (lambda k: k.softmax(F32.astype(">f4")), TypeError, "x must have elements .* got >f4"),
        (lambda k: k.softmax(F32[0, 0, ...]), ValueError, "x must have at least one dimension"),
        (lambda k: k.softmax(F32, out=F32[:1]), ValueError, r"out must have the shape \(2, 8\)"),
        (lambda k: k.softmax(F32, out=LABELS), TypeError, "out must have elements of float32,"),
        (lambda k: k.rms_norm(F32, F32), ValueError, r"weight must have the shape \(8,\), got"),
        (lambda k: k.rms_norm(F32, LABELS), TypeError, "weight must have elements of float32"),
        (lambda k: k.rms_norm(F32, eps="1"), TypeError, "eps must be a number, got '1'"),
        (lambda k: k.layer_norm(F32, None, F32), ValueError, r"bias must have the shape \(8,\)"),
        (lambda k: k.topk(F32, 9), ValueError, "k must be in 0 to 8, the length of a row, got 9"),
        (lambda k: k.topk(F32, -1), ValueError, "k must be in 0 to 8, .* got -1"),
        (lambda k: k.topk(F32, 1.0), TypeError, r"k must be an int, got 1\.0"),
        (lambda k: k.topk(F32, 2, out=F32), TypeError, "out must be a tuple of 2 tensors"),
        (lambda k: k.topk(F32, 8, out=(F32, F32)), TypeError, r"out\[1\] must have elements of"),
        (lambda k: k.cross_entropy(F32, F32), TypeError, "targets must have elements of int64"),
        (lambda k: k.cross_entropy(F32, LABELS[:1]), ValueError, "targets must have the shape"),
        (lambda k: k.cross_entropy(F32, LABELS, 1.0), TypeError, "ignore_index must be an int"),
        (lambda k: k.cross_entropy(F32, LABELS, 0, "max"), ValueError, 'reduction must be "none"'),
    ],
)
def test_errors_name_the_argument(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(tile_kernels)


def test_the_control_of_the_errors_passes() -> None:
    tile_kernels.rms_norm(F32, np.zeros(8, np.float32), eps=1, out=F32.copy())
    tile_kernels.cross_entropy(F32, LABELS, 0, "mean")
    tile_kernels.topk(F32, 8, out=(F32.copy(), np.zeros((2, 8), np.int64)))
