# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure compiled copies between two CTAs beside hand-written ones, on a GPU.

One CTA of a pair sends a tile over and over to the other, which acknowledges each; the clock of the
SM is read around all of it. The hand-written kernels of baseline.cu do the same. Every timed run
compares all bytes of the destination. Needs nvcc for the hand-written kernels.

    python benchmarks/dsmem.py [--json OUT.json] [--only PATTERN] [--iterations N] [--all-variants]
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mlir_tile as mt

LINK_BYTES = 21.33
"""Bytes per clk that the link between two SMs was measured to carry."""
RUNS = 5
TILE = 16384


@dataclass(frozen=True)
class Layout:
    """Extents and strides in elements, perhaps swizzled, from the buffer's start."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    swizzle: tuple[int, int, int] | None = None

    def places(self) -> npt.NDArray[np.int64]:
        """Return the place of each element of the tile."""
        places = np.zeros(self.shape, np.int64)
        for index, stride in zip(np.indices(self.shape), self.strides, strict=True):
            places += index * stride
        if self.swizzle:
            bits, base, shift = self.swizzle
            places ^= ((places >> (base + shift)) & ((1 << bits) - 1)) << base
        return places

    def type(self, element: str) -> str:
        """Return the memref type of the tile."""
        extents, strides = (", ".join(map(str, x)) for x in (self.shape, self.strides))
        layout = f"strided<[{strides}]>"
        if self.swizzle:
            swizzle = ", ".join(map(str, self.swizzle))
            layout = f"#tile.layout<({extents}) : ({strides}), swizzle = <{swizzle}>>"
        return f"memref<{'x'.join(map(str, self.shape))}x{element}, {layout}, {SPACE}>"

    def seen(self, buffer: str, elements: int, element: str) -> str:
        """Return the op that sees a flat buffer as the tile."""
        flat = f"memref<{elements}x{element}, {SPACE}>"
        if self.swizzle:
            return f"tile.view {buffer}[0] : {flat} to {self.type(element)}"
        return (
            f"memref.reinterpret_cast {buffer} to offset: [0], sizes: {list(self.shape)}, "
            f"strides: {list(self.strides)} : {flat} to {self.type(element)}"
        )


SPACE = "#gpu.address_space<workgroup>"


@dataclass(frozen=True)
class Case:
    """A tile, its two layouts in buffers of so many elements, and its hand-written counterpart."""

    name: str
    element: str
    src: Layout
    dst: Layout
    elements: tuple[int, int]
    kind: str
    chunk: int
    pitch: int

    @property
    def tile_bytes(self) -> int:
        """Bytes of the tile."""
        return int(np.prod(self.src.shape)) * DTYPES[self.element].itemsize


DTYPES = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32)}


def cases() -> Iterator[Case]:
    """Yield what is measured: all tiles have 16 KiB."""
    rows = Layout((128, 64), (64, 1))
    flat = (8192, 8192)
    yield Case("contiguous", "f16", rows, rows, flat, "chunks", TILE, TILE)
    for chunk in (16, 32, 64, 128, 256, 512, 1024, 4096):
        side = Layout((TILE // chunk, chunk // 2), (chunk, 1))
        yield Case(f"chunks_{chunk}", "f16", side, side, (TILE, TILE), "chunks", chunk, 2 * chunk)
    swizzled = Layout((128, 64), (64, 1), (3, 3, 3))
    yield Case("from_swizzled", "f16", swizzled, rows, flat, "from_swizzled", TILE, TILE)
    yield Case("to_swizzled", "f16", rows, swizzled, flat, "to_swizzled", TILE, TILE)
    square, turned = Layout((64, 64), (64, 1)), Layout((64, 64), (1, 64))
    yield Case("row_to_column_f32", "f32", square, turned, (4096, 4096), "columns", TILE, TILE)


def program(
    case: Case, issue: str, threads: int, stages: int, iterations: int, variant: str | None = None
) -> str:
    """Return the module: `main(a, b, clocks)` sends `iterations` tiles through `stages` buffers."""
    forced = f' {{variant = "{variant}"}}' if variant else ""
    element, (src_elements, dst_elements) = case.element, case.elements
    a, b = f"memref<{src_elements}x{element}>", f"memref<{stages * dst_elements}x{element}>"
    clocks = "memref<2xi64>"
    group = f"!nvgpu.mbarrier.group<memorySpace = {SPACE}, num_barriers = {stages}>"
    src_type, dst_type = case.src.type(element), case.dst.type(element)
    executors = {"thread": 1, "warp": 32, "cta": threads}[issue]
    stage_range = range(stages)
    last_phase = "even" if iterations // stages % 2 else "odd"
    buffers = ", ".join(
        f"%dst_buffer{s}: memref<{dst_elements}x{element}, {SPACE}>" for s in stage_range
    )
    views = "\n".join(
        f"    %dst{s} = {case.dst.seen(f'%dst_buffer{s}', dst_elements, element)}"
        for s in stage_range
    )

    def each_stage(text: str) -> str:
        return "\n".join(text.replace("@s", str(s)) for s in stage_range)

    return f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @send(%a: {a}, %b: {b}, %clocks: {clocks})
      workgroup(%src_buffer: memref<{src_elements}x{element}, {SPACE}>, {buffers})
      kernel attributes {{known_block_size = array<i32: {threads}, 1, 1>,
                          known_cluster_size = array<i32: 2, 1, 1>}} {{
    {each_stage("%c@s = arith.constant @s : index")}
    %one = arith.constant 1 : index
    %threads = arith.constant {threads} : index
    %executors = arith.constant {executors} : index
    %src_elements = arith.constant {src_elements} : index
    %dst_elements = arith.constant {dst_elements} : index
    %first = arith.constant 0 : index
    %rounds = arith.constant {iterations // stages} : index
    %last = arith.constant {iterations // stages - 1} : index
    %bytes = arith.constant {case.tile_bytes} : index
    %ticks = arith.constant 10000000 : index
    %even = arith.constant false
    %odd = arith.constant true
    %sender = arith.constant 0 : i32
    %receiver = arith.constant 1 : i32
    %thread = gpu.thread_id x
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %is_first = arith.cmpi eq, %thread, %first : index
    %executes = arith.cmpi ult, %thread, %executors : index
    %is_sender = arith.cmpi eq, %rank, %sender : i32
    %src = {case.src.seen("%src_buffer", src_elements, element)}
{views}
    %full = nvgpu.mbarrier.create -> {group}
    %empty = nvgpu.mbarrier.create -> {group}
    scf.if %is_first {{
      {
        each_stage(f'''
      nvgpu.mbarrier.init %full[%c@s], %one : {group}
      nvgpu.mbarrier.init %empty[%c@s], %one : {group}
      nvgpu.mbarrier.arrive.expect_tx %full[%c@s], %bytes : {group}''')
    }
      nvvm.fence.mbarrier.init
    }}
    scf.for %i = %thread to %src_elements step %threads {{
      %value = memref.load %a[%i] : {a}
      memref.store %value, %src_buffer[%i] : memref<{src_elements}x{element}, {SPACE}>
    }}
    scf.for %i = %thread to %dst_elements step %threads {{
      {
        each_stage(f'''
      %base@s = arith.muli %c@s, %dst_elements : index
      %at@s = arith.addi %base@s, %i : index
      %value@s = memref.load %b[%at@s] : {b}
      memref.store %value@s, %dst_buffer@s[%i] : memref<{dst_elements}x{element}, {SPACE}>''')
    }
    }}
    nvvm.fence.proxy {{kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}}
    gpu.barrier
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %start = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %is_sender {{
      scf.if %executes {{
        %parity_end = scf.for %round = %first to %rounds step %one
            iter_args(%parity = %odd) -> (i1) {{
          {
        each_stage(f'''
          nvgpu.mbarrier.try_wait.parity %empty[%c@s], %parity, %ticks : {group}
          tile.copy_async %src to %dst@s cta(%receiver) mbarrier(%full[%c@s]) issue({issue}){forced}
              : {src_type} to {dst_type}, {group}''')
    }
          %flipped = arith.xori %parity, %odd : i1
          scf.yield %flipped : i1
        }}
        {
        each_stage(f'''
        nvgpu.mbarrier.try_wait.parity %empty[%c@s], %parity_end, %ticks : {group}''')
    }
      }}
    }} else {{
      scf.if %is_first {{
        {
        each_stage(f'''
        %free@s = nvgpu.mbarrier.get %empty[%c@s] : {group} -> i64
        %own@s = llvm.inttoptr %free@s : i64 to !llvm.ptr<3>
        %peer@s = nvvm.mapa %own@s, %sender : !llvm.ptr<3> -> !llvm.ptr<7>
        %place@s = llvm.ptrtoint %peer@s : !llvm.ptr<7> to i32''')
    }
        %parity_end = scf.for %round = %first to %rounds step %one
            iter_args(%parity = %even) -> (i1) {{
          {
        each_stage(f'''
          nvgpu.mbarrier.try_wait.parity %full[%c@s], %parity, %ticks : {group}
          %more@s = arith.cmpi ult, %round, %last : index
          scf.if %more@s {{
            nvgpu.mbarrier.arrive.expect_tx %full[%c@s], %bytes : {group}
          }}
          llvm.inline_asm has_side_effects "mbarrier.arrive.shared::cluster.b64 _, [$0];",
              "r,~{{memory}}" %place@s : (i32) -> ()''')
    }
          %flipped = arith.xori %parity, %odd : i1
          scf.yield %flipped : i1
        }}
      }}
    }}
    %end = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %is_first {{
      %taken = arith.subi %end, %start : i64
      %slot = arith.index_cast %rank : i32 to index
      memref.store %taken, %clocks[%slot] : {clocks}
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    scf.if %is_sender {{
    }} else {{
      {
        each_stage(f'''
      nvgpu.mbarrier.try_wait.parity %full[%c@s], %{last_phase}, %ticks : {group}''')
    }
      scf.for %i = %thread to %dst_elements step %threads {{
        {
        each_stage(f'''
        %base@s = arith.muli %c@s, %dst_elements : index
        %at@s = arith.addi %base@s, %i : index
        %value@s = memref.load %dst_buffer@s[%i] : memref<{dst_elements}x{element}, {SPACE}>
        memref.store %value@s, %b[%at@s] : {b}''')
    }
      }}
    }}
    gpu.return
  }}
}}
func.func @main(%a: {a}, %b: {b}, %clocks: {clocks}) attributes {{llvm.emit_c_interface}} {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %threads = arith.constant {threads} : index
  %t0 = gpu.wait async
  %device_a, %t1 = gpu.alloc async [%t0] () : {a}
  %device_b, %t2 = gpu.alloc async [%t1] () : {b}
  %device_clocks, %t3 = gpu.alloc async [%t2] () : {clocks}
  %t4 = gpu.memcpy async [%t3] %device_a, %a : {a}, {a}
  %t5 = gpu.memcpy async [%t4] %device_b, %b : {b}, {b}
  %t6 = gpu.launch_func async [%t5] @kernels::@send clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%threads, %c1, %c1)
      args(%device_a : {a}, %device_b : {b}, %device_clocks : {clocks})
  %t7 = gpu.memcpy async [%t6] %b, %device_b : {b}, {b}
  %t8 = gpu.memcpy async [%t7] %clocks, %device_clocks : {clocks}, {clocks}
  %t9 = gpu.dealloc async [%t8] %device_a : {a}
  %t10 = gpu.dealloc async [%t9] %device_b : {b}
  %t11 = gpu.dealloc async [%t10] %device_clocks : {clocks}
  gpu.wait [%t11]
  return
}}
}}
"""


