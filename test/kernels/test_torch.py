# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels on tensors of PyTorch in host memory; skipped where PyTorch is not installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tile_kernels

torch = pytest.importorskip("torch")
F = torch.nn.functional

X = torch.randn(3, 50)
TARGETS = torch.tensor([1, -100, 3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_values_are_those_of_pytorch(dtype: Any) -> None:
    x = torch.randn(2, 3, 50).to(dtype)
    found = tile_kernels.softmax(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, x.softmax(-1))
    found = tile_kernels.layer_norm(x, torch.ones(50), torch.zeros(50, dtype=dtype))
    torch.testing.assert_close(found, F.layer_norm(x, (50,)))


CALLS: list[Callable[[Any], Any]] = [
    lambda x: tile_kernels.softmax(x) + 1,
    lambda x: tile_kernels.log_softmax(x, out=torch.empty_like(x)) + 1,
    lambda x: tile_kernels.rms_norm(x, x[0]) + 1,
    lambda x: tile_kernels.layer_norm(x, x[0], x[1]) + 1,
    lambda x: tile_kernels.cross_entropy(x, TARGETS, reduction="mean") + 1,
    lambda x: tile_kernels.topk(x, 5)[1] + 1,
]


@pytest.mark.parametrize("call", CALLS)
def test_each_is_traced_whole(call: Callable[[Any], Any]) -> None:
    traced = torch.compile(call, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(traced(X), call(X), rtol=0, atol=0)


def test_each_op_is_one_that_pytorch_can_rely_on() -> None:
    ops, empty = torch.ops.tile_kernels, torch.empty_like(X)
    torch.library.opcheck(ops.softmax.default, (X,))
    torch.library.opcheck(ops.softmax_out.default, (X, empty))
    torch.library.opcheck(ops.log_softmax.default, (X,))
    torch.library.opcheck(ops.rms_norm.default, (X, None, 1e-6))
    torch.library.opcheck(ops.layer_norm_out.default, (X, None, X[0].clone(), 1e-5, empty))
    torch.library.opcheck(ops.topk.default, (X, 7))
    torch.library.opcheck(ops.cross_entropy.default, (X, TARGETS, -100, False))


def test_a_result_that_is_laid_out_otherwise_is_written() -> None:
    x = torch.randn(3, 2, 50)
    out = torch.empty(50, 3, 2).permute(1, 2, 0)
    assert tile_kernels.softmax(x, out=out) is out
    torch.testing.assert_close(out, x.softmax(-1))


def test_what_requires_a_gradient_is_refused_by_name() -> None:
    x, weight = torch.randn(2, 8), torch.ones(8, requires_grad=True)
    with pytest.raises(ValueError, match="weight must not require a gradient"):
        tile_kernels.rms_norm(x, weight)
    with pytest.raises(ValueError, match="x must not require a gradient"):
        tile_kernels.softmax(x.clone().requires_grad_())
    with torch.no_grad():
        torch.testing.assert_close(tile_kernels.rms_norm(x, weight), F.rms_norm(x, (8,), eps=1e-6))


def test_tensors_must_be_together() -> None:
    with pytest.raises(TypeError, match="weight must be of the same library as x"):
        tile_kernels.rms_norm(X, X.numpy()[0])
    with pytest.raises(ValueError, match="weight must be on cpu, as x is, got meta"):
        tile_kernels.rms_norm(X, X[0].to("meta"))
    with pytest.raises(TypeError, match=r"x must be a strided tensor, got torch.sparse_coo"):
        tile_kernels.softmax(X.to_sparse())
