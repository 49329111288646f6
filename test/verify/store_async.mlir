// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores from registers and views of peers are read and printed, in their own form and in the generic one.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s -mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s -emit-bytecode | tile-opt | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>
!nested = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>
!nested_there = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, 7>

// CHECK-LABEL: func @store_async(
// CHECK-SAME: %[[DST:.*]]: memref<8x16xf32, #gpu.address_space<workgroup>>, %[[WORDS:.*]]: memref<8xi32, #gpu.address_space<workgroup>>, %[[ROWS:.*]]: memref<8xvector<4xf32>, #gpu.address_space<workgroup>>, %[[BARS:.*]]: !nvgpu.mbarrier.group{{.*}}, %[[I:.*]]: index, %[[RANK:.*]]: i32, %[[F:.*]]: f32, %[[V:.*]]: vector<4xf32>
// CHECK-NEXT: tile.store_async %[[F]] to %[[DST]][%[[I]], %[[I]]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) : f32, memref<8x16xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK-NEXT: tile.store_async %[[V]] to %[[DST]][%[[I]], %[[I]]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) {aligned} : vector<4xf32>, memref<8x16xf32
// CHECK-NEXT: tile.store_async %[[V]] to %[[ROWS]][%[[I]]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) : vector<4xf32>, memref<8xvector<4xf32>
// CHECK-NEXT: tile.store_async %[[RANK]] to %[[WORDS]][%[[I]]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) reduce(add) : i32, memref<8xi32
// CHECK-NEXT: tile.store_async %[[RANK]] to %[[WORDS]][%[[I]]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) reduce(dec) {note} : i32, memref<8xi32
func.func @store_async(%dst: memref<8x16xf32, #wg>, %words: memref<8xi32, #wg>,
                       %rows: memref<8xvector<4xf32>, #wg>, %bars: !bars, %i: index, %rank: i32,
                       %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, memref<8x16xf32, #wg>, !bars
  tile.store_async %v to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) {aligned} : vector<4xf32>, memref<8x16xf32, #wg>, !bars
  tile.store_async %v to %rows[%i] cta(%rank) mbarrier(%bars[%i]) : vector<4xf32>, memref<8xvector<4xf32>, #wg>, !bars
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(add) : i32, memref<8xi32, #wg>, !bars
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(dec) {note} : i32, memref<8xi32, #wg>, !bars
  return
}

// CHECK-LABEL: func @peer(
// CHECK-SAME: %[[BUFFER:.*]]: memref<8x16xf32, strided<[?, 1], offset: ?>, #gpu.address_space<workgroup>>, %[[NESTED:.*]]: memref<8x64xf16, #tile.layout{{.*}}, %[[RANK:.*]]: i32
// CHECK-NEXT: tile.peer %[[BUFFER]] cta(%[[RANK]]) : memref<8x16xf32, strided<[?, 1], offset: ?>, #gpu.address_space<workgroup>> to memref<8x16xf32, strided<[?, 1], offset: ?>, 7>
// CHECK-NEXT: tile.peer %[[NESTED]] cta(%[[RANK]]) : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #gpu.address_space<workgroup>> to memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, 7>
func.func @peer(%buffer: memref<8x16xf32, strided<[?, 1], offset: ?>, #wg>, %nested: !nested, %rank: i32) {
  %0 = tile.peer %buffer cta(%rank) : memref<8x16xf32, strided<[?, 1], offset: ?>, #wg> to memref<8x16xf32, strided<[?, 1], offset: ?>, 7>
  %1 = tile.peer %nested cta(%rank) : !nested to !nested_there
  return
}
