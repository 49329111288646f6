// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans of copies with a side in global memory. A step that only the run time knows is `?`; what divides it comes from
// promises of kernel arguments, from constants and from tile.assume_multiple.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<8x64xf16, #wg>
!rows = memref<8x64xf16, strided<[?, 1], offset: ?>>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @load_at_once(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 1024, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @load_at_once(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}

// The extents of a buffer need not be known where its strides are.
// CHECK-LABEL: gpu.func @store_rows(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 1024, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @store_rows(%y: memref<?x64xf16> {llvm.align = 16 : i64}, %row: index) workgroup(%tile: !tile) kernel {
  %rows = memref.subview %y[%row, 0] [8, 64] [1, 1] : memref<?x64xf16> to memref<8x64xf16, strided<[64, 1], offset: ?>>
  tile.copy_async %tile to %rows : !tile to memref<8x64xf16, strided<[64, 1], offset: ?>>
  gpu.return
}

// A constant pitch is a step like any other.
// CHECK-LABEL: gpu.func @load_padded(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [8], src = <start = 0, steps = [208]>
// CHECK-SAME: dst = <start = 0, steps = [128]>>
gpu.func @load_padded(%x: memref<8x64xf16, strided<[104, 1]>> {llvm.align = 16 : i64}, %bars: !bars, %i: index)
    workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<8x64xf16, strided<[104, 1]>> to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @load_runtime_stride(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [8], src = <start = 0, steps = [?], strides = [0, 2]>, dst = <start = 0, steps = [128]>>
gpu.func @load_runtime_stride(%x: memref<?x?xf16> {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>},
                              %row: index, %column: index, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  %eights = tile.assume_multiple %column, 8 : index
  %part = memref.subview %x[%row, %eights] [8, 64] [1, 1] : memref<?x?xf16> to !rows
  tile.copy_async %part to %tile mbarrier(%bars[%i]) : !rows to !tile, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @store_runtime_stride(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [8], src = <start = 0, steps = [128]>, dst = <start = 0, steps = [?], strides = [0, 2]>>
gpu.func @store_runtime_stride(%y: memref<?x?xf16> {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>},
                               %row: index) workgroup(%tile: !tile) kernel {
  %part = memref.subview %y[%row, 0] [8, 64] [1, 1] : memref<?x?xf16> to memref<8x64xf16, strided<[?, 1], offset: ?>>
  tile.copy_async %tile to %part : !tile to !rows
  gpu.return
}

// A promise of the offset, where the type leaves that open; two run-time strides are two loops.
// CHECK-LABEL: gpu.func @two_strides(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 32, count = 8, loops = [2, 4], src = <start = 0, steps = [?, ?], strides = [0, 4, 1, 4]>, dst = <start = 0, steps = [128, 32]>>
gpu.func @two_strides(%x: memref<2x4x8xf32, strided<[?, ?, 1], offset: ?>>
                          {llvm.align = 16 : i64, tile.multiple_of = array<i64: 4, 12, 1>, tile.offset_multiple_of = 4 : i64},
                      %bars: !bars, %i: index) workgroup(%tile: memref<2x4x8xf32, #wg>) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<2x4x8xf32, strided<[?, ?, 1], offset: ?>> to memref<2x4x8xf32, #wg>, !bars
  gpu.return
}

// A stride of a single element counts for nothing, and constant inner extents divide the outer strides.
// CHECK-LABEL: gpu.func @known_inner_extents(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 256, count = 4, loops = [4], src = <start = 0, steps = [?], strides = [1, 4]>, dst = <start = 0, steps = [256]>>
gpu.func @known_inner_extents(%x: memref<?x?x?x64xf32> {llvm.align = 16 : i64}, %a: index, %b: index, %bars: !bars, %i: index)
    workgroup(%tile: memref<1x4x1x64xf32, #wg>) kernel {
  %part = memref.subview %x[%a, %b, 0, 0] [1, 4, 1, 64] [1, 1, 1, 1]
      : memref<?x?x?x64xf32> to memref<1x4x1x64xf32, strided<[?, ?, 64, 1], offset: ?>>
  tile.copy_async %part to %tile mbarrier(%bars[%i])
      : memref<1x4x1x64xf32, strided<[?, ?, 64, 1], offset: ?>> to memref<1x4x1x64xf32, #wg>, !bars
  gpu.return
}

// Rows that the run time places are cut where the swizzle of the other side may cut them.
// CHECK-LABEL: gpu.func @to_a_swizzle(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16, count = 64, loops = [8, 8], src = <start = 0, steps = [?, 16], strides = [0, 2]>, dst = <start = 0, steps = [128, 16], swizzle = [3, 4, 3]>>
gpu.func @to_a_swizzle(%x: !rows {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>, tile.offset_multiple_of = 8 : i64},
                       %bars: !bars, %i: index)
    workgroup(%tile: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i])
      : !rows to memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// The other side may have several modes where one has a run-time stride.
// CHECK-LABEL: gpu.func @to_nested_modes(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [2, 4], src = <start = 0, steps = [?, ?], strides = [0, 8, 0, 2]>, dst = <start = 0, steps = [128, 256]>>
gpu.func @to_nested_modes(%x: !rows {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>, tile.offset_multiple_of = 8 : i64},
                          %bars: !bars, %i: index)
    workgroup(%tile: memref<8x64xf16, #tile.layout<((2, 4), 64) : ((64, 128), 1)>, #wg>) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i])
      : !rows to memref<8x64xf16, #tile.layout<((2, 4), 64) : ((64, 128), 1)>, #wg>, !bars
  gpu.return
}

// Loads go to peers and to several CTAs by the same plans.
// CHECK-LABEL: gpu.func @to_several(
// CHECK: ctas(%{{.*}}) mbarrier({{.*}}plan = #tile.copy_plan<bulk, chunk = 1024, count = 1,
// CHECK: cta(%{{.*}}) mbarrier({{.*}}plan = #tile.copy_plan<bulk, chunk = 1024, count = 1,
gpu.func @to_several(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %mask: i16, %rank: i32, %bars: !bars, %i: index)
    workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  tile.copy_async %x to %tile cta(%rank) mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}

}
