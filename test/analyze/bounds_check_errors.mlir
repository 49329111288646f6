// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `bounds=check` checks has a size: of several buffers that a tile may be in, one size. The control of
// the rule keeps it, and differs in nothing else.
// RUN: tile-opt %s -tile-analyze-layout=bounds=check -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!row = memref<64xf16, strided<[1], offset: ?>, #wg>

gpu.module @kernels {

gpu.func @two_of_one_size(%rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<8x64xf16, #wg>, %b: memref<8x64xf16, #wg>, %dst: memref<64xf16, #wg>) kernel {
  %x = memref.subview %a[%i, 0] [1, 64] [1, 1] : memref<8x64xf16, #wg> to !row
  %y = memref.subview %b[%i, 0] [1, 64] [1, 1] : memref<8x64xf16, #wg> to !row
  %src = arith.select %which, %x, %y : !row
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !row to memref<64xf16, #wg>, !bars
  gpu.return
}
gpu.func @two_of_two_sizes(%rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<8x64xf16, #wg>, %b: memref<9x64xf16, #wg>, %dst: memref<64xf16, #wg>) kernel {
  %x = memref.subview %a[%i, 0] [1, 64] [1, 1] : memref<8x64xf16, #wg> to !row
  %y = memref.subview %b[%i, 0] [1, 64] [1, 1] : memref<9x64xf16, #wg> to !row
  %src = arith.select %which, %x, %y : !row
  // expected-error @+2 {{'tile.copy_async' op source must have a buffer of known size to be checked, got one of 2}}
  // expected-note @+1 {{bound the run-time offset by a loop, a remainder or a known block size, or choose bounds=assume}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !row to memref<64xf16, #wg>, !bars
  gpu.return
}

}
