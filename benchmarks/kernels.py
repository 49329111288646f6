# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast `tile_kernels` is beside PyTorch and QuACK, all in one run on one GPU.

    python benchmarks/kernels.py [softmax ...] [--json OUT] [--quick]

Each call is timed by events of the device, after all of the L2 cache was written over; a number is
the median of 30. The limit is a copy of as many bytes. Rows that are many have 512 MB of traffic;
few ones are those of a batch that decodes. PyTorch is timed as it is and by `torch.compile`; QuACK
where it is installed. A result that is not PyTorch's ends the benchmark. Needs a GPU and PyTorch.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import mlir_tile
import tile_kernels

Call = Callable[[], Any]
TRAFFIC_BYTES = 512 << 20
DTYPES = (torch.float32, torch.bfloat16)


def others(module: str, name: str) -> Callable[..., Any] | None:
    """Return a function of QuACK, if that is installed."""
    if importlib.util.find_spec("quack") is None:
        return None
    return getattr(importlib.import_module(f"quack.{module}"), name, None)


def compiled(function: Callable[..., Any], *arguments: Any) -> Call:
    """Return a call of what `torch.compile` makes of a function for these arguments."""
    torch._dynamo.reset()
    made = torch.compile(function)
    return lambda: made(*arguments)


def candidates(
    ours: Callable[..., Any], theirs: Callable[..., Any], quack: Any, *arguments: Any
) -> dict[str, Call]:
    """Return the calls to time, by who makes them."""
    calls = {
        "tile": lambda: ours(*arguments),
        "eager": lambda: theirs(*arguments),
        "compile": compiled(theirs, *arguments),
    }
    if quack is not None:
        calls["quack"] = lambda: quack(*arguments)
    return calls


def many(length: int, dtype: torch.dtype, streams: int = 2) -> int:
    """Return how many rows have `TRAFFIC_BYTES` when they are read, or read and written."""
    return max(16, TRAFFIC_BYTES // (streams * length * dtype.itemsize))


Case = tuple[dict[str, Any], int, dict[str, Call], Callable[[Any, Any], bool]]


def close(scale: float) -> Callable[[Any, Any], bool]:
    """Return what compares results: to `scale` units in the last place of the largest."""

    def is_close(a: Any, b: Any) -> bool:
        a, b = (t[0] if isinstance(t, tuple) else t for t in (a, b))
        off = (a.double() - b.double()).abs().max()
        return bool(off <= scale * torch.finfo(b.dtype).eps * b.double().abs().max())

    return is_close


def softmax_cases(quick: bool) -> Iterator[Case]:
    quack = others("softmax", "softmax")
    for dtype in DTYPES:
        for length in (4096, 32768, 65536, 131072, 262144, 524288):
            few = (1, 8, 32) if length >= 131072 else ()
            for rows in (many(length, dtype), *few):
                x = torch.randn(rows, length, device="cuda", dtype=dtype)
                for name in ("softmax",) if quick else ("softmax", "log_softmax"):
                    theirs = getattr(torch, name)
                    calls = candidates(
                        getattr(tile_kernels, name),
                        lambda x, theirs=theirs: theirs(x, -1),
                        quack if name == "softmax" else None,
                        x,
                    )
                    about = {"kernel": name, "dtype": str(dtype)[6:], "rows": rows, "n": length}
                    yield about, 2 * x.nbytes, calls, close(32)


def norm_cases(quick: bool) -> Iterator[Case]:
    quack = others("rmsnorm", "rmsnorm")
    for dtype in DTYPES:
        for length in (4096, 32768, 65536, 131072, 262144):
            for rows in (many(length, dtype), 8):
                x = torch.randn(rows, length, device="cuda", dtype=dtype)
                weight = torch.randn(length, device="cuda", dtype=dtype)
                bias = torch.randn(length, device="cuda", dtype=dtype)
                about = {"dtype": str(dtype)[6:], "rows": rows, "n": length}
                calls = candidates(
                    tile_kernels.rms_norm,
                    lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6),
                    None,
                    x,
                    weight,
                )
                if quack is not None:
                    wide = weight.float()
                    calls["quack"] = lambda x=x, wide=wide: quack(x, wide)
                yield {"kernel": "rms_norm", **about}, 2 * x.nbytes, calls, close(32)
                if quick:
                    continue
                calls = candidates(
                    tile_kernels.layer_norm,
                    lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
                    None,
                    x,
                    weight,
                    bias,
                )
                yield {"kernel": "layer_norm", **about}, 2 * x.nbytes, calls, close(32)


