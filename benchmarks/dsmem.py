# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure compiled copies between CTAs beside hand-written ones, on a GPU.

One CTA of a pair sends a tile over and over to the other, which acknowledges each; in a ring all
CTAs of all SMs do both. The clock of the SM is read around all of it. The hand-written kernels of
baseline.cu do the same, in turn with ours. Every timed run compares all bytes of the destination.
Needs nvcc for the hand-written kernels.

    python benchmarks/dsmem.py [--json OUT.json] [--only PATTERN] [--seed N] [--all-variants]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from cases import DTYPES, Case, drawn_cases, fixed_cases, ring_cases
from copy_program import program
from mlir import ir

import mlir_tile as mt

LINK_BYTES = 21.33
"""Bytes per clk that the link between two SMs was measured to carry."""
RUNS = 5
READS = ("none", "plain", "fenced")
HAND_METHODS = {"thread": ["bulk_thread"], "warp": ["bulk_elected", "st_async_warp"]}
"""Methods that the threads of each issue can use; a whole CTA can use all."""


def plan_of(module: Any) -> dict[str, Any]:
    """Return what the analysis chose for the first copy of a module."""
    plans: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tile.copy_async":
            plans.append(op.attributes["plan"])
        return ir.WalkResult.ADVANCE

    mt.lower(module, "analyze").operation.walk(visit)
    plan = plans[0]
    return {
        "variant": plan.variant,
        "chunk_bytes": plan.chunk_bytes,
        "count": plan.count,
        "estimate": plan.cycles or None,
    }


def measured(
    case: Case,
    issue: str,
    threads: int,
    stages: int,
    iterations: int,
    *,
    ctas: int = 2,
    device: str = "cuda",
    runs: int = RUNS,
    variant: str | None = None,
    reads: str = "none",
) -> dict[str, Any]:
    """Compile and run one kernel; raise if a byte is wrong, return clk for one tile.

    Of all CTAs the slowest counts, of all runs the median.
    """
    draw = np.random.default_rng(3)
    dtype = DTYPES[case.element]
    bits = np.dtype(f"u{dtype.itemsize}")
    src_elements, dst_elements = case.elements
    a = draw.integers(0, 2 ** (8 * dtype.itemsize), (ctas, src_elements), np.uint64).astype(bits)
    before = draw.integers(0, 2**16, (ctas, stages, dst_elements), np.uint64).astype(bits)
    expected = before.copy()
    cluster = case.cluster or 2
    for receiver in range(ctas):
        rank = receiver % cluster
        if case.cluster or rank == 1:
            sender = receiver - rank + (rank - 1) % cluster
            expected[receiver][:, case.dst.places()] = a[sender][case.src.places()]
    with mt.context():
        module = mt.parse(program(case, issue, threads, stages, iterations, ctas, variant, reads))
        plan = plan_of(module)
        executable = mt.compile(module)
    times = []
    for run in range(runs + 1):
        b, clocks = before.copy(), np.zeros(ctas, np.int64)
        flat = [array.reshape(-1).view(dtype) for array in (a, b)]
        executable.invoke("main", *flat, clocks, device=device, timeout=60)
        if not np.array_equal(b, expected):
            raise SystemExit(f"error: {case.name}, issue({issue}): wrong bytes")
        if run:  # the first one warms up
            times.append(int(clocks.max()))
    return {"clk": statistics.median(times) / iterations, **plan}


