// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A store from registers is proved to be contiguous and aligned, and its buffer is aligned as it needs.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @one_element(
// CHECK-SAME: memref<64xf32, #gpu.address_space<workgroup>> {llvm.align = 4 : i64}
// CHECK: tile.store_async {{.*}} {aligned} : f32
gpu.func @one_element(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  tile.store_async %f to %dst[%i] cta(%rank) mbarrier(%bars[%c0]) : f32, memref<64xf32, #wg>, !bars
  gpu.return
}

// A row of four has its place at a multiple of 16 bytes.
// CHECK-LABEL: gpu.func @a_row(
// CHECK-SAME: {llvm.align = 16 : i64}
// CHECK: tile.store_async {{.*}} {aligned} : vector<4xf32>
gpu.func @a_row(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x4xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  tile.store_async %v to %dst[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x4xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @a_multiple(
// CHECK: tile.store_async {{.*}} {aligned} : vector<4xf32>
gpu.func @a_multiple(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %v to %dst[%i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @a_promise(
// CHECK: tile.store_async {{.*}} {aligned} : vector<4xf32>
gpu.func @a_promise(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %known = tile.assume_multiple %i, 4 : index
  tile.store_async %v to %dst[%known] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

// 8 elements of 2 bytes stay in a unit of the swizzle.
// CHECK-LABEL: gpu.func @swizzled(
// CHECK: tile.store_async {{.*}} {aligned} : vector<4xf16>
gpu.func @swizzled(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %h to %dst[%i, %i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf16>, memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @a_vector_as_element(
// CHECK: tile.store_async {{.*}} {aligned} : vector<4xf32>
gpu.func @a_vector_as_element(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8xvector<4xf32>, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  tile.store_async %v to %dst[%i] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8xvector<4xf32>, #wg>, !bars
  gpu.return
}
}
