// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pass that fails says why where it says so in a pipeline, and the script stops. The control case is
// transform_script.mlir: without an offset known at run time the same script succeeds.
// RUN: cd %S && not tile-opt %s -transform-preload-library=transform-library-paths=Inputs/transform_script.mlir \
// RUN:   -transform-interpreter 2>&1 | FileCheck %s

!group = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<64xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @send(%rank: i32, %i: index) workgroup(%src: !buffer, %dst: !buffer) kernel {
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create -> !group
    %from = memref.subview %src[%i, 0] [1, 64] [1, 1] : !buffer to !tile
    %to = memref.subview %dst[%i, 0] [1, 64] [1, 1] : !buffer to !tile
    // CHECK: transform_script_errors.mlir:[[#@LINE + 2]]:5: error: 'tile.copy_async' op source must be proved to stay inside its buffer
    // CHECK: Inputs/transform_script.mlir:{{.*}}: error: pass pipeline failed
    tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !group
    gpu.return
  }
}
