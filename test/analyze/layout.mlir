// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What layouts are cut into, both ways round.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// From column-major into four panels: two runs of 64 bytes.
// CHECK-LABEL: gpu.func @panels_of_two_rows(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [128]>
gpu.func @panels_of_two_rows(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x8xf16, #tile.layout<(8, 8) : (1, 8)>, #wg>, %dst: memref<8x8xf16, #tile.layout<(8, (2, 4)) : (1, (64, 8))>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x8xf16, #tile.layout<(8, 8) : (1, 8)>, #wg> to memref<8x8xf16, #tile.layout<(8, (2, 4)) : (1, (64, 8))>, #wg>, !bars
  gpu.return
}
// CHECK-LABEL: gpu.func @panels_of_two_rows_back(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2], src = <start = 0, steps = [128]>, dst = <start = 0, steps = [64]>
gpu.func @panels_of_two_rows_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x8xf16, #tile.layout<(8, (2, 4)) : (1, (64, 8))>, #wg>, %dst: memref<8x8xf16, #tile.layout<(8, 8) : (1, 8)>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x8xf16, #tile.layout<(8, (2, 4)) : (1, (64, 8))>, #wg> to memref<8x8xf16, #tile.layout<(8, 8) : (1, 8)>, #wg>, !bars
  gpu.return
}

// Row-major into two column panels.
// CHECK-LABEL: gpu.func @column_panels(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 16, loops = [8, 2], src = <start = 0, steps = [128, 64]>, dst = <start = 0, steps = [64, 512]>
gpu.func @column_panels(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x64xf16, #wg>, %dst: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x64xf16, #wg> to memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg>, !bars
  gpu.return
}
// CHECK-LABEL: gpu.func @column_panels_back(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 16, loops = [8, 2], src = <start = 0, steps = [64, 512]>, dst = <start = 0, steps = [128, 64]>
gpu.func @column_panels_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg>, %dst: memref<8x64xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg> to memref<8x64xf16, #wg>, !bars
  gpu.return
}

