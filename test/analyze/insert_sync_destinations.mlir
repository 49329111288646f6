// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores to a destination come before the first cluster barrier, behind which peers copy into it, and are
// fenced for the async proxy; each beside a control.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// Cleared behind the initialisation.
// CHECK-LABEL: gpu.func @cleared_first(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.load
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @cleared_first(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  memref.store %x, %dst[%c0] : !tile
  %y = memref.load %dst[%c0] : !tile
  gpu.barrier
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}

// In a loop.
// CHECK-LABEL: gpu.func @cleared_in_a_loop(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @cleared_in_a_loop(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  scf.for %i = %c0 to %c1 step %c1 {
    memref.store %x, %dst[%i] : !tile
  }
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}

// The control: what is stored to is no destination.
// CHECK-LABEL: gpu.func @another_is_cleared(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @another_is_cleared(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  memref.store %x, %next[%c0] : !tile
  gpu.barrier
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}

// What came is changed in place: the cluster barrier is before the wait, and no peer hears of the stores.
// CHECK-LABEL: gpu.func @changed_where_it_came(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @changed_where_it_came(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  scf.if %even {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    memref.store %x, %dst[%c0] : !tile
    gpu.barrier
  }
  gpu.return
}

// A peer hears of them: fenced before the other threads do.
// CHECK-LABEL: gpu.func @changed_and_given_back(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: }
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @changed_and_given_back(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  scf.if %even {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    memref.store %x, %dst[%c0] : !tile
    gpu.barrier
    tile.arrive %bars[%c1] cta(%rank) : !bars
  }
  gpu.return
}

}
