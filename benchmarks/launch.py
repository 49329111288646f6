# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a launch from Python costs beside the driver call that it makes.

    python benchmarks/launch.py [--json OUT]

A kernel on a cluster of two CTAs that does nothing is launched on two tensors of PyTorch and of
CuPy, whichever there are, and by the bare driver call: `cuLaunchKernelEx` through ctypes, with
everything prepared, on the same function, stream, parameters and launch. Batches of each take
turns; a batch is timed without waiting for the device, and is short enough for the driver's queue.
The table gives the median over the batches, in microseconds for one launch, the quartiles, and how
much more it is than the bare call of the same turn. Needs a GPU; fails where a launch costs more
than the bare call by `--limit`.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import gc
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mlir_tile as mt

BATCH = 200  # launches; the driver queues at least 1000
SHAPE = (128, 64)
GRID, BLOCK, CLUSTER = 4, 128, 2
PROGRAM = f"""
module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @nothing(%a: memref<128x64xf16>, %b: memref<128x64xf16>) kernel
      attributes {{known_block_size = array<i32: {BLOCK}, 1, 1>,
                   known_cluster_size = array<i32: {CLUSTER}, 1, 1>}} {{
    gpu.return
  }}
}}
}}
"""


class Attribute(ctypes.Structure):
    """`CUlaunchAttribute` with the dimensions of a cluster."""

    _fields_ = [
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("cluster", ctypes.c_uint * 3),
        ("rest", ctypes.c_char * 52),
    ]


class Config(ctypes.Structure):
    """`CUlaunchConfig`."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("attribute_count", ctypes.c_uint),
    ]


class Bare:
    """The same kernel through `libcuda.so.1` alone."""

    def __init__(self, ptx: str, pointers: list[int], stream: int) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        load = self.cuda.cuModuleLoadDataEx
        self.check(load(ctypes.byref(module), ptx.encode(), 0, None, None))
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, b"nothing"))
        words = [w for p in pointers for w in (p, p, 0, *SHAPE, SHAPE[1], 1)]
        self.values = (ctypes.c_int64 * len(words))(*words)
        first = ctypes.addressof(self.values)
        self.places = (ctypes.c_void_p * len(words))(*range(first, first + 8 * len(words), 8))
        self.attribute = Attribute(id=4, cluster=(CLUSTER, 1, 1))
        self.config = Config((GRID, 1, 1), (BLOCK, 1, 1), 0, stream)
        self.config.attributes = ctypes.pointer(self.attribute)
        self.config.attribute_count = 1
        launch = self.cuda.cuLaunchKernelEx
        launch.argtypes = [ctypes.c_void_p] * 4
        config, places = ctypes.addressof(self.config), ctypes.addressof(self.places)
        # As fast as ctypes does it; returns the CUresult.
        self.launch = functools.partial(launch, config, function.value, places, None)
        self.launch.alive = self  # what the addresses point to
        self.check(self.launch())

    def check(self, result: int) -> None:
        """Raise for a CUresult that is not a success."""
        if result:
            raise SystemExit(f"error: the driver returned {result}")


def timed(launch: Callable[[], Any]) -> float:
    """Return the microseconds of one launch in a batch."""
    start = time.perf_counter_ns()
    for _ in range(BATCH):
        launch()
    return (time.perf_counter_ns() - start) / BATCH / 1000


def measured(
    launches: dict[str, Callable[[], Any]], wait: Callable[[], Any], batches: int
) -> list[dict[str, Any]]:
    """Let the launches take turns; return the statistics of each, beside those of the first."""
    times: dict[str, list[float]] = {name: [] for name in launches}
    gc.collect()
    gc.disable()
    for batch in range(batches + 5):
        for name, launch in launches.items():
            wait()
            took = timed(launch)
            if batch >= 5:  # the first ones warm up
                times[name].append(took)
    wait()
    gc.enable()
    bare = next(iter(times.values()))
    results = []
    for name, taken in times.items():
        low, median, high = statistics.quantiles(taken, n=4)
        more = statistics.median(t - b for t, b in zip(taken, bare, strict=True))
        results.append({"launch": name, "us": median, "quartiles_us": [low, high], "more_us": more})
    return results


def launches_of(library: str, executable: Any) -> tuple[dict[str, Callable[[], Any]], Any]:
    """Return what to measure with the tensors of a library, and what waits for the device."""
    kernel = executable.kernel("kernels", "nothing")
    bound = kernel[GRID, BLOCK, CLUSTER]
    if library == "torch":
        import torch

        a, b = (torch.zeros(SHAPE, dtype=torch.float16, device="cuda") for _ in range(2))
        pointers = [a.data_ptr(), b.data_ptr()]
        wait, own = torch.cuda.synchronize, torch.cuda.current_stream()
        stream = own.cuda_stream
    else:
        import cupy

        a, b = (cupy.zeros(SHAPE, cupy.float16) for _ in range(2))
        pointers = [a.data.ptr, b.data.ptr]
        wait, own = cupy.cuda.runtime.deviceSynchronize, cupy.cuda.get_current_stream()
        stream = own.ptr
    on_stream = bound.on(own)
    bare = Bare(executable.ptx["kernels"], pointers, stream)
    return {
        f"{library}: bare cuLaunchKernelEx": bare.launch,
        f"{library}: kernel[grid, block, cluster](a, b)": lambda: kernel[GRID, BLOCK, CLUSTER](
            a, b
        ),
        f"{library}: the same, bound before": lambda: bound(a, b),
        f"{library}: the same, on a given stream": lambda: on_stream(a, b),
    }, wait


def main() -> int:
    """Run on `sys.argv`; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--json", metavar="OUT", type=Path, help="write the results there")
    parser.add_argument("--batches", type=int, default=200, help=f"batches of {BATCH} launches")
    parser.add_argument("--limit", type=float, default=10.0, help="microseconds more than bare")
    options = parser.parse_args()
    if not mt.device_info().usable:
        print(f"error: this needs a GPU: {mt.device_info().reason}", file=sys.stderr)
        return 1
    found = [name for name in ("torch", "cupy") if importable(name)]
    if not found:
        print("error: this needs PyTorch or CuPy; neither can be imported", file=sys.stderr)
        return 1
    with mt.context():
        executable = mt.compile(mt.parse(PROGRAM))
    results = []
    print(f"{'launch':48} {'us':>7} {'quartiles':>15} {'more':>7}")
    for name in found:
        launches, wait = launches_of(name, executable)
        for result in measured(launches, wait, options.batches):
            results.append(result)
            low, high = result["quartiles_us"]
            print(
                f"{result['launch']:48} {result['us']:7.2f} {low:7.2f} {high:7.2f} "
                f"{result['more_us']:+7.2f}",
                flush=True,
            )
    if options.json:
        content = {"date": str(np.datetime64("now")), "gpu": gpu_name(), "results": results}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    worst = max(result["more_us"] for result in results)
    if worst >= options.limit:
        print(f"error: a launch costs {worst:.2f} us more than the bare call", file=sys.stderr)
        return 1
    return 0


def importable(name: str) -> bool:
    """Whether a library can be imported."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def gpu_name() -> str:
    """Return the first GPU's name and the driver's CUDA version."""
    info = mt.device_info()
    return f"{info.devices[0]}, CUDA {info.driver_version}"


if __name__ == "__main__":
    sys.exit(main())
