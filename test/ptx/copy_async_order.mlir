// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nothing moves across a copy at the highest optimization level: the store of the source stays in
// front of it, the next store of the same place behind it, and a load of the destination behind both.
// RUN: tile-compile %s --to ptx --opt-level 3 2>/dev/null | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<16xi32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

// CHECK-LABEL: .entry order(
// CHECK:     st.shared.b32 [[[SRC:.+]]], 1111;
// CHECK:     cp.async.bulk.shared::cluster.shared::cta
// CHECK:     st.shared.b32 [[[SRC]]], 2222;
// CHECK:     ld.shared.b32 [[LOADED:%r[0-9]+]], [
// CHECK:     st.global.b32 [{{.*}}], [[LOADED]];
gpu.module @kernels {
  gpu.func @order(%out: memref<1xi32>, %rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
    %c0 = arith.constant 0 : index
    %first = arith.constant 1111 : i32
    %second = arith.constant 2222 : i32
    %bars = nvgpu.mbarrier.create -> !bars
    memref.store %first, %src[%c0] : !tile
    memref.store %first, %dst[%c0] : !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    memref.store %second, %src[%c0] : !tile
    %loaded = memref.load %dst[%c0] : !tile
    memref.store %loaded, %out[%c0] : memref<1xi32>
    gpu.return
  }
}
