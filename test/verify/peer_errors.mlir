// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.peer, beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// The source is in workgroup memory.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @q1_space_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %p = tile.peer %dst cta(%rank) : !row to memref<8x16xf32, 7>
  return
}

func.func @q1_space(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %g = memref.alloc() : memref<8x16xf32>
  // expected-error @+1 {{'tile.peer' op source must be in workgroup memory, got 'memref<8x16xf32>'}}
  %p = tile.peer %g cta(%rank) : memref<8x16xf32> to memref<8x16xf32, 7>
  return
}

// -----

// The result has the source's shape.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @q2_shape_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %p = tile.peer %dst cta(%rank) : !row to memref<8x16xf32, 7>
  return
}

func.func @q2_shape(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tile.peer' op result must be 'memref<8x16xf32, 7>', got 'memref<128xf32, 7>'}}
  %p = tile.peer %dst cta(%rank) : !row to memref<128xf32, 7>
  return
}

// -----

// The result is in the cluster's memory.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @q2_space_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %p = tile.peer %dst cta(%rank) : !row to memref<8x16xf32, 7>
  return
}

func.func @q2_space(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  // expected-error @+1 {{'tile.peer' op result must be 'memref<8x16xf32, 7>', got 'memref<8x16xf32, #gpu.address_space<workgroup>>'}}
  %p = tile.peer %dst cta(%rank) : !row to memref<8x16xf32, #wg>
  return
}

// -----

// A constant rank is one that a cluster can have.
#wg = #gpu.address_space<workgroup>
!row = memref<8x16xf32, #wg>
!words = memref<8xi32, #wg>
!longs = memref<8xi64, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

func.func @q3_rank_control(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %r = arith.constant 15 : i32
  %p = tile.peer %dst cta(%r) : !row to memref<8x16xf32, 7>
  return
}

func.func @q3_rank(%dst: !row, %words: !words, %longs: !longs, %bars: !bars, %i: index, %rank: i32, %l: i64, %f: f32, %v: vector<4xf32>) {
  %r = arith.constant -1 : i32
  // expected-error @+1 {{'tile.peer' op rank must be in 0 to 15, got -1}}
  %p = tile.peer %dst cta(%r) : !row to memref<8x16xf32, 7>
  return
}
