// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every op that a copy becomes stands where the copy stood, those in the bodies of loops too. What was
// there before has a place in this file.
// RUN: tile-opt %s -tile-legalize-to-nvvm -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, strided<[1], offset: ?>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @loop(
// CHECK-SAME: {{$}}
// CHECK-NOT: loc("{{[^"]*}}locations.mlir":
// CHECK-NOT: loc(unknown)
// CHECK-COUNT-64: nvvm.cp.async.bulk.shared.cluster.shared.cta {{.*}} loc("the copy")
// CHECK-NEXT: } {loop_annotation = {{.*}}} loc("the copy")
// CHECK-NEXT: } {loop_annotation = {{.*}}} loc("the copy")
// CHECK-NEXT: gpu.return loc("{{[^"]*}}locations.mlir":
gpu.func @loop(%rank: i32, %bars: !bars, %i: index, %src: !tile, %dst: !tile) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 256, loops = [2, 128],
                              src = <start = 0, steps = [4096, 64]>, dst = <start = 0, steps = [1024, 128]>>}
      : !tile to !tile, !bars loc("the copy")
  gpu.return
}

}
