// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.arrive is broken once; the op above it keeps it and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// a1: the barrier group is in workgroup memory.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!global_bars = !nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>

func.func @ca1_barriers_in_global_memory(%bars: !bars, %global: !global_bars, %i: index, %rank: i32) {
  tile.arrive %bars[%i] cta(%rank) : !bars
  // expected-error @+1 {{'tile.arrive' op barrier group must be in workgroup memory, got '!nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>'}}
  tile.arrive %global[%i] cta(%rank) : !global_bars
  return
}

// -----

// a2: a constant barrier index is inside the group.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @a2_index_behind_the_group(%bars: !bars, %rank: i32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.arrive %bars[%c1] cta(%rank) : !bars
  // expected-error @+1 {{'tile.arrive' op barrier index must be in 0 to 1, got 2}}
  tile.arrive %bars[%c2] cta(%rank) : !bars
  return
}

// -----

// a2: nor before it.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @a2_index_before_the_group(%bars: !bars, %rank: i32) {
  %c0 = arith.constant 0 : index
  %negative = arith.constant -1 : index
  tile.arrive %bars[%c0] cta(%rank) : !bars
  // expected-error @+1 {{'tile.arrive' op barrier index must be in 0 to 1, got -1}}
  tile.arrive %bars[%negative] cta(%rank) : !bars
  return
}

// -----

// a3: a constant rank is in 0 to 15.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @a3_rank_16(%bars: !bars, %i: index) {
  %c15 = arith.constant 15 : i32
  %c16 = arith.constant 16 : i32
  tile.arrive %bars[%i] cta(%c15) : !bars
  // expected-error @+1 {{'tile.arrive' op rank must be in 0 to 15, got 16}}
  tile.arrive %bars[%i] cta(%c16) : !bars
  return
}

// -----

// a3: it is not negative.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @a3_rank_negative(%bars: !bars, %i: index) {
  %c0 = arith.constant 0 : i32
  %negative = arith.constant -1 : i32
  tile.arrive %bars[%i] cta(%c0) : !bars
  // expected-error @+1 {{'tile.arrive' op rank must be in 0 to 15, got -1}}
  tile.arrive %bars[%i] cta(%negative) : !bars
  return
}
