// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The analysis looks through views down to the buffer: `start` counts from there, and the buffer's
// alignment is what counts.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// f32 [4:20] to [0:16]
// CHECK-LABEL: gpu.func @subview(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 16, steps = []>, dst = <start = 0, steps = []>>
gpu.func @subview(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<32xf32, #wg>, %dst: memref<32xf32, #wg>) kernel {
  %from = memref.subview %src[4] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 4>, #wg>
  %to = memref.subview %dst[0] [16] [1] : memref<32xf32, #wg> to memref<16xf32, strided<[1]>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 4>, #wg> to memref<16xf32, strided<[1]>, #wg>, !bars
  gpu.return
}

// Every second row, from row 2 on, of the right half of a plane.
// CHECK-LABEL: gpu.func @subview_of_subview(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 3, loops = [3], src = <start = 320, steps = [256]>, dst = <start = 0, steps = [64]>>
gpu.func @subview_of_subview(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<2x8x32xf32, #wg>, %dst: memref<3x16xf32, #wg>) kernel {
  %half = memref.subview %src[0, 0, 16] [1, 8, 16] [1, 1, 1]
      : memref<2x8x32xf32, #wg> to memref<8x16xf32, strided<[32, 1], offset: 16>, #wg>
  %from = memref.subview %half[2, 0] [3, 16] [2, 1]
      : memref<8x16xf32, strided<[32, 1], offset: 16>, #wg>
        to memref<3x16xf32, strided<[64, 1], offset: 80>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<3x16xf32, strided<[64, 1], offset: 80>, #wg> to memref<3x16xf32, #wg>, !bars
  gpu.return
}

// A run-time offset is an operand of the legalization; `start` is the part that is known.
// CHECK-LABEL: gpu.func @subview_at_run_time(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 32, steps = []>, dst = <start = 0, steps = []>>
gpu.func @subview_at_run_time(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 8] [1, 16] [1, 1]
      : memref<8x32xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Elements 4 * %i, and then 8 * %i + 4 and 16 << %i: each in sight a multiple of 16 bytes.
// CHECK-LABEL: gpu.func @offsets_in_sight(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @offsets_in_sight(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c2 = arith.constant 2 : index
  %product = arith.muli %i, %c4 : index
  %by_product = memref.subview %src[%product] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %by_product to %dst cta(%rank) mbarrier(%bars[%c0])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  %eights = arith.muli %i, %c8 : index
  %sum = arith.addi %eights, %c4 : index
  %by_sum = memref.subview %src[%sum] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %by_sum to %dst cta(%rank) mbarrier(%bars[%c0])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  %shift = arith.shli %i, %c2 : index
  %by_shift = memref.subview %src[%shift] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %by_shift to %dst cta(%rank) mbarrier(%bars[%c0])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// A reinterpret_cast counts its offset from the buffer, whatever it is a view of.
// CHECK-LABEL: gpu.func @reinterpret_cast(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 4, loops = [4], src = <start = 32, steps = [128]>, dst = <start = 0, steps = [64]>>
gpu.func @reinterpret_cast(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<256xf32, #wg>, %dst: memref<4x16xf32, #wg>) kernel {
  %half = memref.subview %src[128] [128] [1]
      : memref<256xf32, #wg> to memref<128xf32, strided<[1], offset: 128>, #wg>
  %from = memref.reinterpret_cast %half to offset: [8], sizes: [4, 16], strides: [32, 1]
      : memref<128xf32, strided<[1], offset: 128>, #wg>
        to memref<4x16xf32, strided<[32, 1], offset: 8>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x16xf32, strided<[32, 1], offset: 8>, #wg> to memref<4x16xf32, #wg>, !bars
  gpu.return
}

// A cast forgets the strides and the offset in the type; the analysis finds them again.
// CHECK-LABEL: gpu.func @cast(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 64, steps = [128]>, dst = <start = 0, steps = [64]>>
gpu.func @cast(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %half = memref.subview %src[0, 16] [8, 16] [1, 1]
      : memref<8x32xf32, #wg> to memref<8x16xf32, strided<[32, 1], offset: 16>, #wg>
  %from = memref.cast %half : memref<8x16xf32, strided<[32, 1], offset: 16>, #wg>
      to memref<8x16xf32, strided<[?, ?], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[?, ?], offset: ?>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// The elements of a view's buffer are bytes, those of the view are not.
// CHECK-LABEL: gpu.func @view(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1, loops = [], src = <start = 64, steps = []>, dst = <start = 0, steps = []>>
gpu.func @view(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %c1024 = arith.constant 1024 : index
  %src = memref.view %bytes[%c1024][] : memref<2048xi8, #wg> to memref<9x16xf32, #wg>
  %from = memref.subview %src[1, 0] [8, 16] [1, 1]
      : memref<9x16xf32, #wg> to memref<8x16xf32, strided<[16, 1], offset: 16>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[16, 1], offset: 16>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @view_at_run_time(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @view_at_run_time(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %c512 = arith.constant 512 : index
  %shift = arith.muli %i, %c512 : index
  %src = memref.view %bytes[%shift][] : memref<2048xi8, #wg> to memref<8x16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @collapse_shape(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 4, loops = [4], src = <start = 256, steps = [256]>, dst = <start = 0, steps = [128]>>
gpu.func @collapse_shape(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<5x2x32xf32, #wg>, %dst: memref<4x32xf32, #wg>) kernel {
  %half = memref.subview %src[1, 0, 0] [4, 1, 32] [1, 1, 1]
      : memref<5x2x32xf32, #wg> to memref<4x1x32xf32, strided<[64, 32, 1], offset: 64>, #wg>
  %from = memref.collapse_shape %half [[0], [1, 2]]
      : memref<4x1x32xf32, strided<[64, 32, 1], offset: 64>, #wg>
        into memref<4x32xf32, strided<[64, 1], offset: 64>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x32xf32, strided<[64, 1], offset: 64>, #wg> to memref<4x32xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @expand_shape(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 16, steps = [80]>>
gpu.func @expand_shape(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<8x20xf32, #wg>) kernel {
  %from = memref.expand_shape %src [[0, 1]] output_shape [8, 16]
      : memref<128xf32, #wg> into memref<8x16xf32, #wg>
  %to = memref.subview %dst[0, 4] [8, 16] [1, 1]
      : memref<8x20xf32, #wg> to memref<8x16xf32, strided<[20, 1], offset: 4>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, strided<[20, 1], offset: 4>, #wg>, !bars
  gpu.return
}

}
