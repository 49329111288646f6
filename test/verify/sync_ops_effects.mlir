// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of the protocol read and write memory: none is deleted or merged with its twin, and no load
// crosses one. In each function a control shows that the pass works.
// RUN: tile-opt %s -cse -canonicalize -loop-invariant-code-motion | FileCheck %s

!tile = memref<8xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

// CHECK-LABEL: func @arrive(
// CHECK-NEXT: %[[BEFORE:.*]] = memref.load
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: %[[AFTER:.*]] = memref.load
// CHECK-NEXT: return %[[BEFORE]], %[[BEFORE]], %[[AFTER]]
func.func @arrive(%bars: !bars, %i: index, %rank: i32, %x: !tile) -> (f32, f32, f32) {
  %before = memref.load %x[%i] : !tile
  %control = memref.load %x[%i] : !tile
  tile.arrive %bars[%i] cta(%rank) : !bars
  tile.arrive %bars[%i] cta(%rank) : !bars
  %after = memref.load %x[%i] : !tile
  return %before, %control, %after : f32, f32, f32
}

// CHECK-LABEL: func @expect(
// CHECK-NEXT: %[[BEFORE:.*]] = memref.load
// CHECK-NEXT: tile.expect
// CHECK-NEXT: tile.expect
// CHECK-NEXT: %[[AFTER:.*]] = memref.load
// CHECK-NEXT: return %[[BEFORE]], %[[BEFORE]], %[[AFTER]]
func.func @expect(%bars: !bars, %i: index, %x: !tile) -> (f32, f32, f32) {
  %before = memref.load %x[%i] : !tile
  %control = memref.load %x[%i] : !tile
  tile.expect %bars[%i] for %x : !bars, !tile
  tile.expect %bars[%i] for %x : !bars, !tile
  %after = memref.load %x[%i] : !tile
  return %before, %control, %after : f32, f32, f32
}

// CHECK-LABEL: func @wait(
// CHECK-NEXT: %[[BEFORE:.*]] = memref.load
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.wait
// CHECK-NEXT: %[[AFTER:.*]] = memref.load
// CHECK-NEXT: return %[[BEFORE]], %[[BEFORE]], %[[AFTER]]
func.func @wait(%bars: !bars, %i: index, %parity: i1, %x: !tile) -> (f32, f32, f32) {
  %before = memref.load %x[%i] : !tile
  %control = memref.load %x[%i] : !tile
  tile.wait %bars[%i] parity(%parity) : !bars
  tile.wait %bars[%i] parity(%parity) : !bars
  %after = memref.load %x[%i] : !tile
  return %before, %control, %after : f32, f32, f32
}

// CHECK-LABEL: func @stay_in_their_loop(
// CHECK-NEXT: %[[CONTROL:.*]] = arith.muli
// CHECK-NEXT: scf.for
// CHECK-NEXT:   tile.expect {{.*}}[%[[CONTROL]]]
// CHECK-NEXT:   tile.wait {{.*}}[%[[CONTROL]]]
// CHECK-NEXT:   tile.arrive {{.*}}[%[[CONTROL]]]
// CHECK-NEXT: }
func.func @stay_in_their_loop(%bars: !bars, %i: index, %rank: i32, %parity: i1, %x: !tile, %last: index) {
  scf.for %step = %i to %last step %i {
    %control = arith.muli %i, %i : index
    tile.expect %bars[%control] for %x : !bars, !tile
    tile.wait %bars[%control] parity(%parity) : !bars
    tile.arrive %bars[%control] cta(%rank) : !bars
  }
  return
}
