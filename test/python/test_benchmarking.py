# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times of calls on a GPU, and what is refused without one."""

import importlib
from types import SimpleNamespace
from typing import Any

import pytest

import mlir_tile as mt


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"fn": 3}, TypeError, "fn must be callable, got int"),
        ({"calls": 0}, ValueError, "calls must be"),
        ({"warm_up": -1}, ValueError, "warm_up must be"),
        ({"calls": "many"}, TypeError, "calls must be"),
        ({"flush": 1}, TypeError, "flush must be True or False"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        mt.benchmark(**{"fn": lambda: None, **arguments})


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(RuntimeError, match="needs PyTorch"):
        mt.benchmark(lambda: None)
    without = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(importlib, "import_module", lambda name: without)
    with pytest.raises(RuntimeError, match="needs a GPU that PyTorch finds"):
        mt.benchmark(lambda: None)


@pytest.mark.gpu
def test_a_larger_copy_takes_longer() -> None:
    torch = pytest.importorskip("torch")
    x, y = (torch.empty(1 << 28, dtype=torch.int8, device="cuda") for _ in range(2))
    calls = 0

    def copy(part: int) -> None:
        nonlocal calls
        calls += 1
        y[:part].copy_(x[:part])

    small = mt.benchmark(lambda: copy(1 << 20), calls=5, warm_up=2)
    assert calls == 7
    large = mt.benchmark(lambda: copy(1 << 28), calls=5, warm_up=2)
    assert 0 < small.shortest <= small.median <= small.longest
    assert small.median < large.median
