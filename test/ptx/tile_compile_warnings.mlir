// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `tile-compile` shows warnings with their source line, and goes on.

// RUN: tile-compile %s --to ptx 2>&1 >%t.ptx | FileCheck %s
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: sed "s/500 : index/512 : index/" %s > %t.control.mlir \
// RUN:   && tile-compile %t.control.mlir --to ptx 2>&1 >%t.ptx | count 0

// CHECK:      tile_compile_warnings.mlir:[[#@LINE + 20]]:5: warning: 'nvgpu.mbarrier.arrive.expect_tx' op barrier is armed with 500 bytes
// CHECK-NEXT: {{^}}    nvgpu.mbarrier.arrive.expect_tx %bars
// CHECK-NEXT: {{^    \^$}}
// CHECK-NEXT: tile_compile_warnings.mlir:[[#@LINE + 17]]:5: note: arm it with
// PTX: .visible .entry send

!tile = memref<256xf16, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
  gpu.func @send(%rank: i32) workgroup(%a: !tile, %b: !tile) kernel {
    %c0 = arith.constant 0 : index
    %bytes = arith.constant 500 : index
    %bars = nvgpu.mbarrier.create -> !barrier
    %c1 = arith.constant 1 : index
    nvgpu.mbarrier.init %bars[%c0], %c1 : !barrier
    nvvm.fence.mbarrier.init
    nvvm.cluster.arrive
    nvvm.cluster.wait
    // The copy brings 512.
    nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !barrier
    tile.copy_async %a to %b cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !barrier
    nvvm.cluster.arrive
    nvvm.cluster.wait
    gpu.return
  }
}
