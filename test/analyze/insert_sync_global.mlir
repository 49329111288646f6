// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies between global memory and the CTA's own shared memory need fences between ordinary accesses and themselves, and
// no cluster barrier.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!global = memref<16xf32>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

// The threads that stored fence before they meet the one that copies.
// CHECK-LABEL: gpu.func @store(
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK: tile.copy_async
gpu.func @store(%y: !global, %v: f32) workgroup(%tile: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  memref.store %v, %tile[%thread] : !tile
  gpu.barrier
  scf.if %is_first {
    tile.copy_async %tile to %y : !tile to !global
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
  }
  gpu.return
}

// So do those that loaded, before the next load overwrites what they did. The thread that initialises a barrier fences that.
// CHECK-LABEL: gpu.func @load(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK: tile.wait
// CHECK: memref.load
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
gpu.func @load(%x: !global, %y: !global) workgroup(%tile: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %phase = arith.constant false
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %is_first {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  }
  gpu.barrier
  %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%parity = %phase) -> i1 {
    scf.if %is_first {
      tile.expect %bars[%c0] for %tile : !bars, !tile
      tile.copy_async %x to %tile mbarrier(%bars[%c0]) : !global to !tile, !bars
    }
    tile.wait %bars[%c0] parity(%parity) : !bars
    %v = memref.load %tile[%thread] : !tile
    memref.store %v, %y[%thread] : !global
    gpu.barrier
    %true = arith.constant true
    %next = arith.xori %parity, %true : i1
    scf.yield %next : i1
  }
  gpu.return
}

}
