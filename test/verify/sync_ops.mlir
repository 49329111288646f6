// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops around a copy are read and printed, in their own form and in the generic one.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s -mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s -emit-bytecode | tile-opt | FileCheck %s

!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!swapped = memref<8x16xf32, strided<[1, 8], offset: ?>, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

// CHECK-LABEL: func @arrive(
// CHECK-SAME: %[[BARS:.*]]: !nvgpu.mbarrier.group{{.*}}, %[[I:.*]]: index, %[[RANK:.*]]: i32
// CHECK-NEXT: tile.arrive %[[BARS]][%[[I]]] cta(%[[RANK]]) : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK-NEXT: tile.arrive %[[BARS]][%[[I]]] cta(%[[RANK]]) {scope = #tile.scope<cluster>} : !nvgpu.mbarrier.group
// CHECK-NEXT: tile.arrive %[[BARS]][%[[I]]] cta(%[[RANK]]) : !nvgpu.mbarrier.group
func.func @arrive(%bars: !bars, %i: index, %rank: i32) {
  tile.arrive %bars[%i] cta(%rank) : !bars
  tile.arrive %bars[%i] cta(%rank) {scope = #tile.scope<cluster>} : !bars
  tile.arrive %bars[%i] cta(%rank) {scope = #tile.scope<cta>} : !bars
  return
}

// CHECK-LABEL: func @expect(
// CHECK-SAME: %[[BARS:.*]]: !nvgpu.mbarrier.group{{.*}}, %[[I:.*]]: index, %[[X:.*]]: memref{{.*}}, %[[Y:.*]]: memref
// CHECK-NEXT: tile.expect %[[BARS]][%[[I]]] for %[[X]] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, memref<8x16xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT: tile.expect %[[BARS]][%[[I]]] for %[[X]], %[[Y]], %[[X]] : !nvgpu.mbarrier.group
func.func @expect(%bars: !bars, %i: index, %x: !tile, %y: !swapped) {
  tile.expect %bars[%i] for %x : !bars, !tile
  tile.expect %bars[%i] for %x, %y, %x : !bars, !tile, !swapped, !tile
  return
}

// CHECK-LABEL: func @wait(
// CHECK-SAME: %[[BARS:.*]]: !nvgpu.mbarrier.group{{.*}}, %[[I:.*]]: index, %[[PARITY:.*]]: i1
// CHECK-NEXT: tile.wait %[[BARS]][%[[I]]] parity(%[[PARITY]]) : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK-NEXT: tile.wait %[[BARS]][%[[I]]] parity(%[[PARITY]]) spins(1000) : !nvgpu.mbarrier.group
// CHECK-NEXT: tile.wait %[[BARS]][%[[I]]] parity(%[[PARITY]]) spins(1) {scope = #tile.scope<cluster>} : !nvgpu.mbarrier.group
func.func @wait(%bars: !bars, %i: index, %parity: i1) {
  tile.wait %bars[%i] parity(%parity) : !bars
  tile.wait %bars[%i] parity(%parity) spins(1000) : !bars
  tile.wait %bars[%i] parity(%parity) spins(1) {scope = #tile.scope<cluster>} : !bars
  return
}
