// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The legalization obeys a plan; without one it fails by name. The control has one and differs in
// nothing else.
// RUN: tile-opt %s -split-input-file -tile-legalize-to-nvvm -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @plan_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
      : !tile to !tile, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @no_plan(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  // expected-error @+2 {{'tile.copy_async' op has no plan}}
  // expected-note @+1 {{run tile-analyze-layout first}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @stores_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<st_async, chunk = 16, count = 4, loops = [4],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>,
                              threads = 32, cycles = 40>}
      : !tile to !tile, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @stores_by_nobody(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  // expected-error @+2 {{'tile.copy_async' op plan must store 4, 8 or 16 bytes by some threads, got 16 bytes by 0 threads}}
  // expected-note @+1 {{let tile-analyze-layout make the plan}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<st_async, chunk = 16, count = 4, loops = [4],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>>}
      : !tile to !tile, !bars
  gpu.return
}
}
