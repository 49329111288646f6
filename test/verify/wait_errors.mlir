// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.wait is broken once; the op above it keeps it and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// w1: the barrier group is in workgroup memory.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!global_bars = !nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>

func.func @cw1_barriers_in_global_memory(%bars: !bars, %global: !global_bars, %i: index, %parity: i1) {
  tile.wait %bars[%i] parity(%parity) : !bars
  // expected-error @+1 {{'tile.wait' op barrier group must be in workgroup memory, got '!nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>'}}
  tile.wait %global[%i] parity(%parity) : !global_bars
  return
}

// -----

// w2: a constant barrier index is inside the group.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @w2_index_behind_the_group(%bars: !bars, %parity: i1) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.wait %bars[%c1] parity(%parity) : !bars
  // expected-error @+1 {{'tile.wait' op barrier index must be in 0 to 1, got 2}}
  tile.wait %bars[%c2] parity(%parity) : !bars
  return
}

// -----

// w2: nor before it.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @w2_index_before_the_group(%bars: !bars, %parity: i1) {
  %c0 = arith.constant 0 : index
  %negative = arith.constant -1 : index
  tile.wait %bars[%c0] parity(%parity) : !bars
  // expected-error @+1 {{'tile.wait' op barrier index must be in 0 to 1, got -1}}
  tile.wait %bars[%negative] parity(%parity) : !bars
  return
}

// -----

// w3: the bound on spins is at least 1.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @w3_no_spin(%bars: !bars, %i: index, %parity: i1) {
  tile.wait %bars[%i] parity(%parity) spins(1) : !bars
  // expected-error @+1 {{'tile.wait' op spins must be in 1 to 2147483647, got 0}}
  tile.wait %bars[%i] parity(%parity) spins(0) : !bars
  return
}

// -----

// w3: it is less than 2^31.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @w3_too_many_spins(%bars: !bars, %i: index, %parity: i1) {
  tile.wait %bars[%i] parity(%parity) spins(2147483647) : !bars
  // expected-error @+1 {{'tile.wait' op spins must be in 1 to 2147483647, got 2147483648}}
  tile.wait %bars[%i] parity(%parity) spins(2147483648) : !bars
  return
}
