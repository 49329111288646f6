# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions whose place is known at run time only: a slot of a ring, columns from a multiple on."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_tile as mt

SLOTS, ROWS, COLUMNS = 4, 32, 64

PROGRAM = """
!ring = memref<4x32x64xf16, #gpu.address_space<workgroup>>
!slot = memref<32x64xf16, #gpu.address_space<workgroup>>
!slot_view = memref<32x64xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!columns = memref<32x8xf16, #gpu.address_space<workgroup>>
!columns_view = memref<32x8xf16, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @regions(%a: memref<4x32x64xf16>, %b: memref<32x64xf16>, %c: memref<32x8xf16>,
                    %s: index, %eighth: index, %column: index)
      workgroup(%ring: !ring, %slot: !slot, %columns: !columns)
      kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                         known_cluster_size = array<i32: 2, 1, 1>, tile.insert_sync} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %false = arith.constant false
    %peer = arith.constant 1 : i32
    %thread = gpu.thread_id x
    %rank = gpu.cluster_block_id x
    %first = arith.cmpi eq, %thread, %c0 : index
    %sends = arith.cmpi eq, %rank, %c0 : index
    %bars = nvgpu.mbarrier.create -> !bars
    scf.if %first {
      nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    }
    scf.if %sends {
      scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c32 step %c1 {
          %value = memref.load %a[%i, %j, %thread] : memref<4x32x64xf16>
          memref.store %value, %ring[%i, %j, %thread] : !ring
        }
      }
      gpu.barrier
      scf.if %first {
        %view = memref.subview %ring[%s, 0, 0] [1, 32, 64] [1, 1, 1] : !ring to !slot_view
        tile.copy_async %view to %slot cta(%peer) mbarrier(%bars[%c0])
            : !slot_view to !slot, !bars
        @COLUMN@
        %part = memref.subview %ring[%s, 0, %from] [1, 32, 8] [1, 1, 1] : !ring to !columns_view
        tile.copy_async %part to %columns cta(%peer) mbarrier(%bars[%c0])
            : !columns_view to !columns, !bars
      }
    } else {
      scf.if %first {
        tile.expect %bars[%c0] for %slot, %columns : !bars, !slot, !columns
      }
      tile.wait %bars[%c0] parity(%false) : !bars
      scf.for %j = %c0 to %c32 step %c1 {
        %value = memref.load %slot[%j, %thread] : !slot
        memref.store %value, %b[%j, %thread] : memref<32x64xf16>
        %narrow = arith.cmpi ult, %thread, %c8 : index
        scf.if %narrow {
          %other = memref.load %columns[%j, %thread] : !columns
          memref.store %other, %c[%j, %thread] : memref<32x8xf16>
        }
      }
    }
    gpu.return
  }
}
func.func @main(%a: memref<4x32x64xf16>, %b: memref<32x64xf16>, %c: memref<32x8xf16>,
                %s: index, %eighth: index, %column: index) attributes {llvm.emit_c_interface} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %t0 = gpu.wait async
  %da, %t1 = gpu.alloc async [%t0] () : memref<4x32x64xf16>
  %db, %t2 = gpu.alloc async [%t1] () : memref<32x64xf16>
  %dc, %t3 = gpu.alloc async [%t2] () : memref<32x8xf16>
  %t4 = gpu.memcpy async [%t3] %da, %a : memref<4x32x64xf16>, memref<4x32x64xf16>
  %t5 = gpu.launch_func async [%t4] @kernels::@regions clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%da : memref<4x32x64xf16>, %db : memref<32x64xf16>, %dc : memref<32x8xf16>,
           %s : index, %eighth : index, %column : index)
  %t6 = gpu.memcpy async [%t5] %b, %db : memref<32x64xf16>, memref<32x64xf16>
  %t7 = gpu.memcpy async [%t6] %c, %dc : memref<32x8xf16>, memref<32x8xf16>
  %t8 = gpu.dealloc async [%t7] %da : memref<4x32x64xf16>
  %t9 = gpu.dealloc async [%t8] %db : memref<32x64xf16>
  %t10 = gpu.dealloc async [%t9] %dc : memref<32x8xf16>
  gpu.wait [%t10]
  return
}
}
"""

MULTIPLIED = "%from = arith.muli %eighth, %c8 : index"
ASSUMED = "%from = tile.assume_multiple %column, 8 : index"
UNKNOWN = "%from = arith.addi %column, %c0 : index"


@pytest.mark.parametrize("column", [MULTIPLIED, ASSUMED], ids=["multiplied", "assumed"])
def test_regions_at_run_time_arrive(column: str, device: str) -> None:
    with mt.context():
        program = mt.compile(mt.parse(PROGRAM.replace("@COLUMN@", column)))
    bits = np.arange(SLOTS * ROWS * COLUMNS, dtype=np.uint16).reshape(SLOTS, ROWS, COLUMNS)
    for slot, eighth in [(0, 0), (3, 5), (1, 7)]:
        b, c = np.zeros((ROWS, COLUMNS), np.uint16), np.zeros((ROWS, 8), np.uint16)
        arrays = [array.view(np.float16) for array in (bits, b, c)]
        program.invoke("main", *arrays, slot, eighth, 8 * eighth, device=device)
        np.testing.assert_array_equal(b, bits[slot])
        np.testing.assert_array_equal(c, bits[slot, :, 8 * eighth : 8 * eighth + 8])


def test_a_column_of_unknown_divisibility_is_refused() -> None:
    with mt.context():
        module = mt.parse(PROGRAM.replace("@COLUMN@", UNKNOWN))
        with pytest.raises(mt.CompileError, match="multiple of"):
            mt.compile(module)
