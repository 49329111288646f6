# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A tile in one of several buffers, seen transposed, arrives on the emulator."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_tile as mt

pytest.importorskip("tile_emulator")

PROGRAM = """
#wg = #gpu.address_space<workgroup>
!tile = memref<16x16xf32, #wg>
!turned = memref<16x16xf32, strided<[1, 16]>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
gpu.module @kernels {
  gpu.func @swap(%in: memref<16x16xf32>, %out: memref<16x16xf32>, %n: index)
      workgroup(%odd: memref<3xi8, #wg>, %a: !tile, %b: !tile, %dst: !tile) kernel
      attributes {tile.insert_sync, known_block_size = array<i32: 32, 1, 1>,
                  known_cluster_size = array<i32: 2, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %peer = arith.constant 1 : i32
    %phase = arith.constant false
    %thread = gpu.thread_id x
    %rank = gpu.cluster_block_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    %sends = arith.cmpi eq, %rank, %c0 : index
    %row = arith.remui %thread, %c16 : index
    %bars = nvgpu.mbarrier.create -> !bars
    scf.if %first { nvgpu.mbarrier.init %bars[%c0], %c1 : !bars }
    scf.if %sends {
      %now, %next = scf.for %round = %c0 to %n step %c1 iter_args(%x = %a, %y = %b)
          -> (!tile, !tile) {
        scf.yield %y, %x : !tile, !tile
      }
      scf.for %j = %c0 to %c16 step %c1 {
        %v = memref.load %in[%row, %j] : memref<16x16xf32>
        memref.store %v, %now[%row, %j] : !tile
      }
      gpu.barrier
      %from = memref.transpose %now (i, j) -> (j, i) : !tile to !turned
      %to = memref.transpose %dst (i, j) -> (j, i) : !tile to !turned
      scf.if %first {
        tile.copy_async %from to %to cta(%peer) mbarrier(%bars[%c0]) : !turned to !turned, !bars
      }
    } else {
      scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
      tile.wait %bars[%c0] parity(%phase) : !bars
      scf.for %j = %c0 to %c16 step %c1 {
        %v = memref.load %dst[%row, %j] : !tile
        memref.store %v, %out[%row, %j] : memref<16x16xf32>
      }
    }
    gpu.return
  }
}
"""


def test_stages_that_change_places_arrive_after_any_number_of_rounds() -> None:
    tile = np.random.default_rng(0).random((16, 16)).astype(np.float32)
    with mt.context():
        kernel = mt.compile(mt.parse(PROGRAM)).kernel("kernels", "swap", device="emulator")
    for rounds in range(3):
        arrived = np.zeros_like(tile)
        kernel[2](tile, arrived, rounds)
        np.testing.assert_array_equal(arrived, tile)
