// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variants were considered for a copy, and what each would cost.
// RUN: tile-compile %s --to analyze --remarks -o %t.mlir 2>&1 | FileCheck %s
// RUN: tile-compile %s --to analyze -o %t.mlir 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty

// QUIET-NOT: remark:

#wg = #gpu.address_space<workgroup>
!rows = memref<256x32xf16, strided<[64, 1]>, #wg>
!from = memref<64x64xf32, #wg>
!to = memref<64x64xf32, strided<[1, 64]>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @send(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !rows, %dst: !rows, %from: !from, %to: !to) kernel
    attributes {known_block_size = array<i32: 256, 1, 1>} {
  // CHECK: remarks.mlir:[[#@LINE + 4]]:3: remark: copied by st_async: 16384 bytes in about 770 cycles
  // CHECK: note: bulk: about 3291 cycles, 256 copies of 64 bytes by 1 thread{{$}}
  // CHECK: note: st_async: about 770 cycles, 1024 copies of 16 bytes by 256 threads, 8 cycles for a warp to load from the source, 4 without bank conflicts
  // CHECK: note: the source is #tile.layout<(256, 32) : (64, 1)> and the destination #tile.layout<(256, 32) : (64, 1)>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !rows to !rows, !bars
  // CHECK: remarks.mlir:[[#@LINE + 3]]:3: remark: copied by st_async: 16384 bytes in about 770 cycles
  // CHECK: note: bulk: not possible: the longest run common to both layouts is 4 bytes, it must be a multiple of 16
  // CHECK: note: st_async: about 770 cycles, 1024 copies of 16 bytes by 256 threads, each gathered from parts of 4 bytes, 4 cycles for a warp to load from the source, 1 without bank conflicts
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i]) issue(cta) : !from to !to, !bars
  // CHECK: remarks.mlir:[[#@LINE + 2]]:3: remark: copied by bulk: 16384 bytes in about 12583 cycles
  // CHECK: note: bulk: about 12583 cycles, 256 copies of 64 bytes by 1 thread
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !rows to !rows, !bars
  gpu.return
}
}
