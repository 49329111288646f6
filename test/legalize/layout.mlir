// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the plan has a swizzle, each address is XORed by it; that is all the arithmetic.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>, #gpu.address_space<workgroup>>
!some = memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #gpu.address_space<workgroup>>

gpu.module @kernels {

// Constants are swizzled here: 512 ^ (512 >> 3 & 64) = 576.
// CHECK-LABEL: gpu.func @known_places(
// CHECK: llvm.getelementptr %{{.*}}[576]
// CHECK-NOT: arith.xori
// CHECK: gpu.return
gpu.func @known_places(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2],
                              src = <start = 0, steps = [512], swizzle = [1, 6, 3]>,
                              dst = <start = 0, steps = [512], swizzle = [1, 6, 3]>>}
      : !tile to !tile, !bars
  gpu.return
}

// In a loop, and with a run-time offset, the address is swizzled there. The offset is the tile's,
// in elements of two bytes; a side without a swizzle has no XOR.
// CHECK-LABEL: gpu.func @run_time_places(
// CHECK-SAME: %[[SRC:[^:]*]]: memref<8x32xf16,
// CHECK: %[[OFFSET:.*]] = tile.offset %[[SRC]]
// CHECK: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[START:.*]] = arith.muli %[[OFFSET]], %[[C2]] : index
// CHECK: memref.extract_aligned_pointer_as_index %[[SRC]]
// CHECK: scf.for
// CHECK: %[[X:.*]] = arith.addi %[[START]], %{{.*}} : index
// CHECK: %[[C3:.*]] = arith.constant 3 : index
// CHECK: %[[MOVED:.*]] = arith.shrui %[[X]], %[[C3]] : index
// CHECK: %[[MASK:.*]] = arith.constant 112 : index
// CHECK: %[[BITS:.*]] = arith.andi %[[MOVED]], %[[MASK]] : index
// CHECK: arith.xori %[[X]], %[[BITS]] : index
// CHECK-COUNT-63: arith.xori
// CHECK-NOT: arith.xori
// CHECK: gpu.return
gpu.func @run_time_places(%src: !some, %dst: memref<8x32xf16, #wg>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 16, count = 128, loops = [128],
                              src = <start = 0, steps = [16], swizzle = [3, 4, 3]>,
                              dst = <start = 0, steps = [16]>>}
      : !some to memref<8x32xf16, #wg>, !bars
  gpu.return
}

}