def plan_of(module: Any) -> dict[str, Any]:
    """Return what the analysis chose for the first copy of a module."""
    text = str(mt.lower(module, "analyze"))
    found = re.search(r"#tile\.copy_plan<(\w+), chunk = (\d+), count = (\d+)", text)
    assert found, text
    return {"variant": found[1], "chunk_bytes": int(found[2]), "count": int(found[3])}


def measured(
    case: Case,
    issue: str,
    threads: int,
    stages: int,
    iterations: int,
    device: str,
    runs: int,
    variant: str | None,
) -> dict[str, Any]:
    """Compile and run one kernel; raise if a byte is wrong, return clk for one tile."""
    draw = np.random.default_rng(3)
    dtype = DTYPES[case.element]
    bits = np.dtype(f"u{dtype.itemsize}")
    a = draw.integers(0, 2 ** (8 * dtype.itemsize), case.elements[0], np.uint64).astype(bits)
    before = draw.integers(0, 2**16, stages * case.elements[1], np.uint64).astype(bits)
    expected = before.reshape(stages, -1).copy()
    expected[:, case.dst.places()] = a[case.src.places()]
    with mt.context():
        module = mt.parse(program(case, issue, threads, stages, iterations, variant))
        plan = plan_of(module)
        executable = mt.compile(module)
    times = []
    for run in range(runs + 1):
        b, clocks = before.copy(), np.zeros(2, np.int64)
        executable.invoke("main", a.view(dtype), b.view(dtype), clocks, device=device, timeout=60)
        if not np.array_equal(b.reshape(stages, -1), expected):
            raise SystemExit(f"{case.name}, issue({issue}): wrong bytes")
        if run:  # the first one warms up
            times.append(int(clocks.max()))
    return {"clk": statistics.median(times) / iterations, **plan}


