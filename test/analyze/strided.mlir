// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs of strided layouts and the copies that they are cut into, in bytes. A comment gives the tiles
// as extents:strides, in elements.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// (128,64):(64,1) to the same
// CHECK-LABEL: gpu.func @contiguous(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16384, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @contiguous(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128x64xf16, #wg>, %dst: memref<128x64xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<128x64xf16, #wg> to memref<128x64xf16, #wg>, !bars
  gpu.return
}

// (256):(1) to the same
// CHECK-LABEL: gpu.func @vector(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @vector(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<256xf16, #wg>, %dst: memref<256xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<256xf16, #wg> to memref<256xf16, #wg>, !bars
  gpu.return
}

// (8,128):(256,1) to the same
// CHECK-LABEL: gpu.func @padded_alike(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 256, count = 8, loops = [8], src = <start = 0, steps = [512]>, dst = <start = 0, steps = [512]>>
gpu.func @padded_alike(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x128xf16, strided<[256, 1]>, #wg>,
              %dst: memref<8x128xf16, strided<[256, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x128xf16, strided<[256, 1]>, #wg> to memref<8x128xf16, strided<[256, 1]>, #wg>, !bars
  gpu.return
}

// (8,128):(256,1) to (8,128):(512,1)
// CHECK-LABEL: gpu.func @padded_differently(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 256, count = 8, loops = [8], src = <start = 0, steps = [512]>, dst = <start = 0, steps = [1024]>>
gpu.func @padded_differently(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x128xf16, strided<[256, 1]>, #wg>,
              %dst: memref<8x128xf16, strided<[512, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x128xf16, strided<[256, 1]>, #wg> to memref<8x128xf16, strided<[512, 1]>, #wg>, !bars
  gpu.return
}

// (8,128):(128,1) to (8,128):(256,1)
// CHECK-LABEL: gpu.func @contiguous_to_padded(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 256, count = 8, loops = [8], src = <start = 0, steps = [256]>, dst = <start = 0, steps = [512]>>
gpu.func @contiguous_to_padded(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x128xf16, #wg>,
              %dst: memref<8x128xf16, strided<[256, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x128xf16, #wg> to memref<8x128xf16, strided<[256, 1]>, #wg>, !bars
  gpu.return
}

// (2,8,64):(1024,128,1) to (2,8,64):(1024,64,1)
// CHECK-LABEL: gpu.func @two_loops(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 16, loops = [2, 8], src = <start = 0, steps = [2048, 256]>, dst = <start = 0, steps = [2048, 128]>>
gpu.func @two_loops(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<2x8x64xf16, strided<[1024, 128, 1]>, #wg>,
              %dst: memref<2x8x64xf16, strided<[1024, 64, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<2x8x64xf16, strided<[1024, 128, 1]>, #wg>
        to memref<2x8x64xf16, strided<[1024, 64, 1]>, #wg>, !bars
  gpu.return
}

// (2,8,64):(1024,128,1) to (2,8,64):(2048,256,1): the loops of both sides go on alike, and are one.
// CHECK-LABEL: gpu.func @two_loops_that_merge(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 16, loops = [16], src = <start = 0, steps = [256]>, dst = <start = 0, steps = [512]>>
gpu.func @two_loops_that_merge(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<2x8x64xf16, strided<[1024, 128, 1]>, #wg>,
              %dst: memref<2x8x64xf16, strided<[2048, 256, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<2x8x64xf16, strided<[1024, 128, 1]>, #wg>
        to memref<2x8x64xf16, strided<[2048, 256, 1]>, #wg>, !bars
  gpu.return
}

// (64,1,32):(32,7,1) to (64,1,32):(32,2048,1): a stride of extent 1 means nothing.
// CHECK-LABEL: gpu.func @extent_of_one(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 4096, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @extent_of_one(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x1x32xf16, strided<[32, 7, 1]>, #wg>,
              %dst: memref<64x1x32xf16, strided<[32, 2048, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64x1x32xf16, strided<[32, 7, 1]>, #wg>
        to memref<64x1x32xf16, strided<[32, 2048, 1]>, #wg>, !bars
  gpu.return
}

// (4,8,8):(64,1,8) to the same: contiguous in another order.
// CHECK-LABEL: gpu.func @contiguous_in_another_order(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @contiguous_in_another_order(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x8x8xf16, strided<[64, 1, 8]>, #wg>,
              %dst: memref<4x8x8xf16, strided<[64, 1, 8]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x8x8xf16, strided<[64, 1, 8]>, #wg>
        to memref<4x8x8xf16, strided<[64, 1, 8]>, #wg>, !bars
  gpu.return
}

// (4,64):(0,1) to (4,64):(64,1)
// CHECK-LABEL: gpu.func @broadcast_source(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 256, count = 4, loops = [4], src = <start = 0, steps = [0]>, dst = <start = 0, steps = [256]>>
gpu.func @broadcast_source(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x64xf32, strided<[0, 1]>, #wg>, %dst: memref<4x64xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x64xf32, strided<[0, 1]>, #wg> to memref<4x64xf32, #wg>, !bars
  gpu.return
}

// (0,64)
// CHECK-LABEL: gpu.func @no_elements(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 0, count = 0, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @no_elements(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<0x64xf16, #wg>, %dst: memref<0x64xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<0x64xf16, #wg> to memref<0x64xf16, #wg>, !bars
  gpu.return
}

// () and (1): one element, of 16 bytes.
// CHECK-LABEL: gpu.func @one_element(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @one_element(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<i128, #wg>, %dst: memref<i128, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<i128, #wg> to memref<i128, #wg>, !bars
  gpu.return
}

// (6,3):(3,1) of 8 bytes: 24 bytes a row are no multiple of 16, 144 in one piece are.
// CHECK-LABEL: gpu.func @rows_of_24_bytes(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 144, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @rows_of_24_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x3xi64, #wg>, %dst: memref<6x3xi64, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<6x3xi64, #wg> to memref<6x3xi64, #wg>, !bars
  gpu.return
}

// 1048560 bytes, the most that one phase takes in multiples of 16.
// CHECK-LABEL: gpu.func @as_much_as_one_phase_counts(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 1048560, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @as_much_as_one_phase_counts(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<1048560xi8, #wg>, %dst: memref<1048560xi8, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1048560xi8, #wg> to memref<1048560xi8, #wg>, !bars
  gpu.return
}