// Swizzled alike and in phase: whole blocks are one run.
// CHECK-LABEL: gpu.func @swizzled_alike(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 1024, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>
gpu.func @swizzled_alike(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// Swizzled against plain: units, never a flat copy.
// CHECK-LABEL: gpu.func @swizzled_to_plain(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16, count = 512, loops = [512], src = <start = 0, steps = [16], swizzle = [3, 4, 3]>, dst = <start = 0, steps = [16]>
gpu.func @swizzled_to_plain(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, #tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<64x64xf16, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64x64xf16, #tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<64x64xf16, #wg>, !bars
  gpu.return
}
// CHECK-LABEL: gpu.func @swizzled_to_plain_back(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16, count = 512, loops = [512], src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16], swizzle = [3, 4, 3]>
gpu.func @swizzled_to_plain_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, #wg>, %dst: memref<64x64xf16, #tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64x64xf16, #wg> to memref<64x64xf16, #tile.layout<(64, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// Two swizzles that agree in their lower two bits.
// CHECK-LABEL: gpu.func @swizzles_that_share_bits(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 32, loops = [32], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64], swizzle = [1, 6, 3]>
gpu.func @swizzles_that_share_bits(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <2, 3, 3>>, #wg>, %dst: memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <2, 3, 3>>, #wg> to memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}
// CHECK-LABEL: gpu.func @swizzles_that_share_bits_back(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 32, loops = [32], src = <start = 0, steps = [64], swizzle = [1, 6, 3]>, dst = <start = 0, steps = [64]>
gpu.func @swizzles_that_share_bits_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <2, 3, 3>>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<16x64xf16, #tile.layout<(16, 64) : (64, 1), swizzle = <2, 3, 3>>, #wg>, !bars
  gpu.return
}

// Elements of half a byte lie packed.
// CHECK-LABEL: gpu.func @packed_i4(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 32, count = 1,
gpu.func @packed_i4(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64xi4, #wg>, %dst: memref<64xi4, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xi4, #wg> to memref<64xi4, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @packed_f4(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 32, count = 1,
gpu.func @packed_f4(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64xf4E2M1FN, #wg>, %dst: memref<64xf4E2M1FN, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xf4E2M1FN, #wg> to memref<64xf4E2M1FN, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @complex(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 512, count = 1,
gpu.func @complex(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64xcomplex<f32>, #wg>, %dst: memref<64xcomplex<f32>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xcomplex<f32>, #wg> to memref<64xcomplex<f32>, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @vectors(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 1024, count = 1,
gpu.func @vectors(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64xvector<4xf32>, #wg>, %dst: memref<64xvector<4xf32>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xvector<4xf32>, #wg> to memref<64xvector<4xf32>, #wg>, !bars
  gpu.return
}

// A pitch of 24 elements of which 20 are copied.
// CHECK-LABEL: gpu.func @rows_of_80_bytes(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 80, count = 4, loops = [4], src = <start = 0, steps = [96]>, dst = <start = 0, steps = [96]>
gpu.func @rows_of_80_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x20xf32, #tile.layout<(4, 20) : (24, 1)>, #wg>, %dst: memref<4x20xf32, #tile.layout<(4, 20) : (24, 1)>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x20xf32, #tile.layout<(4, 20) : (24, 1)>, #wg> to memref<4x20xf32, #tile.layout<(4, 20) : (24, 1)>, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @sixty_floats(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 240, count = 1,
gpu.func @sixty_floats(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<3x20xf32, #wg>, %dst: memref<3x20xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<3x20xf32, #wg> to memref<3x20xf32, #wg>, !bars
  gpu.return
}

// Half a block moves as one; the bit that is left says which half.
// CHECK-LABEL: gpu.func @columns(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [128], swizzle = [1, 6, 3]>, dst = <start = 0, steps = [128], swizzle = [1, 6, 3]>>
gpu.func @columns(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  %from = tile.slice %src[0, 0] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>, #wg>
  %to = tile.slice %dst[0, 0] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// Columns from a multiple of 8 on.
// CHECK-LABEL: gpu.func @columns_from_multiple_of_8(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16, count = 32, loops = [8, 4], src = <start = 0, steps = [128, 16], swizzle = [3, 4, 3]>, dst = <start = 0, steps = [128, 16], swizzle = [3, 4, 3]>
gpu.func @columns_from_multiple_of_8(%rank: i32, %bars: !bars, %i: index, %j0: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  %j = tile.assume_multiple %j0, 8 : index
  %from = tile.slice %src[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>
  %to = tile.slice %dst[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// Columns from a multiple of 32 on.
// CHECK-LABEL: gpu.func @columns_from_multiple_of_32(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [128], swizzle = [1, 6, 3]>, dst = <start = 0, steps = [128], swizzle = [1, 6, 3]>
gpu.func @columns_from_multiple_of_32(%rank: i32, %bars: !bars, %i: index, %j0: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>, %dst: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>) kernel {
  %j = tile.assume_multiple %j0, 32 : index
  %from = tile.slice %src[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>
  %to = tile.slice %dst[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>, #wg>, !bars
  gpu.return
}

// A slot of a ring needs no promise.
// CHECK-LABEL: gpu.func @slot_of_a_ring(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 16384, count = 1,
gpu.func @slot_of_a_ring(%rank: i32, %bars: !bars, %i: index, %s: index)
    workgroup(%src: memref<4x128x64xf16, #wg>, %dst: memref<128x64xf16, #wg>) kernel {
  %slot = memref.subview %src[%s, 0, 0] [1, 128, 64] [1, 1, 1] : memref<4x128x64xf16, #wg> to memref<128x64xf16, strided<[64, 1], offset: ?>, #wg>
  tile.copy_async %slot to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<128x64xf16, strided<[64, 1], offset: ?>, #wg> to memref<128x64xf16, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @rows_of_a_packed_buffer(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 4, loops = [4], src = <start = 256, steps = [256]>, dst = <start = 0, steps = [128]>>
gpu.func @rows_of_a_packed_buffer(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x2x64xf16, #wg>, %dst: memref<4x1x64xf16, #wg>) kernel {
  %from = memref.subview %src[1, 0, 0] [4, 1, 64] [1, 1, 1] : memref<6x2x64xf16, #wg> to memref<4x1x64xf16, strided<[128, 64, 1], offset: 128>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x1x64xf16, strided<[128, 64, 1], offset: 128>, #wg> to memref<4x1x64xf16, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @one_row_of_a_packed_buffer(
// CHECK: plan = #tile.copy_plan<bulk, chunk = 128, count = 1, loops = [], src = <start = 896, steps = []>, dst = <start = 0, steps = []>>
gpu.func @one_row_of_a_packed_buffer(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x2x64xf16, #wg>, %dst: memref<1x1x64xf16, #wg>) kernel {
  %from = memref.subview %src[3, 1, 0] [1, 1, 64] [1, 1, 1] : memref<6x2x64xf16, #wg> to memref<1x1x64xf16, strided<[128, 64, 1], offset: 448>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x1x64xf16, strided<[128, 64, 1], offset: 448>, #wg> to memref<1x1x64xf16, #wg>, !bars
  gpu.return
}

// Modes that go on from each other are one, whatever their boundaries.
// CHECK-LABEL: gpu.func @factors_in_another_order(
// CHECK: #tile.copy_plan<bulk, chunk = 48, count = 1,
gpu.func @factors_in_another_order(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6xf64, #tile.layout<((2, 3)) : ((3, 1))>, #wg>,
              %dst: memref<6xf64, #tile.layout<((3, 2)) : ((2, 1))>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<6xf64, #tile.layout<((2, 3)) : ((3, 1))>, #wg>
        to memref<6xf64, #tile.layout<((3, 2)) : ((2, 1))>, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @one_side_in_one_step(
// CHECK: #tile.copy_plan<bulk, chunk = 48, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [48]>>
gpu.func @one_side_in_one_step(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<48xf64, #tile.layout<((8, 6)) : ((8, 1))>, #wg>,
              %dst: memref<48xf64, #tile.layout<((3, 16)) : ((16, 1))>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<48xf64, #tile.layout<((8, 6)) : ((8, 1))>, #wg>
        to memref<48xf64, #tile.layout<((3, 16)) : ((16, 1))>, #wg>, !bars
  gpu.return
}

}