def by_hand(binary: Path, case: Case, stages: int, iterations: int) -> dict[str, float]:
    """Run the hand-written kernels for a tile; return clk for one tile by method."""
    arguments = [iterations, stages, case.kind, TILE, case.chunk, case.pitch, case.pitch]
    done = subprocess.run(
        [str(binary), *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return {name: float(clk) for name, clk in map(str.split, done.stdout.splitlines())}


HAND_METHODS = {"thread": ["bulk_thread"], "warp": ["bulk_elected", "st_async_warp"]}
"""Methods that the threads of each issue can use; a whole CTA can use all."""


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the results there")
    parser.add_argument("--only", metavar="PATTERN", default="", help="cases whose name matches")
    parser.add_argument("--iterations", type=int, default=2000, help="tiles of one run")
    parser.add_argument("--device", choices=("cuda", "emulator"), default="cuda")
    parser.add_argument(
        "--all-variants", action="store_true", help="measure what was not chosen, too"
    )
    options = parser.parse_args()
    iterations = options.iterations // 4 * 4
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "baseline"
        if options.device == "cuda":
            nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
            source = Path(__file__).with_name("baseline.cu")
            target = "-gencode=arch=compute_90a,code=sm_90a"
            subprocess.run([nvcc, "-std=c++17", "-O3", target, "-o", binary, source], check=True)
        print(
            f"{'tile':20} {'issue':>7} {'st':>2} {'variant':>9} {'clk':>9} {'B/clk':>6} "
            f"{'of link':>7} {'by hand':>9} {'ratio':>6}"
        )
        for case in cases():
            if not re.search(options.only, case.name):
                continue
            for stages in (2, 1):
                hand = by_hand(binary, case, stages, iterations) if options.device == "cuda" else {}
                for issue, threads, variant in kernels(case, options.all_variants):
                    runs = RUNS if options.device == "cuda" else 1
                    result: dict[str, Any] = {
                        "case": case.name,
                        "issue": issue,
                        "threads": threads,
                        "stages": stages,
                        "forced": variant is not None,
                    }
                    result |= measured(
                        case, issue, threads, stages, iterations, options.device, runs, variant
                    )
                    methods = HAND_METHODS.get(issue, list(hand))
                    hands = {name: clk for name, clk in hand.items() if name in methods}
                    result["hand_written"] = hands
                    results.append(result | rates(case, result["clk"], hands))
                    print(line(results[-1]), flush=True)
    if options.json:
        content = {"date": str(np.datetime64("now")), "results": results}
        if options.device == "cuda":
            content["gpu"] = gpu_name()
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


def gpu_name() -> str:
    """Return what the driver calls the first GPU."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def kernels(case: Case, all_variants: bool) -> Iterator[tuple[str, int, str | None]]:
    """Yield who issues, how many threads there are, and the variant that is forced."""
    for issue, threads in (("thread", 32), ("warp", 32), ("cta", 256)):
        # One thread has one variant, and that one cannot transpose.
        if issue != "thread" or case.kind != "columns":
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
    )


if __name__ == "__main__":
    sys.exit(main())
