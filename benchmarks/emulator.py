# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time the emulator: `python benchmarks/emulator.py` prints one line for each program.

A step is an instruction of a warp. Times are processor time, the best of `--repeat`
runs, after parsing and decoding; parsing is given apart.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tile_emulator as te

PTX = Path(__file__).parent.parent / "test" / "emulator" / "ptx"
RING = PTX.parent / "faults" / "ring.ptx"
TILE_BYTES = 16384


def demonstration(module: te.Module, kernel: str, block: int, schedule: str) -> tuple[int, float]:
    """Copy a 128x64 f16 tile between two CTAs; returns instructions and seconds of one launch."""
    source = np.random.default_rng(0).integers(0, 256, TILE_BYTES, dtype=np.uint8)
    device = te.Device(schedule=schedule)
    a, b = device.alloc(TILE_BYTES), device.alloc(TILE_BYTES)
    device.write(a, source)
    arguments = [a.to_bytes(8, "little"), b.to_bytes(8, "little")]
    best, steps = float("inf"), 0
    for _ in range(2):
        start = time.process_time()
        report = device.launch(
            module, kernel, (2, 1, 1), (block, 1, 1), (2, 1, 1), 2 * TILE_BYTES + 128, arguments
        )
        best, steps = min(best, time.process_time() - start), report.steps
    if device.read(b, TILE_BYTES) != source.tobytes():
        raise SystemExit(f"{kernel}: wrong bytes")
    return steps, best


# Each repeats its body; the loop's own instructions are few.
HEADER = """
.version 8.1
.target sm_90
.address_size 64
"""

ARITHMETIC = (
    HEADER
    + """
.entry arithmetic(.param .u64 out) {
  .reg .b32 %t, %i, %x, %y; .reg .pred %p; .reg .b64 %o;
  mov.u32 %t, %tid.x; mov.u32 %i, 0; mov.b32 %x, 0f3F800000; mov.b32 %y, 0f3F000000;
AGAIN:
  fma.rn.f32 %x, %x, %y, %y;
  add.f32 %y, %y, %x;
  mul.f32 %y, %y, %x;
  add.s32 %i, %i, 1;
  setp.lt.s32 %p, %i, 2000;
  @%p bra AGAIN;
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; st.global.b32 [%o], %x;
  ret;
}
"""
)

DOUBLES = (
    HEADER
    + """
.entry doubles(.param .u64 out) {
  .reg .b32 %t, %i; .reg .pred %p; .reg .b64 %o, %x, %y;
  mov.u32 %t, %tid.x; mov.u32 %i, 0; mov.b64 %x, 0d3FF199999999999A; mov.b64 %y, 0d3FB999999999999A;
AGAIN:
"""
    + 16 * "  fma.rn.f64 %x, %x, %y, %y;\n"
    + """
  add.s32 %i, %i, 1;
  setp.lt.s32 %p, %i, 200;
  @%p bra AGAIN;
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 8, %o; st.global.b64 [%o], %x;
  ret;
}
"""
)

ATOMICS = (
    HEADER
    + """
.entry atomics(.param .u64 out) {
  .shared .align 4 .b8 sum[4];
  .reg .b32 %t, %i, %a, %x; .reg .pred %p; .reg .b64 %o;
  mov.u32 %t, %tid.x; mov.u32 %a, sum; mov.u32 %i, 0;
  setp.eq.u32 %p, %t, 0;
  @%p st.shared.u32 [%a], 0;
  bar.sync 0;
AGAIN:
  atom.shared.add.u32 %x, [%a], 1;
  add.s32 %i, %i, 1;
  setp.lt.s32 %p, %i, 500;
  @%p bra AGAIN;
  bar.sync 0;
  ld.shared.u32 %x, [%a];
  ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 4, %o; st.global.b32 [%o], %x;
  ret;
}
"""
)

