// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream's mlir-opt takes the dialect and the C++ passes from the plugin; those written in Python are
// not in it.
// REQUIRES: mlir-opt
// RUN: mlir-opt --load-dialect-plugin=%{tile_plugin} --load-pass-plugin=%{tile_plugin} %s \
// RUN:   --pass-pipeline="builtin.module(tile-analyze-layout)" | FileCheck %s
// RUN: not mlir-opt --load-dialect-plugin=%{tile_plugin} --load-pass-plugin=%{tile_plugin} %s \
// RUN:   --pass-pipeline="builtin.module(tile-legalize-to-nvvm)" 2>&1 | FileCheck %s --check-prefix=PYTHON
// RUN: not mlir-opt %s 2>&1 | FileCheck %s --check-prefix=WITHOUT

// PYTHON: 'tile-legalize-to-nvvm' does not refer to a registered pass
// WITHOUT: error: {{.*}}attribute created with unregistered dialect

!group = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #gpu.address_space<workgroup>>

gpu.module @kernels {
  gpu.func @send(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
    %c0 = arith.constant 0 : index
    %bars = nvgpu.mbarrier.create -> !group
    // CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 1024, count = 1, loops = []
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !group
    gpu.return
  }
}
