// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A barrier that is armed with bytes that its copies cannot add up to never completes: a warning, for
// constants, where nothing else could bring the bytes. Each function that is warned about has a
// control that differs in nothing else. The cluster barriers are there for the other checks.
// RUN: tile-opt %s -tile-check-sync -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!pair = memref<32xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @kernels {

gpu.func @one_copy_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 64 : index
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}
gpu.func @one_copy(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 60 : index
  // expected-warning @+2 {{barrier is armed with 60 bytes, which the copies into it cannot add up to: they bring 64 bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// In a loop, or from several CTAs, a copy may be issued more than once.
gpu.func @several_times_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile, %src_pair: !pair, %dst_pair: !pair) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 320 : index
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  tile.copy_async %src_pair to %dst_pair cta(%rank) mbarrier(%bars[%i]) : !pair to !pair, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}
gpu.func @several_times(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile, %src_pair: !pair, %dst_pair: !pair) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 96 : index
  // expected-warning @+2 {{barrier is armed with 96 bytes, which the copies into it cannot add up to: they bring 64 or 128 bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  tile.copy_async %src_pair to %dst_pair cta(%rank) mbarrier(%bars[%i]) : !pair to !pair, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Barriers of one group are told apart by constant indices, and not by others.
gpu.func @another_barrier_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile, %src_pair: !pair, %dst_pair: !pair) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %c0 = arith.constant 0 : index
  %bytes = arith.constant 64 : index
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  tile.copy_async %src_pair to %dst_pair cta(%rank) mbarrier(%bars[%c0]) : !pair to !pair, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}
gpu.func @another_barrier(%rank: i32, %bars: !bars)
    workgroup(%src: !tile, %dst: !tile, %src_pair: !pair, %dst_pair: !pair) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 64 : index
  // expected-warning @+2 {{barrier is armed with 64 bytes, which the copies into it cannot add up to: they bring 128 bytes each}}
  // expected-note @+1 {{arm it with the bytes of the copies that complete in one phase, or it never completes}}
  nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !bars
  nvgpu.mbarrier.arrive.expect_tx %bars[%c1], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  tile.copy_async %src_pair to %dst_pair cta(%rank) mbarrier(%bars[%c0]) : !pair to !pair, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A copy by another op may bring the rest, and so may what a call is handed.
func.func private @elsewhere(!bars)
gpu.func @a_call_may_bring_the_rest(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 60 : index
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  func.call @elsewhere(%bars) : (!bars) -> ()
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// What is not constant, or arms a barrier of another group, is left alone.
gpu.func @bytes_of_run_time(%rank: i32, %bars: !bars, %others: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %bytes = arith.constant 60 : index
  nvgpu.mbarrier.arrive.expect_tx %bars[%i], %i : !bars
  nvgpu.mbarrier.arrive.expect_tx %others[%i], %bytes : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