class ByHand:
    """The hand-written kernels, compiled by nvcc into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.binary = folder / "baseline"
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        source = Path(__file__).with_name("baseline.cu")
        target = "-gencode=arch=compute_90a,code=sm_90a"
        subprocess.run([nvcc, "-std=c++17", "-O3", target, "-o", self.binary, source], check=True)

    def ctas(self, case: Case) -> int:
        """Return how many CTAs take part: one pair, or as many as run at a time, one on an SM."""
        return int(self.run("ctas", case.cluster)) if case.cluster else 2

    def measured(self, case: Case, stages: int, iterations: int, ctas: int) -> dict[str, float]:
        """Run what can copy a tile; return clk for one tile by method."""
        arguments = [
            *(iterations, stages, case.kind, case.tile_bytes, case.chunk_bytes),
            *(*case.pitch_bytes, case.cluster, ctas),
        ]
        lines = self.run(*arguments).splitlines()
        return {name: float(clk) for name, clk in map(str.split, lines)}

    def run(self, *arguments: object) -> str:
        """Run the program, and return what it prints."""
        command = [str(self.binary), *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def kernels(case: Case, all_variants: bool) -> Iterator[tuple[str, int, str | None]]:
    """Yield who issues, how many threads there are, and the variant that is forced."""
    for issue, threads in (("thread", 32), ("warp", 32), ("cta", 256)):
        # One thread has one variant, and that one cannot transpose; a CTA that sends as a whole
        # cannot receive meanwhile.
        if (issue == "thread" and case.kind == "columns") or (issue == "cta" and case.cluster):
            continue
        yield issue, threads, None
        if all_variants and issue != "thread":
            if case.kind != "columns":
                yield issue, threads, "bulk"
            yield issue, threads, "st_async"


def rates(case: Case, clk: float, hands: dict[str, float]) -> dict[str, float | None]:
    """Return bytes per clk, their part of the link's, and the ratio to the hand-written best."""
    best = min(hands.values(), default=None)
    return {
        "bytes_per_clk": case.tile_bytes / clk,
        "of_link": case.tile_bytes / clk / LINK_BYTES,
        "hand_best": best,
        "ratio": clk / best if best else None,
    }


def line(result: dict[str, Any]) -> str:
    """Return a result as a line of the table.

    A ratio above 1 is slower than by hand; `!` marks a variant that was forced.
    """
    best, ratio = result["hand_best"], result["ratio"]
    return (
        f"{result['case']:20} {result['issue']:>7} {result['stages']:>2} "
        f"{result['variant'] + ('!' if result['forced'] else ''):>9} "
        f"{result['clk']:>9.1f} {result['bytes_per_clk']:>6.2f} {result['of_link']:>7.1%} "
        + (f"{best:>9.1f} {ratio:>6.3f}" if best else f"{'-':>9} {'-':>6}")
        + ("" if result["reads"] == "none" else f" {result['reads']} reads")
    )


def output_of(*command: str) -> str | None:
    """Return what a command prints, None where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the results there")
    parser.add_argument("--only", metavar="PATTERN", default="", help="cases whose name matches")
    parser.add_argument("--iterations", type=int, default=2000, help="tiles of one run")
    parser.add_argument("--seed", type=int, default=0, help="of the five drawn tiles")
    parser.add_argument("--commit", help="what to note as the commit (default: ask git)")
    parser.add_argument(
        "--all-variants", action="store_true", help="measure what was not chosen, too"
    )
    parser.add_argument(
        "--reads",
        action="store_true",
        help="measure rings in which each tile is read, too, with and without a fence between that"
        " and the next copy into its buffer",
    )
    options = parser.parse_args()
    iterations = options.iterations // 4 * 4
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        by_hand = ByHand(Path(folder))
        print(
            f"{'tile':20} {'issue':>7} {'st':>2} {'variant':>9} {'clk':>9} {'B/clk':>6} "
            f"{'of link':>7} {'by hand':>9} {'ratio':>6}"
        )
        for case in (*fixed_cases(), *ring_cases(), *drawn_cases(options.seed)):
            if not re.search(options.only, case.name):
                continue
            ctas = by_hand.ctas(case)
            for stages in (2, 1):
                hand = by_hand.measured(case, stages, iterations, ctas)
                for issue, threads, variant, reads in (
                    (*kernel, reads)
                    for kernel in kernels(case, options.all_variants)
                    for reads in (READS if options.reads and case.cluster else READS[:1])
                ):
                    methods = HAND_METHODS.get(issue, list(hand))
                    hands = {name: clk for name, clk in hand.items() if name in methods}
                    result: dict[str, Any] = {
                        "case": case.name,
                        "tile_bytes": case.tile_bytes,
                        "issue": issue,
                        "threads": threads,
                        "ctas": ctas,
                        "stages": stages,
                        "forced": variant is not None,
                        "reads": reads,
                        "hand_written": hands,
                    }
                    result |= measured(
                        *(case, issue, threads, stages, iterations),
                        ctas=ctas,
                        variant=variant,
                        reads=reads,
                    )
                    results.append(result | rates(case, result["clk"], hands))
                    print(line(results[-1]), flush=True)
    if options.json:
        gpu = "--query-gpu=name,driver_version", "--format=csv,noheader"
        content = {
            "date": str(np.datetime64("now", "D")),
            "gpu": output_of("nvidia-smi", *gpu),
            "commit": options.commit or output_of("git", "rev-parse", "--short", "HEAD"),
            "command": " ".join(["python", *sys.argv]),
            "results": results,
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
