// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warp or a CTA issues bulk copies from one elected lane of a converged warp. All threads compute the
// addresses, outside of the branch and of all loops, so that they are uniform.
// RUN: tile-opt %s -tile-legalize-to-nvvm | FileCheck %s --implicit-check-not=tile. --implicit-check-not=mapa --implicit-check-not=cp.async.bulk

#wg = #gpu.address_space<workgroup>
!tile = memref<4096xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @warp(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[ELECTED:.*]] = nvvm.elect.sync -> i1
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK-COUNT-3: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
gpu.func @warp(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 3, loops = [3],
                              src = <start = 0, steps = [64]>, dst = <start = 0, steps = [128]>,
                              threads = 1, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// Of a CTA it is the first warp, in the order of the linear number of threads.
// CHECK-LABEL: gpu.func @cta(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: %[[Z:.*]] = gpu.thread_id z
// CHECK: arith.constant 2 : i32
// CHECK: %[[Y:.*]] = gpu.thread_id y
// CHECK: arith.constant 16 : i32
// CHECK: %[[X:.*]] = gpu.thread_id x
// CHECK: %[[THREAD:.*]] = arith.addi
// CHECK-NEXT: %[[LANES:.*]] = arith.constant 32 : i32
// CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi ult, %[[THREAD]], %[[LANES]] : i32
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: %[[ELECTED:.*]] = nvvm.elect.sync -> i1
// CHECK-NEXT: scf.if %[[ELECTED]] {
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
gpu.func @cta(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 16, 2, 4>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta)
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>,
                              threads = 1, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// A CTA of one warp needs no branch around the election.
// CHECK-LABEL: gpu.func @one_warp(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK-NOT: thread_id
// CHECK: nvvm.elect.sync
// CHECK: nvvm.cp.async.bulk.shared.cluster.shared.cta
gpu.func @one_warp(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta)
      {plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [],
                              src = <start = 0, steps = []>, dst = <start = 0, steps = []>,
                              threads = 1, cycles = 100>}
      : !tile to !tile, !bars
  gpu.return
}

// Up to 64 copies are written out; the loop around more has as many in its body.
// CHECK-LABEL: gpu.func @many(
// CHECK: nvvm.mapa
// CHECK: nvvm.mapa
// CHECK: nvvm.elect.sync
// CHECK-COUNT-64: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK: nvvm.elect.sync
// CHECK: %[[END:.*]] = arith.constant 1 : index
// CHECK: scf.for %{{.*}} to %[[END]] step
// CHECK-COUNT-64: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK: }
// CHECK-COUNT-1: nvvm.cp.async.bulk.shared.cluster.shared.cta
// CHECK: nvvm.elect.sync
// CHECK: %[[OUTER:.*]] = arith.constant 4 : index
// CHECK: scf.for %{{.*}} to %[[OUTER]] step
// CHECK-COUNT-60: nvvm.cp.async.bulk.shared.cluster.shared.cta
gpu.func @many(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<bulk, chunk = 16, count = 64, loops = [64],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [32]>>}
      : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<bulk, chunk = 16, count = 65, loops = [65],
                              src = <start = 0, steps = [16]>, dst = <start = 0, steps = [32]>>}
      : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      {plan = #tile.copy_plan<bulk, chunk = 16, count = 240, loops = [4, 3, 20],
                              src = <start = 0, steps = [1024, 320, 16]>,
                              dst = <start = 0, steps = [2048, 640, 32]>>}
      : !tile to !tile, !bars
  gpu.return
}

}
