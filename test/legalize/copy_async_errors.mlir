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
                              src = {start = 0, steps = []}, dst = {start = 0, steps = []}>}
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
