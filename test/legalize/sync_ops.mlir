// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the ops of the protocol become. A remote arrive is only ever one on a mapped pointer into the
// cluster's shared memory.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=tile. --implicit-check-not=mapa --implicit-check-not=mbarrier.arrive

#wg = #gpu.address_space<workgroup>
!tile = memref<8x16xf16, #wg>
!swapped = memref<8x16xf16, strided<[1, 8], offset: ?>, #wg>
!indices = memref<5xindex, #wg>
!empty = memref<8x0xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @arrive(
// CHECK-SAME: %[[RANK:.*]]: i32, %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index)
// CHECK-NEXT: %[[INT:.*]] = nvgpu.mbarrier.get %[[BARS]][%[[I]]]
// CHECK-NEXT: %[[OWN:.*]] = llvm.inttoptr %[[INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[PEER:.*]] = nvvm.mapa %[[OWN]], %[[RANK]] : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK-NEXT: nvvm.mbarrier.arrive %[[PEER]] : !llvm.ptr<7>
// CHECK-NEXT: nvvm.mbarrier.arrive %[[PEER]] {scope = #nvvm.mem_scope<cluster>} : !llvm.ptr<7>
// CHECK-NEXT: gpu.return
gpu.func @arrive(%rank: i32, %bars: !bars, %i: index) kernel {
  tile.arrive %bars[%i] cta(%rank) : !bars
  tile.arrive %bars[%i] cta(%rank) {scope = #tile.scope<cluster>} : !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @expect(
// CHECK-SAME: %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index)
// CHECK-NEXT: %[[BYTES:.*]] = arith.constant 256 : index
// CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[BARS]][%[[I]]], %[[BYTES]] :
// CHECK-NEXT: %[[BYTES:.*]] = arith.constant 552 : index
// CHECK-NEXT: nvgpu.mbarrier.arrive.expect_tx %[[BARS]][%[[I]]], %[[BYTES]] :
// CHECK-NEXT: gpu.return
gpu.func @expect(%bars: !bars, %i: index) workgroup(%x: !tile, %y: !swapped, %z: !indices) kernel {
  tile.expect %bars[%i] for %x : !bars, !tile
  tile.expect %bars[%i] for %x, %y, %z : !bars, !tile, !swapped, !indices
  gpu.return
}

// No byte comes: there is nothing to expect, and the phase still counts the arrival.
// CHECK-LABEL: gpu.func @expect_nothing(
// CHECK-SAME: %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index)
// CHECK-NEXT: nvgpu.mbarrier.arrive %[[BARS]][%[[I]]] :
// CHECK-NEXT: gpu.return
gpu.func @expect_nothing(%bars: !bars, %i: index) workgroup(%x: !empty) kernel {
  tile.expect %bars[%i] for %x, %x : !bars, !empty, !empty
  gpu.return
}

// CHECK-LABEL: gpu.func @wait(
// CHECK-SAME: %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index, %[[PARITY:.*]]: i1)
// CHECK-NEXT: %[[TICKS:.*]] = arith.constant 10000000 : index
// CHECK-NEXT: nvgpu.mbarrier.try_wait.parity %[[BARS]][%[[I]]], %[[PARITY]], %[[TICKS]] :
// CHECK-NEXT: gpu.return
gpu.func @wait(%bars: !bars, %i: index, %parity: i1) kernel {
  tile.wait %bars[%i] parity(%parity) : !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @bounded_wait(
// CHECK-SAME: %[[BARS:[^:]*]]: !nvgpu{{.*}}, %[[I:.*]]: index, %[[PARITY:.*]]: i1)
// CHECK-NEXT: %[[INT:.*]] = nvgpu.mbarrier.get %[[BARS]][%[[I]]]
// CHECK-NEXT: %[[OWN:.*]] = llvm.inttoptr %[[INT]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: %[[PARITY_32:.*]] = arith.extui %[[PARITY]] : i1 to i32
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.while (%{{.*}} = %[[ZERO]]) : (i32) -> i32 {
// CHECK-NEXT:   %[[DONE:.*]] = nvvm.mbarrier.try_wait %[[OWN]], %[[PARITY_32]] : !llvm.ptr<3>, i32 -> i1
// CHECK-NEXT:   %[[TRUE:.*]] = arith.constant true
// CHECK-NEXT:   %[[AGAIN:.*]] = arith.xori %[[DONE]], %[[TRUE]] : i1
// CHECK-NEXT:   scf.condition(%[[AGAIN]])
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[FAILURES:.*]]: i32):
// CHECK-NEXT:   %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-NEXT:   %[[COUNTED:.*]] = arith.addi %[[FAILURES]], %[[ONE]] : i32
// CHECK-NEXT:   %[[BOUND:.*]] = arith.constant 1000 : i32
// CHECK-NEXT:   %[[SPENT:.*]] = arith.cmpi uge, %[[COUNTED]], %[[BOUND]] : i32
// CHECK-NEXT:   scf.if %[[SPENT]] {
// CHECK-NEXT:     llvm.intr.trap
// CHECK-NEXT:   }
// CHECK-NEXT:   scf.yield %[[COUNTED]] : i32
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
gpu.func @bounded_wait(%bars: !bars, %i: index, %parity: i1) kernel {
  tile.wait %bars[%i] parity(%parity) spins(1000) : !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @wait_for_ordinary_data(
// CHECK: scf.while : () -> () {
// CHECK-NEXT:   nvvm.mbarrier.try_wait %{{.*}}, %{{.*}} {scope = #nvvm.mem_scope<cluster>}
// CHECK: } do {
// CHECK-NEXT:   scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
gpu.func @wait_for_ordinary_data(%bars: !bars, %i: index, %parity: i1) kernel {
  tile.wait %bars[%i] parity(%parity) {scope = #tile.scope<cluster>} : !bars
  gpu.return
}

}
