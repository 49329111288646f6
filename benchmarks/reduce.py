# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure reductions over a cluster, and stores to a peer, beside hand-written ones, on a GPU.

Every thread of a cluster gets the sum of one f32, or of several, of all threads, a hundred times in
a loop; then 8 warps of one CTA store 16 bytes a thread into another, over and over. The clock of
the SM is read around all of it. The hand-written kernels of reduce.cu do the same reductions. Each
run checks what was computed. Needs nvcc for the hand-written kernels.

    python benchmarks/reduce.py [--json OUT.json]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dsmem import LINK_BYTES, output_of
from mlir import ir
from mlir.dialects import arith, gpu, memref, nvvm, scf

import mlir_tile as mt
import mlir_tile.builders as build
from mlir_tile.dialects import tile

ROUNDS = 100
THREADS = 256
RUNS = 20
CLUSTERS = (2, 4, 8, 16)
STORED_TILES = 2000


def reduction(cluster: int, values: int, rounds: int = ROUNDS) -> ir.Module:
    """Return the module: `main(a, b, clocks)`, a reduction of `values` values in a loop.

    `a` and `b` hold a value of each thread of one cluster, `clocks` takes the clk of each CTA. The
    first of the values is that of `a`, the others are 2, 3 and 4 times as much.
    """
    module = ir.Module.create()
    f32, i64 = ir.F32Type.get(), ir.IntegerType.get_signless(64)
    all_threads = ir.MemRefType.get([cluster * THREADS], f32)
    clocks_type = ir.MemRefType.get([cluster], i64)
    types = [all_threads, all_threads, clocks_type]
    with build.kernel(module, "reduce", types, block=THREADS, cluster=cluster) as kernel:
        a, b, clocks = kernel.arguments
        place = gpu.global_id(gpu.Dimension.x)
        thread, cta = gpu.thread_id(gpu.Dimension.x), gpu.block_id(gpu.Dimension.x)
        value = memref.load(a, [place])
        first = [arith.mulf(value, arith.constant(f32, n + 1.0)) for n in range(values)]
        mean = arith.constant(f32, 1.0 / (cluster * THREADS))
        # In each round the values differ again from thread to thread: of equal ones, ptxas
        # computes the sum of a warp without a shuffle.
        is_odd = arith.index_cast(ir.IntegerType.get_signless(1), thread)
        own = arith.select(is_odd, arith.constant(f32, 1.0), arith.constant(f32, -1.0))

        def reduced(carried: Sequence[ir.Value]) -> list[ir.Value]:
            if values == 1:
                sums = [tile.all_reduce(carried[0], "add")]
            else:
                sums = tile.all_reduce(
                    carried, lambda left, right: list(map(arith.addf, left, right))
                )
            return [arith.addf(arith.mulf(one, mean), own) for one in sums]

        carried = reduced(first)  # after which every CTA runs
        start = nvvm.read_ptx_sreg_clock64(i64)
        loop = scf.ForOp(build.index(0), build.index(rounds), build.index(1), carried)
        with ir.InsertionPoint(loop.body):
            scf.yield_(reduced(list(loop.inner_iter_args)))
        end = nvvm.read_ptx_sreg_clock64(i64)
        total = arith.constant(f32, 0.0)
        for result in loop.results:
            total = arith.addf(total, arith.subf(result, own))
        memref.store(total, b, [place])
        with build.if_true(arith.cmpi(arith.CmpIPredicate.eq, thread, build.index(0))):
            memref.store(arith.subi(end, start), clocks, [cta])
    build.main(module, kernel, grid=cluster, copy_in=[0], copy_out=[1, 2])
    return module


