// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.store_async, beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// The destination is in workgroup memory.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p1_space_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p1_space(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %g = memref.alloc() : memref<8x16xf32>
  // expected-error @+1 {{'tile.store_async' op destination must be in workgroup memory, got 'memref<8x16xf32>'}}
  tile.store_async %f to %g[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, memref<8x16xf32>, !bars
  return
}

// -----

// The value has the destination's element type.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p2_element_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p2_element(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tile.store_async' op value must have the element type of the destination, or be a vector of it, got 'i32' and 'memref<8x16xf32, #gpu.address_space<workgroup>>'}}
  tile.store_async %rank to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : i32, !row, !bars
  return
}

// -----

// A vector has one dimension.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p2_vector_of_two_dimensions_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %v to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : vector<4xf32>, !row, !bars
  return
}

func.func @p2_vector_of_two_dimensions(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %two = vector.broadcast %f : f32 to vector<2x2xf32>
  // expected-error @+1 {{'tile.store_async' op value must have the element type of the destination, or be a vector of it, got 'vector<2x2xf32>'}}
  tile.store_async %two to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : vector<2x2xf32>, !row, !bars
  return
}

// -----

// 4, 8 or 16 bytes are stored.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p3_bytes_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %v to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : vector<4xf32>, !row, !bars
  return
}

func.func @p3_bytes(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %three = vector.broadcast %f : f32 to vector<3xf32>
  // expected-error @+1 {{'tile.store_async' op value must have 4, 8 or 16 bytes, in elements of 8, 16, 32 or 64 bits, got 'vector<3xf32>'}}
  tile.store_async %three to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : vector<3xf32>, !row, !bars
  return
}

// -----

// One f16 is too little.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p3_two_bytes_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p3_two_bytes(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %half = arith.truncf %f : f32 to f16
  %halves = memref.cast %dst : !row to !row
  %h = memref.alloc() : memref<8xf16, #wg>
  // expected-error @+1 {{'tile.store_async' op value must have 4, 8 or 16 bytes, in elements of 8, 16, 32 or 64 bits, got 'f16'}}
  tile.store_async %half to %h[%i] cta(%rank) mbarrier(%bars[%i]) : f16, memref<8xf16, #wg>, !bars
  return
}

// -----

// There is an index for each dimension.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p4_indices_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p4_indices(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tile.store_async' op must have one index for each dimension of 'memref<8x16xf32, #gpu.address_space<workgroup>>', got 1}}
  tile.store_async %f to %dst[%i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

// -----

// A vector needs a dimension to go along.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p4_vector_into_no_dimension_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p4_vector_into_no_dimension(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %h = memref.alloc() : memref<f32, #wg>
  // expected-error @+1 {{'tile.store_async' op destination of a vector must have a dimension, got 'memref<f32, #gpu.address_space<workgroup>>'}}
  tile.store_async %v to %h[] cta(%rank) mbarrier(%bars[%i]) : vector<4xf32>, memref<f32, #wg>, !bars
  return
}

// -----

// The barrier group is in workgroup memory.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p5_barrier_space_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p5_barrier_space(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 1, num_barriers = 2>
  // expected-error @+1 {{'tile.store_async' op barrier group must be in workgroup memory, got}}
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%b[%i]) : f32, !row, !nvgpu.mbarrier.group<memorySpace = 1, num_barriers = 2>
  return
}

// -----

// A constant barrier index is inside the group.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p6_barrier_index_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %one = arith.constant 1 : index
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%one]) : f32, !row, !bars
  return
}

func.func @p6_barrier_index(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %two = arith.constant 2 : index
  // expected-error @+1 {{'tile.store_async' op barrier index must be in 0 to 1, got 2}}
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%two]) : f32, !row, !bars
  return
}

// -----

// A constant rank is one that a cluster can have.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p7_rank_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %r = arith.constant 15 : i32
  tile.store_async %f to %dst[%i, %i] cta(%r) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

func.func @p7_rank(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %r = arith.constant 16 : i32
  // expected-error @+1 {{'tile.store_async' op rank must be in 0 to 15, got 16}}
  tile.store_async %f to %dst[%i, %i] cta(%r) mbarrier(%bars[%i]) : f32, !row, !bars
  return
}

// -----

// The hardware adds no floats on their way.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p8_reduce_float_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(add) : i32, !words, !bars
  return
}

func.func @p8_reduce_float(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+2 {{'tile.store_async' op value must be an i32 or an i64 to be reduced by add, got 'f32'}}
  // expected-note @+1 {{combine values over the cluster with tile.all_reduce, or in one place with memref.atomic_rmw on a tile.peer}}
  tile.store_async %f to %dst[%i, %i] cta(%rank) mbarrier(%bars[%i]) reduce(add) : f32, !row, !bars
  return
}

// -----

// Of 64 bits, only add is there.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p8_reduce_long_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %l to %longs[%i] cta(%rank) mbarrier(%bars[%i]) reduce(add) : i64, !longs, !bars
  return
}

func.func @p8_reduce_long(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+2 {{'tile.store_async' op value must be an i32 to be reduced by maxsi, got 'i64'}}
  // expected-note @+1 {{combine values over the cluster}}
  tile.store_async %l to %longs[%i] cta(%rank) mbarrier(%bars[%i]) reduce(maxsi) : i64, !longs, !bars
  return
}

// -----

// Integers are not multiplied on their way.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @p8_reduce_kind_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(xor) : i32, !words, !bars
  return
}

func.func @p8_reduce_kind(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tile.store_async' op reduce must be add, minsi, maxsi, minui, maxui, and, or, xor, inc or dec, got mul}}
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(mul) : i32, !words, !bars
  return
}

// -----

// A kind that is none is refused where it is read.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @unknown_kind_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(inc) : i32, !words, !bars
  return
}

func.func @unknown_kind(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{reduce must be one of the kinds of gpu.all_reduce, inc or dec, got 'sum'}}
  tile.store_async %rank to %words[%i] cta(%rank) mbarrier(%bars[%i]) reduce(sum) : i32, !words, !bars
  return
}