# C = A * B of f32: one tile of 32x32 by as many threads, 128 deep, 32 at a time in shared memory.
MATMUL = (
    HEADER
    + """
.entry matmul(.param .u64 a, .param .u64 b, .param .u64 c) {
  .shared .align 16 .b8 ta[4096];
  .shared .align 16 .b8 tb[4096];
  .reg .b32 %row, %col, %k, %sa, %sb, %la, %lb, %x, %y, %sum, %at; .reg .pred %p;
  .reg .b64 %a, %b, %c, %o;
  mov.u32 %col, %tid.x; mov.u32 %row, %tid.y; mov.b32 %sum, 0f00000000;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c];
  shl.b32 %at, %row, 7; add.u32 %at, %at, %col; mad.wide.u32 %a, %at, 4, %a;
  shl.b32 %at, %row, 5; add.u32 %at, %at, %col;
  mad.wide.u32 %b, %at, 4, %b; mad.wide.u32 %c, %at, 4, %c;
  shl.b32 %at, %at, 2;
  mov.u32 %sa, ta; add.u32 %sa, %sa, %at;
  mov.u32 %sb, tb; add.u32 %sb, %sb, %at;
  mov.u32 %la, ta; shl.b32 %at, %row, 7; add.u32 %la, %la, %at;
  mov.u32 %lb, tb; shl.b32 %at, %col, 2; add.u32 %lb, %lb, %at;
  mov.u32 %k, 0;
AGAIN:
  ld.global.b32 %x, [%a]; st.shared.b32 [%sa], %x;
  ld.global.b32 %x, [%b]; st.shared.b32 [%sb], %x;
  bar.sync 0;
"""
    + "".join(
        f"  ld.shared.b32 %x, [%la+{4 * k}]; ld.shared.b32 %y, [%lb+{128 * k}];\n"
        "  fma.rn.f32 %sum, %x, %y, %sum;\n"
        for k in range(32)
    )
    + """
  bar.sync 0;
  add.u64 %a, %a, 128; add.u64 %b, %b, 4096;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 4;
  @%p bra AGAIN;
  st.global.b32 [%c], %sum;
  ret;
}
"""
)


def measure(kernel: str, ptx: str, block: Any, checks: str, *args: Any) -> tuple[int, float]:
    """Return instructions and seconds of one launch on arrays; the first launch is not counted."""
    module = te.parse(ptx)
    device = te.Device(checks=checks)
    addresses = []
    for array in args:
        addresses.append(device.alloc(array.nbytes))
        device.write(addresses[-1], array)
    arguments = [address.to_bytes(8, "little") for address in addresses]
    best, steps = float("inf"), 0
    for _ in range(2):
        start = time.process_time()
        steps = device.launch(module, kernel, (1, 1, 1), block, args=arguments).steps
        best = min(best, time.process_time() - start)
    array = args[-1]
    array[...] = np.frombuffer(device.read(addresses[-1], array.nbytes), array.dtype).reshape(
        array.shape
    )
    return steps, best


def arithmetic(warps: int, checks: str) -> tuple[int, float]:
    """A loop that touches no memory."""
    return measure("arithmetic", ARITHMETIC, (32 * warps, 1, 1), checks, np.zeros(1024, np.float32))


def doubles(checks: str) -> tuple[int, float]:
    """A chain of f64 products and sums whose roundings are all inexact."""
    return measure("doubles", DOUBLES, (32, 1, 1), checks, np.zeros(32))


def atomics(checks: str) -> tuple[int, float]:
    """All threads count on one address; a step is an atomic of one warp."""
    out = np.zeros(128, np.uint32)
    _, seconds = measure("atomics", ATOMICS, (128, 1, 1), checks, out)
    if (out != 500 * 128).any():
        raise SystemExit("atomics: wrong sum")
    return 500 * 4, seconds