def measured_reduction(
    cluster: int, values: int, *, device: str = "cuda", runs: int = RUNS, rounds: int = ROUNDS
) -> float:
    """Compile and run a reduction; raise if a value is wrong, return clk for one.

    Of all CTAs the slowest counts, of all runs the fastest.
    """
    with mt.context(), ir.Location.unknown():
        executable = mt.compile(reduction(cluster, values, rounds))
    threads = np.arange(cluster * THREADS)
    a = (threads % THREADS + threads // THREADS).astype(np.float32)
    expected = a.mean() * sum(range(1, values + 1))
    times = []
    for _ in range(runs):
        b, clocks = np.zeros_like(a), np.zeros(cluster, np.int64)
        executable.invoke("main", a, b, clocks, device=device, timeout=60)
        if not (b == b[0]).all() or not np.isclose(b[0], expected, rtol=1e-3):
            raise SystemExit(f"error: cluster of {cluster}: {b} is not {expected}")
        times.append(int(clocks.max()))
    return min(times) / rounds


SPACE = "#gpu.address_space<workgroup>"
STAGE_BYTES = 16384
STORES = """
!dst = memref<1024x4xf32, {space}>
!row = vector<4xf32>
!bars = !nvgpu.mbarrier.group<memorySpace = {space}, num_barriers = 2>
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @stores(%b: memref<2x1024x4xf32>, %clocks: memref<2xi64>)
      workgroup(%dst0: !dst, %dst1: !dst) kernel
      attributes {{known_block_size = array<i32: 256, 1, 1>,
                  known_cluster_size = array<i32: 2, 1, 1>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %rounds = arith.constant {rounds} : index
    %last = arith.constant {last} : index
    %to0 = arith.constant 0 : i32
    %to1 = arith.constant 1 : i32
    %even = arith.constant false
    %odd = arith.constant true
    %t = gpu.thread_id x
    %cta = gpu.block_id x
    %rank = gpu.cluster_block_id x
    %is_first = arith.cmpi eq, %t, %c0 : index
    %sends = arith.cmpi eq, %rank, %c0 : index
    %receives = arith.xori %sends, %odd : i1
    %number = arith.index_cast %t : index to i32
    %float = arith.uitofp %number : i32 to f32
    %value = vector.broadcast %float : f32 to !row
    {places}
    %full = nvgpu.mbarrier.create -> !bars
    %empty = nvgpu.mbarrier.create -> !bars
    scf.if %is_first {{
      nvgpu.mbarrier.init %full[%c0], %c1 : !bars
      nvgpu.mbarrier.init %full[%c1], %c1 : !bars
      nvgpu.mbarrier.init %empty[%c0], %c1 : !bars
      nvgpu.mbarrier.init %empty[%c1], %c1 : !bars
      nvvm.fence.mbarrier.init
      tile.expect %full[%c0] for %dst0 : !bars, !dst
      tile.expect %full[%c1] for %dst1 : !bars, !dst
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    %start = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %sends {{
      %end_parity = scf.for %round = %c0 to %rounds step %c1 iter_args(%parity = %odd) -> (i1) {{
        {send0}
        {send1}
        %flipped = arith.xori %parity, %odd : i1
        scf.yield %flipped : i1
      }}
      tile.wait %empty[%c0] parity(%end_parity) : !bars
      tile.wait %empty[%c1] parity(%end_parity) : !bars
    }} else {{
      scf.if %is_first {{
        %unused = scf.for %round = %c0 to %rounds step %c1 iter_args(%parity = %even) -> (i1) {{
          %more = arith.cmpi ult, %round, %last : index
          {receive0}
          {receive1}
          %flipped = arith.xori %parity, %odd : i1
          scf.yield %flipped : i1
        }}
      }}
    }}
    %end = nvvm.read.ptx.sreg.clock64 : i64
    scf.if %is_first {{
      %taken = arith.subi %end, %start : i64
      memref.store %taken, %clocks[%cta] : memref<2xi64>
    }}
    nvvm.cluster.arrive
    nvvm.cluster.wait
    scf.if %receives {{
      tile.wait %full[%c0] parity(%{last_parity}) : !bars
      tile.wait %full[%c1] parity(%{last_parity}) : !bars
      scf.for %i = %t to %c1024 step %c256 {{
        %row0 = vector.load %dst0[%i, %c0] : !dst, !row
        %row1 = vector.load %dst1[%i, %c0] : !dst, !row
        vector.store %row0, %b[%c0, %i, %c0] : memref<2x1024x4xf32>, !row
        vector.store %row1, %b[%c1, %i, %c0] : memref<2x1024x4xf32>, !row
      }}
    }}
    gpu.return
  }}
}}
func.func @main(%b: memref<2x1024x4xf32>, %clocks: memref<2xi64>)
    attributes {{llvm.emit_c_interface}} {{
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %t0 = gpu.wait async
  %db, %t1 = gpu.alloc async [%t0] () : memref<2x1024x4xf32>
  %dc, %t2 = gpu.alloc async [%t1] () : memref<2xi64>
  %t3 = gpu.launch_func async [%t2] @kernels::@stores clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%c256, %c1, %c1)
      args(%db : memref<2x1024x4xf32>, %dc : memref<2xi64>)
  %t4 = gpu.memcpy async [%t3] %b, %db : memref<2x1024x4xf32>, memref<2x1024x4xf32>
  %t5 = gpu.memcpy async [%t4] %clocks, %dc : memref<2xi64>, memref<2xi64>
  %t6 = gpu.dealloc async [%t5] %db : memref<2x1024x4xf32>
  %t7 = gpu.dealloc async [%t6] %dc : memref<2xi64>
  gpu.wait [%t7]
  return
}}
}}
"""
SEND = """
        tile.wait %empty[%c{s}] parity(%parity) : !bars
        {stores}"""
STORE = """
        tile.store_async %value to %dst{s}[%i{n}, %c0] cta(%to1) mbarrier(%full[%c{s}])
            : !row, !dst, !bars"""
PLACE = """
    %c{n}x256 = arith.constant {offset} : index
    %i{n} = arith.addi %t, %c{n}x256 : index"""
RECEIVE = """
          tile.wait %full[%c{s}] parity(%parity) : !bars
          scf.if %more {{ tile.expect %full[%c{s}] for %dst{s} : !bars, !dst }}
          tile.arrive %empty[%c{s}] cta(%to0) : !bars"""


def stores(tiles: int) -> str:
    """Return the module: `main(b, clocks)` stores `tiles` tiles of 16 KiB through two buffers."""
    parts = {
        f"send{s}": SEND.format(s=s, stores="".join(STORE.format(s=s, n=n) for n in range(4)))
        for s in range(2)
    }
    parts["places"] = "".join(PLACE.format(n=n, offset=THREADS * n) for n in range(4))
    parts |= {f"receive{s}": RECEIVE.format(s=s) for s in range(2)}
    rounds = tiles // 2
    return STORES.format(
        space=SPACE,
        rounds=rounds,
        last=rounds - 1,
        last_parity="odd" if rounds % 2 == 0 else "even",
        **parts,
    )


def measured_stores(
    tiles: int = STORED_TILES, *, device: str = "cuda", runs: int = RUNS
) -> dict[str, float]:
    """Compile and run the stores; raise if a value is wrong, return clk for one tile."""
    with mt.context():
        executable = mt.compile(mt.parse(stores(tiles)))
    expected = np.broadcast_to((np.arange(1024) % 256)[None, :, None], (2, 1024, 4))
    times = []
    for _ in range(runs):
        b, clocks = np.zeros((2, 1024, 4), np.float32), np.zeros(2, np.int64)
        executable.invoke("main", b, clocks, device=device, timeout=60)
        if not np.array_equal(b, expected):
            raise SystemExit("error: stores: wrong values")
        times.append(int(clocks.max()))
    clk = min(times) / tiles
    return {
        "clk": clk,
        "bytes_per_clk": STAGE_BYTES / clk,
        "of_link": STAGE_BYTES / clk / LINK_BYTES,
    }


class ByHand:
    """The hand-written kernels, compiled by nvcc into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.binary = folder / "reduce"
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        source = Path(__file__).with_name("reduce.cu")
        target = "-gencode=arch=compute_90a,code=sm_90a"
        subprocess.run([nvcc, "-std=c++17", "-O3", target, "-o", self.binary, source], check=True)

    def measured(self, cluster: int) -> dict[str, float]:
        """Return clk for one reduction by method."""
        command = [str(self.binary), str(cluster)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return {name: float(clk) for name, clk in map(str.split, printed.splitlines())}


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the results there")
    parser.add_argument("--commit", help="what to note as the commit (default: ask git)")
    options = parser.parse_args()
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        by_hand = ByHand(Path(folder))
        print(
            f"{'cluster':>7} {'barrier':>8} {'warps':>8} {'block':>8} {'ours':>8} {'ratio':>6}"
            f" {'2 values':>8} {'ratio':>6} {'4 values':>8} {'ratio':>6}"
        )
        for cluster in CLUSTERS:
            hands = by_hand.measured(cluster)
            clk = {values: measured_reduction(cluster, values) for values in (1, 2, 4)}
            best = min(hands.values())
            results.append({"cluster": cluster, "hand_written": hands, "clk": clk})
            print(
                f"{cluster:>7} {hands['barrier']:>8.1f} {hands['warps']:>8.1f}"
                f" {hands['block']:>8.1f} {clk[1]:>8.1f} {clk[1] / best:>6.3f}"
                + "".join(f" {clk[n]:>8.1f} {clk[n] / clk[1]:>6.3f}" for n in (2, 4)),
                flush=True,
            )
    stored = measured_stores()
    print(
        f"stores of 16 bytes by 8 warps: {stored['clk']:.1f} clk for 16 KiB,"
        f" {stored['bytes_per_clk']:.2f} B/clk, {stored['of_link']:.1%} of the link"
    )
    if options.json:
        gpu_name = "--query-gpu=name,driver_version", "--format=csv,noheader"
        content = {
            "date": str(np.datetime64("now", "D")),
            "gpu": output_of("nvidia-smi", *gpu_name),
            "commit": options.commit or output_of("git", "rev-parse", "--short", "HEAD"),
            "command": " ".join(["python", *sys.argv]),
            "reductions": results,
            "stores": stored,
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
