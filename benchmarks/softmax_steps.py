# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure the kernels of docs/how-to/softmax-step-by-step.md, by executing that page.

Prints microseconds for 8 and 512 rows of 131,072 elements. Needs a GPU and PyTorch.

    python benchmarks/softmax_steps.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import mlir_tile
import tile_kernels

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "softmax-step-by-step.md"
LENGTH = 131072
STEPS = [
    ("one_cta", {}),
    ("one_pass", {}),
    ("by_vectors", {}),
    ("by_cluster", {"block": 256, "cluster": 16}),
    ("in_registers", {"block": 256, "cluster": 16}),
]


def page() -> dict[str, Any]:
    """Execute the page, and return its names."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        exec(block, names)
    return names


def measured(name: str, run: Callable[[Any, Any], Any]) -> str:
    """Return the row of a table; raise if a value is wrong."""
    times = []
    for rows in 8, 512:
        x = torch.randn(rows, LENGTH, device="cuda")
        y = torch.empty_like(x)
        run(x, y)
        torch.testing.assert_close(y, torch.softmax(x, -1), rtol=1e-4, atol=1e-9)
        times.append(mlir_tile.benchmark(lambda x=x, y=y: run(x, y)).median)
    return f"| {name} | {times[0]:.1f} | {times[1]:.0f} |"


def main() -> None:
    """Print the table."""
    names = page()
    for name, sizes in STEPS:
        kernel = names["compiled"](names[name], **sizes).kernel("kernels", "softmax")
        cluster = sizes.get("cluster", 1)

        def run(x: Any, y: Any, kernel: Any = kernel, cluster: int = cluster) -> None:
            kernel[x.shape[0] * cluster](x, y)

        print(measured(name, run), flush=True)
    print(measured("tile_kernels", lambda x, y: tile_kernels.softmax(x, out=y)))
    print(measured("PyTorch", lambda x, y: torch.softmax(x, -1, out=y)))


if __name__ == "__main__":
    main()
