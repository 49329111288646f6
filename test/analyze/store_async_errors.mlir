// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is not proved of a store from registers, beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -tile-analyze-layout -verify-diagnostics -o %t

// An index that may be anything.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @unaligned_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %v to %dst[%i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @unaligned(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  // expected-error @+2 {{'tile.store_async' op destination must begin at a multiple of 16 bytes, got a run-time offset that is a multiple of 4}}
  // expected-note @+1 {{multiply the index by 4, or promise its divisor with tile.assume_multiple}}
  tile.store_async %v to %dst[%i] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// An index that is even.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @half_aligned_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %v to %dst[%i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @half_aligned(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %i2 = arith.muli %i, %c2 : index
  // expected-error @+2 {{destination must begin at a multiple of 16 bytes, got a run-time offset that is a multiple of 8}}
  // expected-note @+1 {{multiply the index by 2, or promise}}
  tile.store_async %v to %dst[%i2] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// A constant place.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @constant_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c60 = arith.constant 60 : index
  tile.store_async %v to %dst[%c60] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @constant(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c57 = arith.constant 57 : index
  // expected-error @+2 {{destination must begin at a multiple of 16 bytes, got byte 228}}
  // expected-note @+1 {{move it to a multiple of 4 elements}}
  tile.store_async %v to %dst[%c57] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// A constant index beyond the buffer.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @outside_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c60 = arith.constant 60 : index
  tile.store_async %v to %dst[%c60] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @outside(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c61 = arith.constant 61 : index
  // expected-error @+1 {{destination index of dimension 0 must be in 0 to 60, got 61}}
  tile.store_async %v to %dst[%c61] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// Elements of a row that are not neighbours.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @columns_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x4xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  tile.store_async %v to %dst[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x4xf32, #wg>, !bars
  gpu.return
}

gpu.func @columns(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x4xf32, strided<[1, 8]>, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  // expected-error @+2 {{destination elements must be contiguous along the last dimension, got a stride of 8}}
  // expected-note @+1 {{store single elements, or choose a layout in which 4 elements of a row are contiguous}}
  tile.store_async %v to %dst[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x4xf32, strided<[1, 8]>, #wg>, !bars
  gpu.return
}

}

// -----

// A swizzle that parts the elements.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @small_units_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x16xf32, #tile.layout<(8, 16) : (16, 1), swizzle = <2, 2, 2>>, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %v to %dst[%i, %i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x16xf32, #tile.layout<(8, 16) : (16, 1), swizzle = <2, 2, 2>>, #wg>, !bars
  gpu.return
}

gpu.func @small_units(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<8x16xf32, #tile.layout<(8, 16) : (16, 1), swizzle = <2, 1, 3>>, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  // expected-error @+2 {{destination elements must be contiguous, got a layout that is contiguous in runs of 2}}
  // expected-note @+1 {{store single elements}}
  tile.store_async %v to %dst[%i, %i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x16xf32, #tile.layout<(8, 16) : (16, 1), swizzle = <2, 1, 3>>, #wg>, !bars
  gpu.return
}

}

// -----

// A cluster of one has no peer.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @alone_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  tile.store_async %v to %dst[%i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @alone(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  // expected-error @+2 {{needs a cluster of more than one CTA, got a cluster known to be of 1}}
  // expected-note @+1 {{launch the kernel with clusters of 2 or more}}
  tile.store_async %v to %dst[%i4] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// A rank that the cluster lacks.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @rank_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  %one = arith.constant 1 : i32
  tile.store_async %v to %dst[%i4] cta(%one) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

gpu.func @rank(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %i4 = arith.muli %i, %c4 : index
  %two = arith.constant 2 : i32
  // expected-error @+2 {{rank must be in 0 to 1 in a cluster of 2, got 2}}
  // expected-note @+1 {{name a CTA of the cluster, or launch larger clusters}}
  tile.store_async %v to %dst[%i4] cta(%two) mbarrier(%bars[%c0]) : vector<4xf32>, memref<64xf32, #wg>, !bars
  gpu.return
}

}

// -----

// A view of a CTA that the cluster lacks.
#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @peer_rank_control(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %p = tile.peer %dst cta(%one) : memref<64xf32, #wg> to memref<64xf32, 7>
  gpu.return
}

gpu.func @peer_rank(%rank: i32, %bars: !bars, %i: index, %f: f32, %v: vector<4xf32>, %h: vector<4xf16>) workgroup(%dst: memref<64xf32, #wg>) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %two = arith.constant 2 : i32
  // expected-error @+2 {{'tile.peer' op rank must be in 0 to 1 in a cluster of 2, got 2}}
  // expected-note @+1 {{name a CTA of the cluster, or launch larger clusters}}
  %p = tile.peer %dst cta(%two) : memref<64xf32, #wg> to memref<64xf32, 7>
  gpu.return
}

}
