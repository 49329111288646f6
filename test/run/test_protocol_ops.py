# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ops of the protocol, each for itself, on the emulator and on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_tile as mt

PROGRAM = """
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>
!none = memref<4x0xf32, strided<[4, 1]>, #wg>
module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{
    gpu.func @kernel(%b: memref<2xi32>) workgroup(%buffer: memref<4x4xf32, #wg>) kernel
        attributes {{tile.insert_sync, known_block_size = array<i32: 1, 1, 1>,
                    known_cluster_size = array<i32: 2, 1, 1>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %seven = arith.constant 7 : i32
      %first = arith.constant false
      %rank = gpu.cluster_block_id x
      %after = arith.addi %rank, %c1 : index
      %other = arith.remui %after, %c2 : index
      %own = arith.index_cast %rank : index to i32
      %peer = arith.index_cast %other : index to i32
      %bars = nvgpu.mbarrier.create -> !bars
      nvgpu.mbarrier.init %bars[%c0], %{count} : !bars
      {body}
      memref.store %seven, %b[%rank] : memref<2xi32>
      gpu.return
    }}
  }}
  func.func @main(%b: memref<2xi32>) attributes {{llvm.emit_c_interface}} {{
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %start = gpu.wait async
    %device_b, %t0 = gpu.alloc async [%start] () : memref<2xi32>
    %t1 = gpu.launch_func async [%t0] @kernels::@kernel
        clusters in (%c2, %c1, %c1) blocks in (%c2, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%device_b : memref<2xi32>)
    %t2 = gpu.memcpy async [%t1] %b, %device_b : memref<2xi32>, memref<2xi32>
    %t3 = gpu.dealloc async [%t2] %device_b : memref<2xi32>
    gpu.wait [%t3]
    return
  }}
}}
"""

WAIT = "tile.wait %bars[%c0] parity(%first) : !bars"
BOUNDED = "tile.wait %bars[%c0] parity(%first) spins(1000) : !bars"
CLUSTER = "{scope = #tile.scope<cluster>} : !bars"


def run(body: str, device: str, count: str = "c1") -> list[int]:
    made = np.zeros(2, np.int32)
    with mt.context():
        executable = mt.compile(mt.parse(PROGRAM.format(body=body, count=count)))
    executable.invoke("main", made, device=device, timeout=600)
    return made.tolist()


@pytest.mark.parametrize("rank", ["own", "peer"])
@pytest.mark.parametrize("wait", [WAIT, BOUNDED])
def test_an_arrival_completes_a_phase(rank: str, wait: str, device: str) -> None:
    assert run(f"tile.arrive %bars[%c0] cta(%{rank}) : !bars\n{wait}", device) == [7, 7]


def test_arrivals_of_both_kinds_add_up(device: str) -> None:
    arrivals = "tile.arrive %bars[%c0] cta(%own) : !bars\ntile.arrive %bars[%c0] cta(%peer) : !bars"
    assert run(f"{arrivals}\n{WAIT}", device, count="c2") == [7, 7]


def test_the_scope_of_the_cluster_completes_a_phase_alike(device: str) -> None:
    handshake = f"""tile.arrive %bars[%c0] cta(%peer) {CLUSTER}
      tile.wait %bars[%c0] parity(%first) {CLUSTER}"""
    assert run(handshake, device) == [7, 7]


def test_expecting_nothing_is_an_arrival(device: str) -> None:
    # The kernel reaches into its peer as well, or nothing would be inserted.
    expect = """%none = memref.subview %buffer[0, 0] [4, 0] [1, 1] : memref<4x4xf32, #wg> to !none
      tile.expect %bars[%c0] for %none : !bars, !none"""
    arrive = "tile.arrive %bars[%c0] cta(%peer) : !bars"
    assert run(f"{expect}\n{arrive}\n{WAIT}", device, count="c2") == [7, 7]


def test_a_bounded_wait_for_what_never_comes_is_explained_before_it_traps() -> None:
    arrive = "tile.arrive %bars[%c0] cta(%peer) : !bars"
    with pytest.raises(mt.LaunchError, match="never ends: 1 of 2 arrivals came"):
        run(f"{arrive}\n{BOUNDED}", "emulator", count="c2")
