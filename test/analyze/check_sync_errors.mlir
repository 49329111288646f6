// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With the option `error`, what tile-check-sync finds is an error and fails the pass.
// RUN: tile-opt %s -split-input-file -tile-check-sync=error -verify-diagnostics -o %t

// The control: nothing is found.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {
gpu.func @clean(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}
}

// -----

// The fence of the initialisation is missing.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {
gpu.func @not_fenced(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-error @+2 {{'nvgpu.mbarrier.init' op is followed by no fence on some path to the cluster barrier}}
  // expected-note @+1 {{execute nvvm.fence.mbarrier.init right after it, or give the kernel tile.insert_sync}}
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}
}
