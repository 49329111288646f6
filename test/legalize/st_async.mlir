// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each thread loads a part of the tile and stores it into the peer by st.async, which counts the bytes on
// the peer's barrier. The legalization obeys the plan, so the plans here need not be what the analysis
// would find.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=tile. --implicit-check-not=mapa

#wg = #gpu.address_space<workgroup>
!tile = memref<4096xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @kernels {

// Rounds that differ by a constant share what a thread computes: number % 4 and number / 4. All loads
// stand before the first store.
// CHECK-LABEL: gpu.func @rounds(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[LANE:.*]] = nvvm.read.ptx.sreg.laneid : i32
// CHECK: arith.remui %[[LANE]], %{{.*}} : i32
// CHECK: arith.divui %[[LANE]], %{{.*}} : i32
// CHECK-NOT: arith.remui
// CHECK: %[[FROM:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
// CHECK-NEXT: llvm.load %[[FROM]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: %[[NEXT:.*]] = llvm.getelementptr %[[FROM]][1024]
// CHECK-NEXT: llvm.load %[[NEXT]] {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK: llvm.inline_asm has_side_effects "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0], {$1, $2, $3, $4}, [$5];", "r,r,r,r,r,r,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0+2048], {$1, $2, $3, $4}, [$5];"
// CHECK-NEXT: gpu.return
gpu.func @rounds(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<st_async, chunk = 16, count = 64, loops = [16, 4],
                              src = <start = 0, steps = [128, 16]>, dst = <start = 0, steps = [256, 16]>,
                              threads = 32, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// No thread goes past the end.
// CHECK-LABEL: gpu.func @left_over(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[X:.*]] = gpu.thread_id x
// CHECK-NEXT: %[[THREAD:.*]] = arith.index_cast %[[X]] : index to i32
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [$0], {$1, $2}, [$3];", "r,r,r,r,~{memory}"
// CHECK: %[[LEFT:.*]] = arith.constant 6 : i32
// CHECK-NEXT: %[[ACTIVE:.*]] = arith.cmpi ult, %[[THREAD]], %[[LEFT]] : i32
// CHECK-NEXT: scf.if %[[ACTIVE]] {
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [$0+1024], {$1, $2}, [$3];"
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: gpu.return
gpu.func @left_over(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta)
      {plan = #tile.copy_plan<st_async, chunk = 8, count = 70, loops = [70],
                              src = <start = 0, steps = [8]>, dst = <start = 0, steps = [16]>,
                              threads = 64, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// What lies scattered is put together, the lowest part first.
// CHECK-LABEL: gpu.func @gathered(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[LOW:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
// CHECK: llvm.getelementptr %{{.*}}[640]
// CHECK-NEXT: %[[HIGH:.*]] = llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<3> -> i16
// CHECK: arith.extui %[[LOW]] : i16 to i32
// CHECK: %[[BITS:.*]] = arith.constant 16 : i32
// CHECK: arith.extui %[[HIGH]] : i16 to i32
// CHECK: arith.shli %{{.*}}, %[[BITS]] : i32
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];", "r,r,r,~{memory}"
gpu.func @gathered(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<st_async, chunk = 4, count = 32, loops = [32],
                              src = <start = 0, steps = [2], gather = [2, 640]>,
                              dst = <start = 0, steps = [4]>, threads = 32, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// Many rounds become a loop over groups of 8.
// CHECK-LABEL: gpu.func @loop(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[END:.*]] = arith.constant 2 : i32
// CHECK: scf.for %{{.*}} to %[[END]] step %{{.*}} : i32 {
// CHECK-COUNT-8: inline_asm
// CHECK: }
// CHECK: inline_asm
// CHECK-NEXT: gpu.return
gpu.func @loop(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<st_async, chunk = 16, count = 544, loops = [544],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>,
                              threads = 32, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

}
