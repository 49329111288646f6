# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels on a GPU, at all sizes, beside PyTorch in f64."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tile_kernels
from tile_kernels import plans

torch: Any = pytest.importorskip("torch")
F = torch.nn.functional

pytestmark = pytest.mark.gpu

LENGTHS = [1, 2, 3, 31, 127, 1000, 4096, 4099, 32768, 50257, 65536, 100003, 131072, 151936]
LENGTHS += [262144, 262147, 524288, 524289, 1048575, 1048576]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def drawn(length: int, dtype: Any, seed: int) -> Any:
    """Return rows that begin anywhere and may have gaps between them."""
    draw = random.Random(seed * 1_000_003 + length)
    rows = draw.choice([1, 2, 3, 8, 40]) if length > 4096 else draw.choice([1, 5, 1000, 20_000])
    gap, start = draw.choice([0, 0, 8, 3]), draw.choice([0, 0, 1, 5])
    width = length + gap
    whole = torch.randn(start + rows * width, device="cuda") * 3
    return whole.to(dtype)[start:].view(rows, width)[:, :length]


def check(found: Any, exact: Any, scale: Any = None) -> None:
    """Compare with f64: a unit in the last place of f32 times `scale`, and rounding."""
    eps = torch.finfo(found.dtype).eps
    scale = exact.abs() if scale is None else scale
    allowed = 32 * 2.0**-23 * scale + exact.abs() * eps * 0.51 + torch.finfo(found.dtype).tiny
    off = (found.double() - exact).abs()
    assert bool((off <= allowed).all()), f"{float((off - allowed).max())} beyond"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", LENGTHS)
def test_all_lengths(length: int, dtype: Any) -> None:
    x = drawn(length, dtype, 1)
    wide, weight = x.double(), torch.randn(length, device="cuda")
    size = 1 + (wide - wide.amax(-1, keepdim=True)).abs()
    exact = wide.softmax(-1)
    check(tile_kernels.softmax(x), exact, exact * size)
    exact = wide.log_softmax(-1)
    check(tile_kernels.log_softmax(x), exact, exact.abs() + size)
    targets = torch.randint(0, length, x.shape[:1], device="cuda")
    exact = F.cross_entropy(wide, targets, reduction="none")
    check(tile_kernels.cross_entropy(x, targets), exact, exact.abs() + 20)
    exact = F.rms_norm(wide, (length,), weight.double(), 1e-6)
    check(tile_kernels.rms_norm(x, weight), exact)
    exact = F.layer_norm(wide, (length,), weight.double(), None, 1e-5)
    if length > 1:
        check(tile_kernels.layer_norm(x, weight), exact, exact.abs() + 20 * weight.double().abs())


@pytest.mark.parametrize("seed", range(100))
def test_drawn_lengths_and_sizes(seed: int) -> None:
    draw = random.Random(seed)
    dtype = draw.choice(DTYPES)
    x = drawn(int(2 ** draw.uniform(0, 20)), dtype, seed)
    sizes = draw.choice([1, 2, 4, 8, 16]), draw.choice([32, 128, 256, 512]), draw.choice([1, 4, 8])
    with plans.sizes(*sizes):
        found = tile_kernels.softmax(x)
    wide = x.double()
    exact = wide.softmax(-1)
    check(found, exact, exact * (1 + (wide - wide.amax(-1, keepdim=True)).abs()))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_special_values(dtype: Any) -> None:
    inf = float("inf")
    x = torch.randn(6, 70_001, device="cuda").to(dtype)
    x[1] = -inf
    x[2, 69_999] = inf
    x[3, 12_345] = float("nan")
    x[4, ::2] = -inf
    x[5] = torch.finfo(dtype).min
    x[5, 7] = torch.finfo(dtype).max
    for name in "softmax", "log_softmax":
        exact = getattr(torch, name)(x.double(), -1)
        found = getattr(tile_kernels, name)(x)
        assert torch.equal(found.isnan(), exact.isnan())
        torch.testing.assert_close(found, exact.to(dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [1, 100, 4096, 50257, 131072, 262147, 1048576])
def test_topk(length: int, dtype: Any) -> None:
    x = drawn(length, dtype, 2)
    if length == 50257:  # few values, of which many are equal
        x = x.round().clamp(-1, 1)
    wide = x.float() + 0.0
    columns = wide.sort(dim=-1, descending=True, stable=True).indices
    for k in {min(k, length) for k in (1, 17, 512, 2048, 4096)}:
        values, found = tile_kernels.topk(x, k)
        assert torch.equal(found, columns[:, :k])
        assert torch.equal(values, x.gather(-1, found))


@pytest.mark.parametrize("order", ["rising", "equal", "nan"])
def test_topk_of_rows_in_order(order: str) -> None:
    x = torch.arange(300_000, device="cuda").float()[None].repeat(9, 1)
    if order == "equal":
        x *= 0
    if order == "nan":
        x[:, 100:200_000] = float("nan")
    columns = x.sort(dim=-1, descending=True, stable=True).indices
    for k in 5, 2048:
        assert torch.equal(tile_kernels.topk(x, k)[1], columns[:, :k])


def test_a_graph_and_a_stream() -> None:
    x = torch.randn(8, 131072, device="cuda")
    out = torch.empty_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        tile_kernels.softmax(x, out=out)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tile_kernels.softmax(x, out=out)
    for _ in range(3):
        x.normal_()
        graph.replay()
        torch.testing.assert_close(out, x.softmax(-1))


def test_compiled() -> None:
    x = torch.randn(8, 131072, device="cuda", dtype=torch.bfloat16)
    call = torch.compile(lambda x: tile_kernels.softmax(x * 2) + 1, fullgraph=True)
    torch.testing.assert_close(call(x), (x * 2).softmax(-1) + 1)


def test_rows_do_not_compile_anew() -> None:
    from tile_kernels import launching

    def compiled(rows: int) -> int:
        tile_kernels.softmax(torch.randn(rows, 1024, device="cuda"))
        return launching._compile.cache_info().misses

    assert compiled(50) == compiled(77) == compiled(300)  # few rows have sizes of their own
