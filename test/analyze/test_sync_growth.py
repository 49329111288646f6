# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tile-insert-sync and tile-check-sync do as much for a copy of a long kernel as of a short one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TILE_OPT = Path(sys.executable).with_name("tile-opt")

KERNEL = """
#wg = #gpu.address_space<workgroup>
!tile = memref<4xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = {barriers}>
gpu.module @kernels {{
  gpu.func @k(%x: f32) workgroup({buffers}) kernel
      attributes {{tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                  known_cluster_size = array<i32: 2, 1, 1>}} {{
    {constants}
    %peer = arith.constant 1 : i32
    %even = arith.constant false
    %t = gpu.thread_id x
    %first = arith.cmpi eq, %t, %c0 : index
    %low = arith.cmpi ult, %t, %c32 : index
    %bars = nvgpu.mbarrier.create -> !bars
    {body}
    gpu.return
  }}
}}
"""

STORE = "memref.store %x, {src}[%c0] : !tile"
COPY = """tile.expect %bars[%c{b}] for %dst : !bars, !tile
    tile.copy_async {src} to %dst cta(%peer) mbarrier(%bars[%c{b}]) : !tile to !tile, !bars"""
WAIT = "tile.wait %bars[%c{b}] parity(%even) : !bars"
LOAD = "%y{i} = memref.load %dst[%c0] : !tile"


def kernel(copies: int, barriers: int, body: str, buffers: int = 1) -> str:
    """Return a kernel of so many times that body."""
    inits = "\n".join(f"nvgpu.mbarrier.init %bars[%c{b}], %c1 : !bars" for b in range(barriers))
    lines = [body.format(i=i, b=i % barriers, src=f"%src{i % buffers}") for i in range(copies)]
    return KERNEL.format(
        barriers=barriers,
        buffers=", ".join([*(f"%src{i}: !tile" for i in range(buffers)), "%dst: !tile"]),
        constants="\n".join(
            f"%c{i} = arith.constant {i} : index" for i in sorted({*range(max(2, barriers)), 32})
        ),
        body=f"scf.if %first {{ {inits} }}\n" + "\n".join(lines),
    )


STRAIGHT = "\n".join([STORE, "gpu.barrier", COPY, WAIT, LOAD])
ROLES = f"""scf.if %low {{{{ {STORE}\n nvvm.barrier.arrive id = %peer number_of_threads = %peer }}}}
  else {{{{ nvvm.barrier id = %peer number_of_threads = %peer\n {COPY} }}}}\n {WAIT}\n {LOAD}"""

KERNELS = {
    "one barrier": lambda copies: kernel(copies, 1, STRAIGHT),
    "a barrier for each copy": lambda copies: kernel(copies, copies, STRAIGHT),
    "a source for each copy": lambda copies: kernel(copies, 1, STRAIGHT, buffers=copies),
    "roles": lambda copies: kernel(copies, copies, ROLES),
}
PASSES = ("tile-insert-sync", "tile-check-sync")


def visits(text: str, name: str) -> int:
    done = subprocess.run(
        [TILE_OPT, "-", f"--{name}", "--mlir-pass-statistics", "-o", "/dev/null"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.search(r"\(S\) +(\d+) points-visited", done.stderr)
    assert found, done.stderr[-2000:]
    return int(found[1])


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("made", KERNELS.values(), ids=KERNELS)
def test_points_are_visited_as_often(made, name: str) -> None:
    few, many = (visits(made(copies), name) / copies for copies in (50, 400))
    assert few > 0
    assert many <= 1.5 * few