// (8,16):(-16,1) at 112 to the same: what runs backwards on both sides is one run forwards.
// CHECK-LABEL: gpu.func @backwards_on_both_sides(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
gpu.func @backwards_on_both_sides(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<128xf32, #wg>) kernel {
  %src_view = memref.reinterpret_cast %src to offset: [112], sizes: [8, 16], strides: [-16, 1]
      : memref<128xf32, #wg> to memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>
  %dst_view = memref.reinterpret_cast %dst to offset: [112], sizes: [8, 16], strides: [-16, 1]
      : memref<128xf32, #wg> to memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>
  tile.copy_async %src_view to %dst_view cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>
        to memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>, !bars
  gpu.return
}

// (8,16):(16,1) to (8,16):(-16,1) at 112
// CHECK-LABEL: gpu.func @rows_in_reverse(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 448, steps = [-64]>, dst = <start = 0, steps = [64]>>
gpu.func @rows_in_reverse(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, #wg>, %dst: memref<128xf32, #wg>) kernel {
  %dst_view = memref.reinterpret_cast %dst to offset: [112], sizes: [8, 16], strides: [-16, 1]
      : memref<128xf32, #wg> to memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>
  tile.copy_async %src to %dst_view cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, strided<[-16, 1], offset: 112>, #wg>, !bars
  gpu.return
}

}
