// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The copy reads and writes memory: it is not deleted, not merged with its twin, not hoisted, and
// nothing that touches memory crosses it. In each function a control op shows that the pass works.
// RUN: tile-opt %s -cse -canonicalize -loop-invariant-code-motion | FileCheck %s

!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// CHECK-LABEL: func @twins_both_stay(
// CHECK-NEXT: %[[SUM:.*]] = arith.addi
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: return %[[SUM]], %[[SUM]]
func.func @twins_both_stay(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index)
    -> (index, index) {
  %control_0 = arith.addi %i, %i : index
  %control_1 = arith.addi %i, %i : index
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return %control_0, %control_1 : index, index
}

// Two equal loads are one, unless the copy may have written in between.
// CHECK-LABEL: func @loads_around_it_both_stay(
// CHECK-NEXT: %[[BEFORE:.*]] = memref.load
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: %[[AFTER:.*]] = memref.load
// CHECK-NEXT: return %[[BEFORE]], %[[BEFORE]], %[[AFTER]]
func.func @loads_around_it_both_stay(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index)
    -> (f16, f16, f16) {
  %before = memref.load %dst[%i, %i] : !tile
  %control = memref.load %dst[%i, %i] : !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  %after = memref.load %dst[%i, %i] : !tile
  return %before, %control, %after : f16, f16, f16
}

// CHECK-LABEL: func @stays_in_its_loop(
// CHECK-NEXT: %[[CONTROL:.*]] = arith.muli
// CHECK-NEXT: scf.for
// CHECK-NEXT:   tile.copy_async {{.*}}[%[[CONTROL]]]
// CHECK-NEXT: }
func.func @stays_in_its_loop(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index,
                             %last: index) {
  scf.for %step = %i to %last step %i {
    %control = arith.muli %i, %i : index
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%control]) : !tile to !tile, !bars
  }
  return
}

// A buffer that is only ever written may go; one that is copied from may not.
// CHECK-LABEL: func @buffers_stay(
// CHECK-NEXT: %[[SRC:.*]] = memref.alloc()
// CHECK-NEXT: tile.copy_async %[[SRC]] to
// CHECK-NEXT: return
func.func @buffers_stay(%dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %control = memref.alloc() : !tile
  %src = memref.alloc() : !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}
