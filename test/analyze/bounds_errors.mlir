// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run-time offset is proved to stay inside its buffer, or `bounds` decides.
// RUN: tile-opt %s -tile-analyze-layout=bounds=error -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// Bounded by the block size.
gpu.func @thread_of_64(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %t = gpu.thread_id x
  %from = memref.subview %src[%t, 0] [1, 64] [1, 1] : memref<64x64xf16, #wg> to memref<1x64xf16, strided<[64, 1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<1x64xf16, #wg>, !bars
  gpu.return
}

// The block may be larger than the buffer.
gpu.func @thread_of_65(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel attributes {known_block_size = array<i32: 65, 1, 1>} {
  %t = gpu.thread_id x
  %from = memref.subview %src[%t, 0] [1, 64] [1, 1] : memref<64x64xf16, #wg> to memref<1x64xf16, strided<[64, 1], offset: ?>, #wg>
  // expected-error @+2 {{'tile.copy_async' op source must be proved to stay inside its buffer, got offset 0 + 64 * %}}
  // expected-note @+1 {{bound the run-time offset by a loop, a remainder or a known block size, or choose bounds=assume}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<1x64xf16, #wg>, !bars
  gpu.return
}

// Bounded by a remainder.
gpu.func @remainder(%rank: i32, %bars: !bars, %i: index, %j: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel {
  %c64 = arith.constant 64 : index
  %r = arith.remui %j, %c64 : index
  %from = memref.subview %src[%r, 0] [1, 64] [1, 1] : memref<64x64xf16, #wg> to memref<1x64xf16, strided<[64, 1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<1x64xf16, #wg>, !bars
  gpu.return
}

// Bounded by a loop.
gpu.func @loop(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<1x64xf16, #wg>) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %r = %c0 to %c64 step %c1 {
    %from = memref.subview %src[%r, 0] [1, 64] [1, 1] : memref<64x64xf16, #wg> to memref<1x64xf16, strided<[64, 1], offset: ?>, #wg>
    tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
        : memref<1x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<1x64xf16, #wg>, !bars
  }
  gpu.return
}

}
