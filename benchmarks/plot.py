# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draw what a benchmark measured, with date, GPU and commit. Needs matplotlib.

    python benchmarks/plot.py RESULTS.json -o FOLDER

Of benchmarks/dsmem.py it draws bytes per clk against the size of the chunks, one SVG for one and
one for two stages; of benchmarks/kernels.py TB/s against the length of the rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cases import CHUNKS
from dsmem import LINK_BYTES
from matplotlib import pyplot

CURVES = [
    ("thread", "bulk", "bulk, one thread", "tab:red", "o"),
    ("warp", "bulk", "bulk, elected lane of a warp", "tab:orange", "s"),
    ("warp", "st_async", "st_async, one warp", "tab:blue", "^"),
    ("cta", "st_async", "st_async, 8 warps", "tab:green", "v"),
]


def curve(
    results: list[dict[str, Any]], issue: str, variant: str, stages: int
) -> tuple[list[int], list[float]]:
    """Return chunk sizes and bytes per clk of one variant."""
    found = {
        result["case"]: result["bytes_per_clk"]
        for result in results
        if (result["issue"], result["variant"], result["stages"]) == (issue, variant, stages)
    }
    sizes = [chunk for chunk in CHUNKS if f"chunks_{chunk}" in found]
    return sizes, [found[f"chunks_{chunk}"] for chunk in sizes]


def draw(measured: dict[str, Any], stages: int, output: Path) -> None:
    """Write the picture for so many stages."""
    figure, axes = pyplot.subplots(figsize=(9, 4.2), layout="constrained")
    axes.axhline(LINK_BYTES, color="0.4", linestyle="--", linewidth=1)
    axes.annotate(
        f"the link: {LINK_BYTES} B/clk", (CHUNKS[0], LINK_BYTES), (0, 3), textcoords="offset points"
    )
    for issue, variant, label, color, marker in CURVES:
        sizes, rates = curve(measured["results"], issue, variant, stages)
        axes.plot(sizes, rates, marker=marker, color=color, label=label)
    chosen = [r for r in measured["results"] if r["issue"] == "cta" and not r["forced"]]
    best = {r["case"]: r["hand_best"] for r in chosen if r["stages"] == stages}
    by_hand = [r["tile_bytes"] / best[r["case"]] for r in chosen if r["stages"] == stages]
    sizes = [int(r["case"].removeprefix("chunks_")) for r in chosen if r["stages"] == stages]
    axes.plot(sizes, by_hand, "kx", label="best by hand", markersize=7)
    axes.set_xscale("log", base=2)
    axes.set_xticks(CHUNKS, [str(chunk) for chunk in CHUNKS])
    axes.set_xlabel("bytes in a chunk")
    axes.set_ylabel("bytes per clk")
    axes.set_ylim(0, 24)
    plural = "s" if stages > 1 else ""
    axes.set_title(f"16 KiB in equal chunks, pair of CTAs, {stages} stage{plural}")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    source = f"{measured['gpu']}, {measured['date']}, commit {measured['commit']}"
    figure.supxlabel(source, fontsize=8, color="0.4")
    figure.savefig(output, metadata={"Date": None})
    pyplot.close(figure)


PANELS = [
    ("softmax, f32, many rows", "softmax", "float32", None),
    ("softmax, bf16, many rows", "softmax", "bfloat16", None),
    ("softmax, f32, 32 rows", "softmax", "float32", 32),
    ("rms_norm, bf16, many rows", "rms_norm", "bfloat16", None),
    ("cross_entropy, bf16, many rows", "cross_entropy", "bfloat16", None),
    ("topk, f32, k = 512, 32 rows", "topk", "float32", 32),
]
MAKERS = [
    ("tile", "tile_kernels", "tab:red", "o"),
    ("quack", "QuACK", "tab:blue", "^"),
    ("compile", "torch.compile", "tab:green", "v"),
    ("eager", "PyTorch", "0.5", "s"),
]


def draw_kernels(measured: dict[str, Any], output: Path) -> None:
    """Write the picture of kernels on rows, with what a copy reaches drawn in."""
    limit = next(row["tbs"] for row in measured["rows"] if row["kernel"] == "copy")
    figure, grid = pyplot.subplots(2, 3, figsize=(11, 5.6), layout="constrained", sharey=True)
    for axes, (title, kernel, dtype, rows) in zip(grid.flat, PANELS, strict=True):
        found = [
            row
            for row in measured["rows"]
            if (row["kernel"], row.get("dtype")) == (kernel, dtype)
            and (row["rows"] == rows if rows else row["rows"] > 32)
            and row.get("k") in (None, 512)
        ]
        lengths = [row["n"] for row in found]
        axes.axhline(limit, color="0.4", linestyle="--", linewidth=1)
        for maker, label, color, marker in MAKERS:
            rates = [row["tbs"].get(maker) for row in found]
            if None not in rates:
                axes.plot(lengths, rates, marker=marker, color=color, label=label, markersize=5)
        axes.set_title(title, fontsize=10)
        axes.set_xscale("log", base=2)
        axes.set_xticks(lengths, [f"{n // 1024}K" for n in lengths])
        axes.minorticks_off()
        axes.set_ylim(0, 4.6)
    grid[0, 0].annotate("copy", (4096, limit), (0, 3), textcoords="offset points", fontsize=8)
    for row in grid:
        row[0].set_ylabel("TB/s")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    source = f"{measured['device']}, {measured['date']}, commit {measured['commit']}"
    figure.supxlabel(f"elements of a row\n{source}", fontsize=8, color="0.4")
    figure.savefig(output, metadata={"Date": None})
    pyplot.close(figure)


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("results", type=Path, help="what a benchmark wrote with --json")
    parser.add_argument("-o", metavar="FOLDER", dest="folder", type=Path, default=Path())
    options = parser.parse_args()
    measured = json.loads(options.results.read_text())
    mpl.use("svg")
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "tile"
    if "rows" in measured:
        draw_kernels(measured, options.folder / "kernels.svg")
        return 0
    measured["results"] = [r for r in measured["results"] if r["case"].startswith("chunks_")]
    for stages in (1, 2):
        draw(measured, stages, options.folder / f"dsmem_{stages}_stages.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
