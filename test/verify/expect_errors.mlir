// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.expect is broken once; the op above it keeps it and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// e1: the barrier group is in workgroup memory.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!global_bars = !nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>

func.func @ce1_barriers_in_global_memory(%bars: !bars, %global: !global_bars, %i: index, %x: !tile) {
  tile.expect %bars[%i] for %x : !bars, !tile
  // expected-error @+1 {{'tile.expect' op barrier group must be in workgroup memory, got '!nvgpu.mbarrier.group<memorySpace = 0 : i64, num_barriers = 2>'}}
  tile.expect %global[%i] for %x : !global_bars, !tile
  return
}

// -----

// e2: a constant barrier index is inside the group.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>

func.func @e2_index_behind_the_group(%bars: !bars, %x: !tile) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.expect %bars[%c1] for %x : !bars, !tile
  // expected-error @+1 {{'tile.expect' op barrier index must be in 0 to 1, got 2}}
  tile.expect %bars[%c2] for %x : !bars, !tile
  return
}

// -----

// e2: nor before it.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>

func.func @e2_index_before_the_group(%bars: !bars, %x: !tile) {
  %c0 = arith.constant 0 : index
  %negative = arith.constant -1 : index
  tile.expect %bars[%c0] for %x : !bars, !tile
  // expected-error @+1 {{'tile.expect' op barrier index must be in 0 to 1, got -1}}
  tile.expect %bars[%negative] for %x : !bars, !tile
  return
}

// -----

// e3: there is at least one destination.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>

func.func @e3_no_destination(%bars: !bars, %i: index, %x: !tile) {
  "tile.expect"(%bars, %i, %x) : (!bars, index, !tile) -> ()
  // expected-error @+1 {{'tile.expect' op must name at least one destination}}
  "tile.expect"(%bars, %i) : (!bars, index) -> ()
  return
}

// -----

// e4: the destination is in workgroup memory.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e4_destination_in_global_memory(%bars: !bars, %i: index, %x: memref<8xf32, #gpu.address_space<workgroup>>, %y: memref<8xf32>) {
  tile.expect %bars[%i] for %x : !bars, memref<8xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{'tile.expect' op destination must be in workgroup memory, got 'memref<8xf32>'}}
  tile.expect %bars[%i] for %y : !bars, memref<8xf32>
  return
}

// -----

// e5: its extents are static.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e5_dynamic_extent(%bars: !bars, %i: index, %x: memref<8xf32, #gpu.address_space<workgroup>>, %y: memref<?xf32, #gpu.address_space<workgroup>>) {
  tile.expect %bars[%i] for %x : !bars, memref<8xf32, #gpu.address_space<workgroup>>
  // expected-error @+1 {{'tile.expect' op destination must have static extents, got 'memref<?xf32, #gpu.address_space<workgroup>>'}}
  tile.expect %bars[%i] for %y : !bars, memref<?xf32, #gpu.address_space<workgroup>>
  return
}

// -----

// e6: its elements are of a type that copies take.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e6_elements_of_12_bits(%bars: !bars, %i: index, %x: memref<8xi8, #gpu.address_space<workgroup>>, %y: memref<8xi12, #gpu.address_space<workgroup>>) {
  tile.expect %bars[%i] for %x : !bars, memref<8xi8, #gpu.address_space<workgroup>>
  // expected-error @+1 {{'tile.expect' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'i12'}}
  tile.expect %bars[%i] for %y : !bars, memref<8xi12, #gpu.address_space<workgroup>>
  return
}

// -----

// e7: together they have at most 1048575 bytes.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e7_one_byte_too_many(%bars: !bars, %i: index, %x: memref<1048575xi8, #gpu.address_space<workgroup>>, %y: memref<1048576xi8, #gpu.address_space<workgroup>>) {
  tile.expect %bars[%i] for %x : !bars, memref<1048575xi8, #gpu.address_space<workgroup>>
  // expected-error @+2 {{'tile.expect' op must expect at most 1048575 bytes in one phase, got 1048576}}
  // expected-note @+1 {{split the tiles and give each part a phase of its own}}
  tile.expect %bars[%i] for %y : !bars, memref<1048576xi8, #gpu.address_space<workgroup>>
  return
}

// -----

// e7: all destinations count.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e7_the_sum_is_too_large(%bars: !bars, %i: index, %x: memref<1024x1023xi8, #gpu.address_space<workgroup>>, %y: memref<1023xi8, #gpu.address_space<workgroup>>, %z: memref<1024xi8, #gpu.address_space<workgroup>>) {
  tile.expect %bars[%i] for %x, %y : !bars, memref<1024x1023xi8, #gpu.address_space<workgroup>>, memref<1023xi8, #gpu.address_space<workgroup>>
  // expected-error @+2 {{'tile.expect' op must expect at most 1048575 bytes in one phase, got 1048576}}
  // expected-note @+1 {{split the tiles and give each part a phase of its own}}
  tile.expect %bars[%i] for %x, %z : !bars, memref<1024x1023xi8, #gpu.address_space<workgroup>>, memref<1024xi8, #gpu.address_space<workgroup>>
  return
}

// -----

// e7: what does not fit 64 bits is too large, and a tile without elements is not.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @e7_too_many_to_count(%bars: !bars, %i: index, %x: memref<9223372036854775807x0xf32, #gpu.address_space<workgroup>>, %y: memref<9223372036854775807xf32, #gpu.address_space<workgroup>>) {
  tile.expect %bars[%i] for %x : !bars, memref<9223372036854775807x0xf32, #gpu.address_space<workgroup>>
  // expected-error @+2 {{'tile.expect' op must expect at most 1048575 bytes in one phase, got more than 2^63}}
  // expected-note @+1 {{split the tiles and give each part a phase of its own}}
  tile.expect %bars[%i] for %y : !bars, memref<9223372036854775807xf32, #gpu.address_space<workgroup>>
  return
}
