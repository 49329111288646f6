# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure how long each stage of the compilation takes, and the start of a process, on the CPU.

    python benchmarks/compile.py [--json OUT.json] [--runs N] [--start]

The programs are the demonstration, and a kernel with 64 copies of each variant. Beside them stands
upstream's `gpu-lower-to-nvvm-pipeline` on what the legalization made of the same kernel; it takes
turns with the way to PTX, and `ratio` is how much longer that took. Where Triton is installed,
there is what it takes for a kernel that copies a block. Times are processor time of the whole
process, so that other work on the machine counts little. `--start` measures fresh processes
instead, by the clock on the wall.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlir import ir
from mlir.passmanager import PassManager

import mlir_tile as mt

STAGES = ("analyze", "legalize", "nvvm", "ptx")
SPACE = "#gpu.address_space<workgroup>"
UPSTREAM = (
    "builtin.module(gpu-lower-to-nvvm-pipeline{cubin-chip=sm_90 cubin-features=+ptx81 "
    "cubin-format=isa opt-level=3})"
)


def many_copies(issue: str, variant: str) -> str:
    """Return a module whose kernel has 64 copies of 64 chunks."""
    tile = f"memref<64x32xf16, strided<[64, 1]>, {SPACE}>"
    group = f"!nvgpu.mbarrier.group<memorySpace = {SPACE}, num_barriers = 1>"
    copy = (
        "    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) "
        f'issue({issue}) {{variant = "{variant}"}} : {tile} to {tile}, {group}\n'
    )
    return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @copies(%rank: i32) workgroup(%src: {tile}, %dst: {tile})
      kernel attributes {{known_block_size = array<i32: 128, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create -> {group}
{copy * 64}    gpu.return
  }}
}}
}}
"""


def processor_s() -> float:
    """Return the seconds that this process, its threads and its children have computed."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def taken_ms(action: Callable[[], Any]) -> float:
    """Return the processor time of an action in milliseconds."""
    start = processor_s()
    action()
    return (processor_s() - start) * 1000


def median_ms(action: Callable[[], Any], runs: int) -> float:
    """Return the median processor time of an action in milliseconds; the first run warms up."""
    return statistics.median([taken_ms(action) for _ in range(runs + 1)][1:])


def stages_of(text: str, runs: int) -> dict[str, float]:
    """Return the milliseconds from the parsed module to what leaves each stage."""
    with mt.context():
        module = mt.parse(text)
        times = {"parse": median_ms(lambda: mt.parse(text), runs)}
        for stage in STAGES:
            times[stage] = median_ms(lambda stage=stage: mt.lower(module, stage), runs)
        legalized = str(mt.lower(module, "legalize"))

        def turn() -> tuple[float, float]:
            ours = taken_ms(lambda: mt.lower(module, "ptx"))
            parsed = ir.Module.parse(legalized).operation
            return ours, taken_ms(lambda: PassManager.parse(UPSTREAM).run(parsed))

        try:
            turns = [turn() for _ in range(runs + 1)][1:]
            times["upstream"] = statistics.median(theirs for _, theirs in turns)
            times["ratio"] = statistics.median(ours / theirs for ours, theirs in turns)
        except ir.MLIRError as error:
            # It lacks, for one, what places dynamic shared memory.
            print(f"not compared: upstream refuses this kernel: {error}", file=sys.stderr)
    return times


def triton_ms(runs: int) -> float | None:
    """Return what Triton takes from a parsed kernel to PTX, None where it is not installed."""
    try:
        import triton
        from triton import language as tl
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
    except ImportError:
        return None

    @triton.jit
    def copy(src, dst, block: tl.constexpr):  # type: ignore[no-untyped-def]
        places = tl.program_id(0) * block + tl.arange(0, block)
        tl.store(dst + places, tl.load(src + places))

    os.environ["TRITON_ALWAYS_COMPILE"] = "1"
    source = ASTSource(
        copy, {"src": "*fp16", "dst": "*fp16", "block": "constexpr"}, {"block": 8192}
    )

    def compile_it() -> None:
        assert ".entry" in triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]

    return median_ms(compile_it, runs)


def import_ms(runs: int) -> float:
    """Return how long `import mlir_tile` takes beyond an interpreter that imports nothing."""

    def run(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    return median_ms(run("import mlir_tile"), runs) - median_ms(run("pass"), runs)


START = """
import time
began = time.perf_counter()
import mlir_tile as mt
imported = time.perf_counter()
with mt.context():
    mt.compile(mt.parse({text!r}))
print(1000 * (imported - began), 1000 * (time.perf_counter() - imported))
"""


def starts_of(text: str, runs: int) -> dict[str, float]:
    """Return the milliseconds that importing, and then compiling, take in a fresh process."""

    def start() -> list[float]:
        command = [sys.executable, "-W", "ignore", "-c", START.format(text=text)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        return [float(time) for time in done.stdout.split()]

    imported, compiled = zip(*(start() for _ in range(runs)), strict=True)
    return {"import": statistics.median(imported), "compile": statistics.median(compiled)}


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the results there")
    parser.add_argument("--runs", type=int, default=10, help="timed runs (default %(default)s)")
    parser.add_argument("--start", action="store_true", help="measure the start of processes")
    options = parser.parse_args()
    demonstration = Path(__file__).parents[1] / "examples" / "dsmem_copy.mlir"
    programs = {"dsmem_copy": demonstration.read_text()}
    for issue, variant in (("thread", "bulk"), ("warp", "bulk"), ("cta", "st_async")):
        programs[f"64 copies, {issue}, {variant}"] = many_copies(issue, variant)
    results: dict[str, Any] = {"programs": {}}
    columns = ["parse", *STAGES, "upstream", "ratio"]
    measure = stages_of
    if options.start:
        columns, measure = ["import", "compile"], starts_of
    print(f"{'milliseconds to':30}" + "".join(f"{name:>10}" for name in columns))
    for name, text in programs.items():
        times = measure(text, options.runs)
        results["programs"][name] = times
        digits = {"ratio": 2}
        cells = (
            f"{times[c]:>10.{digits.get(c, 1)}f}" if c in times else f"{'-':>10}" for c in columns
        )
        print(f"{name:30}" + "".join(cells), flush=True)
    if not options.start:
        results["import_ms"] = import_ms(options.runs)
        print(f"import mlir_tile: {results['import_ms']:.0f} ms")
        results["triton_ms"] = triton_ms(options.runs)
        if results["triton_ms"] is not None:
            print(f"Triton, a kernel that copies a block, to PTX: {results['triton_ms']:.1f} ms")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
