// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A forced variant is the one that is planned, and the request stays on the op.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @forced(
// CHECK: tile.copy_async {{.*}} {plan = #tile.copy_plan<bulk, chunk = 64, {{.*}}>, variant = "bulk"} :
gpu.func @forced(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {variant = "bulk"}
      : !tile to !tile, !bars
  gpu.return
}

// A plan from before is replaced.
// CHECK-LABEL: gpu.func @planned_before(
// CHECK: tile.copy_async {{.*}} {plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
gpu.func @planned_before(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 16, count = 4, loops = [4],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>>}
      : !tile to !tile, !bars
  gpu.return
}

}