def matmul(checks: str) -> tuple[int, float]:
    """A tile of a matrix product in shared memory."""
    random = np.random.default_rng(0)
    a = random.integers(-4, 5, (32, 128)).astype(np.float32)
    b = random.integers(-4, 5, (128, 32)).astype(np.float32)
    c = np.zeros((32, 32), np.float32)
    result = measure("matmul", MATMUL, (32, 32, 1), checks, a, b, c)
    if (c != a @ b).any():
        raise SystemExit("matmul: wrong values")
    return result


def ring(checks: str) -> tuple[int, float]:
    """128 tiles of 512 bytes round a ring of four CTAs, through full and empty barriers."""
    ptx = RING.read_text(encoding="utf-8").replace("%it, 6;", "%it, 128;").replace(
        "%it, 4;", "%it, 126;").replace("3072", "65536")  # fmt: skip
    module = te.parse(ptx)
    device = te.Device(checks=checks)
    source = np.random.default_rng(0).integers(0, 256, (4, 65536), dtype=np.uint8)
    a, b = device.alloc(source.nbytes), device.alloc(source.nbytes)
    device.write(a, source)
    arguments = [a.to_bytes(8, "little"), b.to_bytes(8, "little")]
    start = time.process_time()
    steps = device.launch(module, "kernel", (4, 1, 1), (64, 1, 1), (4, 1, 1), 0, arguments).steps
    seconds = time.process_time() - start
    if device.read(b, source.nbytes) != np.roll(source, 1, axis=0).tobytes():
        raise SystemExit("ring: wrong bytes")
    return steps, seconds


PROGRAMS: dict[str, Callable[[str], tuple[int, float]]] = {
    "matmul, tile 32x32, n 128": matmul,
    "arithmetic, 1 warp": lambda checks: arithmetic(1, checks),
    "arithmetic, 32 warps": lambda checks: arithmetic(32, checks),
    "ring of mbarriers, 128 tiles": ring,
    "atomics on one address": atomics,
    "fma.f64": doubles,
}

# Steps a second when all of it was Python, by these programs: Python 3.11.7, NumPy 2, AMD EPYC.
PYTHON_VERSION = {
    "matmul, tile 32x32, n 128": 13_400,
    "arithmetic, 1 warp": 270_000,
    "arithmetic, 32 warps": 275_000,
    "ring of mbarriers, 128 tiles": 66_000,
    "atomics on one address": 480,
    "fma.f64": 5_700,
    "matmul, tile 32x32, n 128, no checks": 118_000,
    "arithmetic, 1 warp, no checks": 270_000,
    "arithmetic, 32 warps, no checks": 277_000,
    "ring of mbarriers, 128 tiles, no checks": 86_000,
    "atomics on one address, no checks": 1_450,
    "fma.f64, no checks": 5_900,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    start = time.process_time()
    module = te.parse((PTX / "demo.ptx").read_text(encoding="utf-8"))
    print(f"{'parse demo.ptx':34} {1e3 * (time.process_time() - start):8.1f} ms")
    for kernel, block in (("demo_128_threads", 128), ("demo_lean", 1)):
        for schedule in ("eager", "late", "random:1"):
            runs = [demonstration(module, kernel, block, schedule) for _ in range(repeat)]
            steps, seconds = min(runs, key=lambda run: run[1])
            report(f"{kernel}, {schedule}", steps, seconds)
    for checks in ("default", "off"):
        for name, program in PROGRAMS.items():
            runs = [program(checks) for _ in range(repeat)]
            steps, seconds = min(runs, key=lambda run: run[1])
            report(name if checks == "default" else f"{name}, no checks", steps, seconds)


def report(name: str, steps: int, seconds: float) -> None:
    rate = steps / seconds
    before = PYTHON_VERSION.get(name)
    beside = f", {before:,} in Python" if before else ""
    print(f"{name:34} {1e3 * seconds:8.1f} ms  {steps:7} steps  {rate:11,.0f} a second{beside}")


if __name__ == "__main__":
    main()
