// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cannot be lowered yet, beside a control that can.
// RUN: tile-opt %s -split-input-file -tile-lower-peers -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
func.func @proved(%rank: i32, %bars: !bars, %i: index, %f: f32, %dst: memref<64xf32, #wg>) {
  tile.store_async %f to %dst[%i] cta(%rank) mbarrier(%bars[%i]) {aligned} : f32, memref<64xf32, #wg>, !bars
  return
}

func.func @not_proved(%rank: i32, %bars: !bars, %i: index, %f: f32, %dst: memref<64xf32, #wg>) {
  // expected-error @+2 {{'tile.store_async' op has no proof that its destination is aligned}}
  // expected-note @+1 {{run tile-analyze-layout first}}
  tile.store_async %f to %dst[%i] cta(%rank) mbarrier(%bars[%i]) : f32, memref<64xf32, #wg>, !bars
  return
}

// -----

// A layout is expanded before.
#wg = #gpu.address_space<workgroup>
!nested = memref<8x8xf32, #tile.layout<(8, 8) : (1, 8)>, #wg>
func.func @strided(%rank: i32, %i: index, %dst: memref<8x8xf32, #wg>) -> f32 {
  %there = tile.peer %dst cta(%rank) : memref<8x8xf32, #wg> to memref<8x8xf32, 7>
  %x = memref.load %there[%i, %i] : memref<8x8xf32, 7>
  return %x : f32
}

func.func @nested(%rank: i32, %dst: !nested) {
  // expected-error @+2 {{'tile.peer' op must have a strided memref once it is lowered, got 'memref<8x8xf32, #tile.layout<(8, 8) : (1, 8)>, #gpu.address_space<workgroup>>'}}
  // expected-note @+1 {{run tile-expand-layout first}}
  %there = tile.peer %dst cta(%rank) : !nested to memref<8x8xf32, #tile.layout<(8, 8) : (1, 8)>, 7>
  return
}
