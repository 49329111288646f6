// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tile-check-sync knows of copies between global memory and the CTA's own: they need no cluster barrier, each
// beside a control.
// RUN: tile-opt %s -tile-check-sync -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!global = memref<16xf32>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

// In a cluster, too, a load for oneself needs none.
gpu.func @own_load(%x: !global) workgroup(%tile: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %phase = arith.constant false
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %is_first {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  gpu.barrier
  scf.if %is_first {
    tile.expect %bars[%c0] for %tile : !bars, !tile
    tile.copy_async %x to %tile mbarrier(%bars[%c0]) : !global to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%phase) : !bars
  gpu.return
}

// One that a peer receives needs both.
gpu.func @load_for_a_peer(%x: !global, %rank: i32) workgroup(%tile: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %phase = arith.constant false
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %is_first {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  gpu.barrier
  scf.if %is_first {
    tile.expect %bars[%c0] for %tile : !bars, !tile
    // expected-warning @+2 {{'tile.copy_async' op comes on some path before any cluster barrier}}
    // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait after the initialisation, or give the kernel tile.insert_sync}}
    tile.copy_async %x to %tile cta(%rank) mbarrier(%bars[%c0]) : !global to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%phase) : !bars
  // expected-warning @+2 {{'gpu.return' op ends the kernel on some path without a final cluster barrier, while a peer may still use the shared memory of this CTA}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait before it, or give the kernel tile.insert_sync}}
  gpu.return
}

// A load brings its bytes once; nobody else does.
gpu.func @armed_twice(%x: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 128 : index
  %phase = arith.constant false
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  // expected-warning @+2 {{'nvgpu.mbarrier.arrive.expect_tx' op barrier is armed with 128 bytes, which the copies into it cannot add up to: they bring 64 (at most 1 times) bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  tile.copy_async %x to %tile mbarrier(%bars[%c0]) : !global to !tile, !bars
  tile.wait %bars[%c0] parity(%phase) : !bars
  gpu.return
}

// What is stored to shared memory is fenced before a copy reads it.
gpu.func @stored_and_fenced(%y: !global, %v: f32) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  memref.store %v, %tile[%thread] : !tile
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.barrier
  scf.if %is_first {
    tile.copy_async %tile to %y : !tile to !global
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
  }
  gpu.return
}
gpu.func @stored_without_a_fence(%y: !global, %v: f32) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
  %c0 = arith.constant 0 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
  memref.store %v, %tile[%thread] : !tile
  gpu.barrier
  scf.if %is_first {
    // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
    tile.copy_async %tile to %y : !tile to !global
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
  }
  gpu.return
}

}
