// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warning of tile-check-sync about the bytes and arrivals of its barriers,
// beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// Constant bytes that the copies cannot add up to. In a cluster of two, one peer sends each copy once.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @armed_with_the_tile(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %bytes = arith.constant 64 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @armed_with_too_few(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %bytes = arith.constant 48 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{'nvgpu.mbarrier.arrive.expect_tx' op barrier is armed with 48 bytes, which the copies into it cannot add up to: they bring 64 (at most 1 times) bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @armed_with_too_many(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %bytes = arith.constant 128 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{barrier is armed with 128 bytes, which the copies into it cannot add up to: they bring 64 (at most 1 times) bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @armed_by_two_tiles(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{'tile.expect' op barrier is armed with 128 bytes, which the copies into it cannot add up to: they bring 64 (at most 1 times) bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  tile.expect %bars[%c0] for %dst, %dst : !bars, !tile, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A barrier that copies complete on, and that nothing arms.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @armed(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @never_armed(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{'tile.copy_async' op completes on a barrier that nothing arms}}
  // expected-note @+1 {{let a thread of the receiving CTA execute tile.expect for the destination once a phase}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @another_one_is_armed(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c1] for %dst : !bars, !tile
  // expected-warning @+2 {{'tile.copy_async' op completes on a barrier that nothing arms}}
  // expected-note @+1 {{let a thread of the receiving CTA execute tile.expect for the destination once a phase}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A count that the arrivals of one phase cannot reach.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @one_arrival(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %is_first {
    tile.expect %bars[%c0] for %dst : !bars, !tile
  }
  scf.if %is_first {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @two_counted(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  // expected-warning @+2 {{'nvgpu.mbarrier.init' op count must be at most the arrivals of one phase, which are 1, got 2}}
  // expected-note @+1 {{initialise the barrier with the arrivals of one phase: one for each tile.expect, tile.arrive or mbarrier arrive that a thread executes}}
  nvgpu.mbarrier.init %bars[%c0], %c2 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %is_first {
    tile.expect %bars[%c0] for %dst : !bars, !tile
  }
  scf.if %is_first {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @nothing_arrives(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  // expected-warning @+2 {{'nvgpu.mbarrier.init' op initialises a barrier that is waited for and that nothing arrives on}}
  // expected-note @+1 {{initialise the barrier with the arrivals of one phase: one for each tile.expect, tile.arrive or mbarrier arrive that a thread executes}}
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @peers_may_arrive(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c2 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %is_first {
    tile.arrive %bars[%c0] cta(%rank) : !bars
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// More arrivals than are counted.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @one_thread_arrives(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %is_first {
    tile.expect %bars[%c0] for %dst : !bars, !tile
  }
  scf.if %is_first {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @all_threads_arrive(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{'tile.expect' op must arrive at most 1 times in one phase, which is what the barrier counts, got all 64 threads}}
  // expected-note @+1 {{let one thread execute it, or initialise the barrier with the number of threads}}
  tile.expect %bars[%c0] for %dst : !bars, !tile
  scf.if %is_first {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @all_threads_are_counted(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %c64 = arith.constant 64 : index
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c64 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @a_role_is_counted(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>, known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %c32 = arith.constant 32 : index
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  nvgpu.mbarrier.init %bars[%c0], %c32 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %role = arith.divui %thread, %c32 : index
  scf.index_switch %role
  case 0 {
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
    scf.yield
  }
  default {
  }
  tile.wait %bars[%c0] parity(%first) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A count of nothing.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @count_1(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  gpu.return
}

gpu.func @count_0(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-warning @+1 {{'nvgpu.mbarrier.init' op count must be in 1 to 1048575, got 0}}
  nvgpu.mbarrier.init %bars[%c0], %c0 : !bars
  gpu.return
}

}
