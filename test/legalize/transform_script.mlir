// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes, those written in Python too, run from a script of the transform dialect as they run from
// a pipeline.
// RUN: cd %S && tile-opt %s -transform-preload-library=transform-library-paths=Inputs/transform_script.mlir \
// RUN:   -transform-interpreter | FileCheck %s

!group = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<64xf32, #gpu.address_space<workgroup>>

// CHECK-LABEL: gpu.func @send
gpu.module @kernels {
  gpu.func @send(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create -> !group
    // CHECK: %[[BYTES:.*]] = arith.constant 256 : i32
    // CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %{{.*}}, %{{.*}}, %{{.*}}, %[[BYTES]]
    // CHECK-NOT: tile.copy_async
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !group
    gpu.return
  }
}
