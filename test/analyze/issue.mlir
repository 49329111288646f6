// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Who executes a copy decides what it may cost, and so how it is copied.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<128x64xf16, #wg>
!rows = memref<256x32xf16, strided<[64, 1]>, #wg>
!on = memref<16x512xf16, strided<[1024, 1]>, #wg>
!off = memref<16x512xf16, strided<[560, 1]>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// One thread has no choice, and its plan shows none.
// CHECK-LABEL: gpu.func @thread(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 256, {{.*}}, dst = <start = 0, steps = [128]>>}
gpu.func @thread(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !rows) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !rows to !rows, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @contiguous(
// CHECK: issue(warp) {plan = #tile.copy_plan<bulk, chunk = 16384, count = 1, loops = [], {{.*}}, threads = 1, cycles = 770>}
// CHECK: issue(cta) {plan = #tile.copy_plan<bulk, chunk = 16384, count = 1, loops = [], {{.*}}, threads = 1, cycles = 770>}
gpu.func @contiguous(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 16, 16, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !tile to !tile, !bars
  gpu.return
}

// Short chunks are cut in 16 bytes for all threads, which neighbours take along the destination.
// CHECK-LABEL: gpu.func @chunks(
// CHECK: issue(cta) {plan = #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [256, 4], src = <start = 0, steps = [128, 16]>, dst = <start = 0, steps = [128, 16]>, threads = 256, cycles = 770>}
// CHECK: issue(cta) {plan = #tile.copy_plan<bulk, chunk = 64, count = 256, loops = [256], {{.*}}, threads = 1, cycles = 3291>, variant = "bulk"}
gpu.func @chunks(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !rows) kernel
    attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !rows to !rows, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) {variant = "bulk"}
      : !rows to !rows, !bars
  gpu.return
}

// Bulk copies that begin off a line meet one line more: 16 * (1024 + 128 - 32) / 128 lines of 6 clk, where all
// begin at multiples of 32 bytes. Stores by all threads do not.
// CHECK-LABEL: gpu.func @lines(
// CHECK: issue(cta) {plan = #tile.copy_plan<bulk, chunk = 1024, count = 16, {{.*}}, threads = 1, cycles = 770>}
// CHECK: issue(cta) {plan = #tile.copy_plan<st_async, chunk = 16, count = 1024, {{.*}}, threads = 256, cycles = 770>}
// CHECK: issue(cta) {plan = #tile.copy_plan<bulk, chunk = 1024, count = 16, {{.*}}, threads = 1, cycles = 842>, variant = "bulk"}
gpu.func @lines(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !on, %off: !off, %dst: !on) kernel
    attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !on to !on, !bars
  tile.copy_async %off to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !off to !on, !bars
  tile.copy_async %off to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) {variant = "bulk"}
      : !off to !on, !bars
  gpu.return
}

}
