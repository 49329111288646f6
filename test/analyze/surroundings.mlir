// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a copy may stand, and which CTAs it may name there.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @rank_at_run_time_in_a_cluster_of_4(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
gpu.func @rank_at_run_time_in_a_cluster_of_4(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 4, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @last_rank_of_a_cluster_of_2_2_1(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
gpu.func @last_rank_of_a_cluster_of_2_2_1(%bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 2, 1>} {
  %rank = arith.constant 3 : i32
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @rank_15_in_a_cluster_that_is_not_known(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
gpu.func @rank_15_in_a_cluster_that_is_not_known(%bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel {
  %rank = arith.constant 15 : i32
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}

}

// The attributions of a gpu.launch cannot say how they are aligned; a memref.global can.
memref.global "private" @src : !tile
memref.global "private" @dst : !tile

// CHECK-LABEL: func.func @launch_body(
// CHECK: gpu.launch clusters
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
func.func @launch_body(%rank: i32, %bars: !bars, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %src = memref.get_global @src : !tile
    %dst = memref.get_global @dst : !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}

// CHECK-LABEL: func.func @launch_with_a_cluster_of_run_time(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
func.func @launch_with_a_cluster_of_run_time(%rank: i32, %bars: !bars, %i: index, %n: index) {
  %c1 = arith.constant 1 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %n, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %src = memref.get_global @src : !tile
    %dst = memref.get_global @dst : !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}