def cross_entropy_cases(quick: bool) -> Iterator[Case]:
    quack = others("cross_entropy", "cross_entropy")
    for dtype in DTYPES:
        for length in (32768, 131072, 262144):
            for rows in (many(length, dtype, 1), 8):
                x = torch.randn(rows, length, device="cuda", dtype=dtype)
                targets = torch.randint(0, length, (rows,), device="cuda")
                calls = candidates(
                    tile_kernels.cross_entropy,
                    lambda x, t: F.cross_entropy(x, t, reduction="none"),
                    None,
                    x,
                    targets,
                )
                if quack is not None:
                    calls["quack"] = lambda x=x, t=targets: quack(x, t, reduction="none")
                about = {"dtype": str(dtype)[6:], "rows": rows, "n": length}
                yield {"kernel": "cross_entropy", **about}, x.nbytes, calls, close(32)


def topk_cases(quick: bool) -> Iterator[Case]:
    for dtype in DTYPES:
        for length in (131072, 524288, 1048576):
            for rows in (1, 8, 32):
                x = torch.randn(rows, length, device="cuda", dtype=dtype)
                for k in (512, 2048):
                    calls = {
                        "tile": lambda x=x, k=k: tile_kernels.topk(x, k),
                        "eager": lambda x=x, k=k: torch.topk(x, k, dim=-1),
                    }
                    about = {"dtype": str(dtype)[6:], "rows": rows, "n": length, "k": k}
                    yield {"kernel": "topk", **about}, x.nbytes, calls, close(0)


GROUPS = {
    "softmax": softmax_cases,
    "norms": norm_cases,
    "cross_entropy": cross_entropy_cases,
    "topk": topk_cases,
}


def copy_time() -> float:
    """Return the microseconds of a copy with `TRAFFIC_BYTES` of traffic."""
    x = torch.empty(TRAFFIC_BYTES // 2, dtype=torch.int8, device="cuda")
    y = torch.empty_like(x)
    return mlir_tile.benchmark(lambda: y.copy_(x)).median


def run(groups: list[str], quick: bool) -> Iterator[dict[str, Any]]:
    """Yield what was measured: first the limit, then a row for each kernel and shape."""
    yield {"kernel": "copy", "tbs": TRAFFIC_BYTES / copy_time() / 1e6}
    for group in groups:
        for about, traffic_bytes, calls, is_right in GROUPS[group](quick):
            if quick:
                calls.pop("compile", None)
            if not is_right(calls["tile"](), calls["eager"]()):
                sys.exit(f"error: wrong values: {about}")
            us = {who: round(mlir_tile.benchmark(call).median, 2) for who, call in calls.items()}
            tbs = {who: round(traffic_bytes / time / 1e6, 3) for who, time in us.items()}
            yield {**about, "us": us, "tbs": tbs}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(GROUPS)}; all by default")
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    parser.add_argument("--quick", action="store_true", help="neither torch.compile nor siblings")
    options = parser.parse_args()
    if unknown := set(options.groups) - set(GROUPS):
        parser.error(f"groups must be of {', '.join(GROUPS)}, got {', '.join(sorted(unknown))}")
    if not torch.cuda.is_available():
        sys.exit("error: this needs a GPU that PyTorch finds")
    found = []
    for row in run(options.groups or list(GROUPS), options.quick):
        found.append(row)
        shape = "".join(
            f"{row.get(key, ''):>{width}}"
            for key, width in (("dtype", 9), ("rows", 6), ("n", 8), ("k", 5))
        )
        if "us" not in row:
            print(f"{row['kernel']:14}{row['tbs']:.2f} TB/s", flush=True)
            continue
        times = "".join(
            f"  {who} {time:8.1f} us {row['tbs'][who]:5.2f}" for who, time in row["us"].items()
        )
        print(f"{row['kernel']:14}{shape}{times}", flush=True)
    if options.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        options.json.write_text(json.dumps({**about, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
