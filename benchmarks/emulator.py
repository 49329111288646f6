# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time the emulator: `python benchmarks/emulator.py` prints one line for each program.

The programs are PTX files of the emulator's tests. Times are processor time, the best of `--repeat`
runs, after parsing and decoding; parsing is given apart.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import tile_emulator as te

PTX = Path(__file__).parent.parent / "test" / "emulator" / "ptx"
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


ARITHMETIC = """
.version 8.1
.target sm_90
.address_size 64
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


def arithmetic() -> tuple[int, float]:
    """A loop of one warp that touches no memory."""
    module = te.parse(ARITHMETIC)
    device = te.Device()
    out = device.alloc(128).to_bytes(8, "little")
    best, steps = float("inf"), 0
    for _ in range(2):
        start = time.process_time()
        steps = device.launch(module, "arithmetic", (1, 1, 1), (32, 1, 1), args=[out]).steps
        best = min(best, time.process_time() - start)
    return steps, best


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
    report("arithmetic, 1 warp", *min((arithmetic() for _ in range(repeat)), key=lambda r: r[1]))


def report(name: str, steps: int, seconds: float) -> None:
    rate = steps / seconds
    print(f"{name:34} {1e3 * seconds:8.1f} ms  {steps:7} warp instructions  {rate:9,.0f} a second")


if __name__ == "__main__":
    main()
