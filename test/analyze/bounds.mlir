// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `bounds=check` stops the kernel where a tile leaves its buffer, and only where that is not proved.
// RUN: tile-opt %s -tile-analyze-layout=bounds=check | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!swizzled = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>
!column = memref<8x8xf16, #tile.layout<(8, 8) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @any_row(
// CHECK: %[[LAST:.*]] = arith.constant 65536 : index
// CHECK: arith.cmpi sle, %{{.*}}, %[[LAST]] : index
// CHECK: cf.assert %{{.*}}, "tile.copy_async: the source leaves its buffer"
// CHECK-NEXT: tile.copy_async
gpu.func @any_row(%rank: i32, %bars: !bars, %i: index, %j: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel {
  %from = memref.subview %src[%j, 0] [1, 64] [1, 1] : memref<64x64xf16, #wg> to memref<1x64xf16, strided<[64, 1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<1x64xf16, #wg>, !bars
  gpu.return
}

// What begins before element 0 of a swizzled tile begins in the block before it.
// CHECK-LABEL: gpu.func @any_column(
// CHECK: %[[MASK:.*]] = arith.constant -64 : index
// CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %[[MASK]] : index
// CHECK: %[[LAST:.*]] = arith.andi %{{.*}}, %[[MASK]] : index
// CHECK: cf.assert %{{.*}}, "tile.copy_async: the source leaves its buffer"
gpu.func @any_column(%rank: i32, %bars: !bars, %i: index, %j: index)
    workgroup(%src: !swizzled, %dst: memref<8x8xf16, #wg>) kernel {
  %aligned = tile.assume_multiple %j, 8 : index
  %from = tile.slice %src[0, %aligned] [8, 8] : !swizzled to !column
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : !column to memref<8x8xf16, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @known_row(
// CHECK-NOT: cf.assert
// CHECK: gpu.return
gpu.func @known_row(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<1x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x64xf16, #wg> to memref<1x64xf16, #wg>, !bars
  gpu.return
}

// A row of one of two buffers of 1024 bytes, which are 8192 bits.
// CHECK-LABEL: gpu.func @row_of_a_choice(
// CHECK: %[[END:.*]] = arith.constant 8192 : index
// CHECK: arith.cmpi sle, %{{.*}}, %[[END]] : index
// CHECK: cf.assert %{{.*}}, "tile.copy_async: the source leaves its buffer"
gpu.func @row_of_a_choice(%rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<8x64xf16, #wg>, %b: memref<8x64xf16, #wg>, %dst: memref<64xf16, #wg>) kernel {
  %x = memref.subview %a[%i, 0] [1, 64] [1, 1] : memref<8x64xf16, #wg> to memref<64xf16, strided<[1], offset: ?>, #wg>
  %y = memref.subview %b[%i, 0] [1, 64] [1, 1] : memref<8x64xf16, #wg> to memref<64xf16, strided<[1], offset: ?>, #wg>
  %src = arith.select %which, %x, %y : memref<64xf16, strided<[1], offset: ?>, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xf16, strided<[1], offset: ?>, #wg> to memref<64xf16, #wg>, !bars
  gpu.return
}

}
