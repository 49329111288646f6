// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each direction becomes the instruction of its own, on pointers into global memory (1), the CTA's shared memory (3) and
// that of the cluster (7).
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=tile.copy --implicit-check-not=mapa --implicit-check-not=cp.async.bulk --implicit-check-not=cp.reduce

#wg = #gpu.address_space<workgroup>
!global = memref<4x16xi32>
!rows = memref<4x16xi32, strided<[?, 1], offset: ?>>
!tile = memref<4x16xi32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
#plan = #tile.copy_plan<bulk, chunk = 256, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>

gpu.module @kernels {

// To one's own memory nothing is mapped; an address there is one of the cluster's, too.
// CHECK-LABEL: gpu.func @load(
// CHECK: %[[SRC:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
// CHECK: %[[DST:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<3>
// CHECK: %[[BAR_INT:.*]] = nvgpu.mbarrier.get
// CHECK: %[[BAR:.*]] = llvm.inttoptr %[[BAR_INT]] : i64 to !llvm.ptr<3>
// CHECK: %[[BYTES:.*]] = arith.constant 256 : i32
// CHECK: %[[DST_INT:.*]] = llvm.ptrtoint %[[DST]] : !llvm.ptr<3> to i64
// CHECK: %[[DST_7:.*]] = llvm.inttoptr %[[DST_INT]] : i64 to !llvm.ptr<7>
// CHECK: nvvm.cp.async.bulk.shared.cluster.global %[[DST_7]], %[[SRC]], %[[BAR]], %[[BYTES]] : !llvm.ptr<7>, <1>
// CHECK-NEXT: gpu.return
gpu.func @load(%x: !global, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i]) {plan = #plan} : !global to !tile, !bars
  gpu.return
}

// A step that only the run time knows is a stride of the memref times a number.
// CHECK-LABEL: gpu.func @load_rows(
// CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}:2, %{{.*}}:2 = memref.extract_strided_metadata
// CHECK: %[[SIZE:.*]] = arith.constant 4 : index
// CHECK: %[[OFFSET_BYTES:.*]] = arith.muli %[[OFFSET]], %[[SIZE]] : index
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata
// CHECK: %[[STEP:.*]] = arith.muli %[[STRIDES]]#0, %[[SIZE]] : index
// CHECK: %[[TWO:.*]] = arith.muli %{{.*}}, %[[STEP]] : index
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: %[[ONE_BYTES:.*]] = arith.index_cast %[[STEP]] : index to i64
// CHECK: llvm.getelementptr %{{.*}}[%[[ONE_BYTES]]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: %[[TWO_BYTES:.*]] = arith.index_cast %[[TWO]] : index to i64
// CHECK: llvm.getelementptr %{{.*}}[%[[TWO_BYTES]]]
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NEXT: gpu.return
gpu.func @load_rows(%x: !rows, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 4, loops = [4], src = <start = 0, steps = [?], strides = [0, 4]>,
                              dst = <start = 0, steps = [64]>>} : !rows to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @load_for_a_peer(
// CHECK: %[[DST:.*]] = nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.global %[[DST]], %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr<7>, <1>
// CHECK-NEXT: gpu.return
gpu.func @load_for_a_peer(%x: !global, %rank: i32, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile cta(%rank) mbarrier(%bars[%i]) {plan = #plan} : !global to !tile, !bars
  gpu.return
}

// The hardware sends a load to every CTA of a mask; the policy of the L2 cache is made once.
// CHECK-LABEL: gpu.func @multicast(
// CHECK-SAME: %[[MASK:[^ ]*]]: i16
// CHECK: %[[POLICY:.*]] = llvm.inline_asm "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"  : () -> i64
// CHECK: nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} multicast_mask = %[[MASK]] l2_cache_hint = %[[POLICY]] : !llvm.ptr<7>, <1>
// CHECK-NEXT: gpu.return
gpu.func @multicast(%x: !global, %mask: i16, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) cache_hint(evict_last) {plan = #plan} : !global to !tile, !bars
  gpu.return
}

// From shared memory it is a copy for each: of a constant mask only for those that it names.
// CHECK-LABEL: gpu.func @to_ranks_0_and_2(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT: gpu.return
gpu.func @to_ranks_0_and_2(%bars: !bars, %i: index) workgroup(%tile: !tile, %other: !tile) kernel {
  %mask = arith.constant 5 : i16
  tile.copy_async %tile to %other ctas(%mask) mbarrier(%bars[%i]) {plan = #plan} : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @to_ranks_of_a_mask(
// CHECK: %[[LAST:.*]] = arith.constant 4 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[LAST]]
// CHECK: scf.if
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta
gpu.func @to_ranks_of_a_mask(%mask: i16, %bars: !bars, %i: index) workgroup(%tile: !tile, %other: !tile)
    kernel attributes {known_cluster_size = array<i32: 4, 1, 1>} {
  tile.copy_async %tile to %other ctas(%mask) mbarrier(%bars[%i]) {plan = #plan} : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @store(
// CHECK-SAME: %[[POLICY:[^ ]*]]: i64
// CHECK: %[[SRC:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<3>
// CHECK: %[[DST:.*]] = llvm.inttoptr %{{.*}} : i64 to !llvm.ptr<1>
// CHECK: nvvm.cp.async.bulk.global.shared.cta %[[DST]], %[[SRC]], %{{.*}} l2_cache_hint = %[[POLICY]] : <1>, <3>
// CHECK-NEXT: gpu.return
gpu.func @store(%y: !global, %policy: i64) workgroup(%tile: !tile) kernel {
  tile.copy_async %tile to %y cache_hint(%policy) {plan = #plan} : !tile to !global
  gpu.return
}

// Upstream has no op for reductions.
// CHECK-LABEL: gpu.func @reduce_in_global_memory(
// CHECK: llvm.inline_asm has_side_effects "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.s32 [$0], [$1], $2;", "l,r,r,~{memory}"
// CHECK-NEXT: gpu.return
gpu.func @reduce_in_global_memory(%y: !global) workgroup(%tile: !tile) kernel {
  tile.copy_async %tile to %y reduce(minsi) {plan = #plan} : !tile to !global
  gpu.return
}

// CHECK-LABEL: gpu.func @reduce_into_a_peer(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: llvm.inline_asm has_side_effects "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [$0], [$1], $2, [$3];", "r,r,r,r,~{memory}"
// CHECK-NEXT: gpu.return
gpu.func @reduce_into_a_peer(%rank: i32, %bars: !bars, %i: index) workgroup(%tile: !tile, %other: !tile) kernel {
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(add) {plan = #plan} : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @add_halves(
// CHECK: createpolicy.fractional.L2::evict_first.b64
// CHECK: llvm.inline_asm has_side_effects "cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.add.noftz.bf16 [$0], [$1], $2, $3;", "l,r,r,l,~{memory}"
// CHECK-NEXT: gpu.return
gpu.func @add_halves(%y: memref<4x32xbf16>) workgroup(%tile: memref<4x32xbf16, #wg>) kernel {
  tile.copy_async %tile to %y reduce(add) cache_hint(evict_first) {plan = #plan} : memref<4x32xbf16, #wg> to memref<4x32xbf16>
  gpu.return
}

}
