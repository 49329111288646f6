// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies in one block share the addresses, the constants and the threads' numbers that are the same for them.
// What is built in a block is used in no other.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=mapa --implicit-check-not=gpu.thread_id

#wg = #gpu.address_space<workgroup>
!tile = memref<1024xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
#bulk = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2],
                        src = <start = 0, steps = [64]>, dst = <start = 0, steps = [128]>>
#spread = #tile.copy_plan<st_async, chunk = 16, count = 64, loops = [64],
                          src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>,
                          threads = 64, cycles = 100>

gpu.module @kernels {

// The second copy goes to the same CTA, the third to another.
// CHECK-LABEL: gpu.func @ranks(
// CHECK-SAME: %[[A:.*]]: i32, %[[B:.*]]: i32,
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: %[[SRC:.*]] = llvm.inttoptr
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: %[[DST:.*]] = llvm.inttoptr
// CHECK: %[[AT_A:.*]] = nvvm.mapa %[[DST]], %[[A]]
// CHECK: nvvm.mapa %{{.*}}, %[[A]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[AT_A]], %[[SRC]]
// CHECK: %[[NEXT_AT_A:.*]] = llvm.getelementptr %[[AT_A]][128]
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[SRC]][64]
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[NEXT_AT_A]], %[[NEXT]]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[AT_A]], %[[SRC]]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[NEXT_AT_A]], %[[NEXT]]
// CHECK: %[[AT_B:.*]] = nvvm.mapa %[[DST]], %[[B]]
// CHECK: nvvm.mapa %{{.*}}, %[[B]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[AT_B]], %[[SRC]]
// CHECK: %[[NEXT_AT_B:.*]] = llvm.getelementptr %[[AT_B]][128]
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta %[[NEXT_AT_B]], %[[NEXT]]
// CHECK-NEXT: gpu.return
gpu.func @ranks(%a: i32, %b: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%a) mbarrier(%bars[%i]) {plan = #bulk} : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%a) mbarrier(%bars[%i]) {plan = #bulk} : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%b) mbarrier(%bars[%i]) {plan = #bulk} : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @branches(
// CHECK: scf.if
// CHECK: %[[THEN_DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: cp.async.bulk.shared.cluster.shared.cta %[[THEN_DST]],
// CHECK: } else {
// CHECK: %[[ELSE_DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: cp.async.bulk.shared.cluster.shared.cta %[[ELSE_DST]],
// CHECK: gpu.return
gpu.func @branches(%rank: i32, %bars: !bars, %i: index, %condition: i1)
    workgroup(%src: !tile, %dst: !tile) kernel {
  scf.if %condition {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {plan = #bulk} : !tile to !tile, !bars
  } else {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {plan = #bulk} : !tile to !tile, !bars
  }
  gpu.return
}

// What is loaded and what is stored is not shared.
// CHECK-LABEL: gpu.func @stores(
// CHECK-COUNT-2: nvvm.mapa
// CHECK: gpu.thread_id x
// CHECK: %[[SRC:.*]] = llvm.getelementptr
// CHECK: llvm.load %[[SRC]]
// CHECK: %[[DST:.*]] = llvm.getelementptr
// CHECK: %[[AT:.*]] = llvm.ptrtoint %[[DST]]
// CHECK: llvm.inline_asm has_side_effects "st.async{{.*}}" %[[AT]],
// CHECK-NEXT: llvm.load %[[SRC]]
// CHECK: llvm.inline_asm has_side_effects "st.async{{.*}}" %[[AT]],
// CHECK-NEXT: gpu.return
gpu.func @stores(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) {plan = #spread}
      : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) {plan = #spread}
      : !tile to !tile, !bars
  gpu.return
}

}
