// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stores of 16, 8 or 4 bytes: as large as both sides are proved to allow, in the order that costs least.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!eight = memref<64x4xf16, strided<[12, 1]>, #wg>
!four = memref<64x2xf16, strided<[6, 1]>, #wg>
!shifted = memref<64xf32, strided<[1], offset: 1>, #wg>
!lone = memref<128x16xf16, strided<[128, 1]>, #wg>
!rows = memref<64x64xf32, #wg>
!columns = memref<64x64xf32, strided<[1, 64]>, #wg>
!rows16 = memref<32x64xf16, #wg>
!columns16 = memref<32x64xf16, strided<[1, 32]>, #wg>
!plain = memref<128x64xf16, #wg>
!swizzled = memref<128x64xf16, #tile.layout<(128, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @runs_of_8_bytes(
// CHECK: #tile.copy_plan<st_async, chunk = 8, count = 64, loops = [64], src = <start = 0, steps = [24]>, dst = <start = 0, steps = [24]>, threads = 64, cycles = {{[0-9]+}}>
gpu.func @runs_of_8_bytes(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !eight, %dst: !eight)
    kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !eight to !eight, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @runs_of_4_bytes(
// CHECK: #tile.copy_plan<st_async, chunk = 4, count = 64, loops = [64], src = <start = 0, steps = [12]>, dst = <start = 0, steps = [12]>, threads = 32,
gpu.func @runs_of_4_bytes(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !four, %dst: !four)
    kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !four to !four, !bars
  gpu.return
}

// A long run at an odd place is cut as its place allows.
// CHECK-LABEL: gpu.func @shifted(
// CHECK: #tile.copy_plan<st_async, chunk = 4, count = 64, loops = [64], src = <start = 4, steps = [4]>, dst = <start = 4, steps = [4]>,
gpu.func @shifted(%rank: i32, %bars: !bars, %i: index)
    workgroup(%from: memref<65xf32, #wg>, %to: memref<65xf32, #wg>)
    kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %src = memref.reinterpret_cast %from to offset: [1], sizes: [64], strides: [1]
      : memref<65xf32, #wg> to !shifted
  %dst = memref.reinterpret_cast %to to offset: [1], sizes: [64], strides: [1]
      : memref<65xf32, #wg> to !shifted
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !shifted to !shifted, !bars
  gpu.return
}

// 32 bytes alone in each of 128 lines take 3 clk a line, twice what their bytes take.
// CHECK-LABEL: gpu.func @lone_pairs(
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 256, loops = [128, 2], src = <start = 0, steps = [256, 16]>, dst = <start = 0, steps = [256, 16]>, threads = 256, cycles = 386>
gpu.func @lone_pairs(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !lone, %dst: !lone)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !lone to !lone, !bars
  gpu.return
}

// 16 bytes of a column are gathered from four rows. Four lanes fill half a line, which is what the link
// takes in the time that a line takes at least, and such fours follow the source's row, so that no more
// lanes meet in a bank.
// CHECK-LABEL: gpu.func @rows_to_columns(
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [4, 64, 4], src = <start = 0, steps = [4096, 4, 1024], gather = [4, 256]>, dst = <start = 0, steps = [64, 256, 16]>, threads = 256, cycles = 770>
gpu.func @rows_to_columns(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !columns)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !rows to !columns, !bars
  gpu.return
}

// One warp waits for the banks of the source: pairs, of which two meet in a bank, keep them busy for half as
// long as fours. The link then takes as long.
// CHECK-LABEL: gpu.func @rows_to_columns_by_a_warp(
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [8, 64, 2], src = <start = 0, steps = [2048, 4, 1024], gather = [4, 256]>, dst = <start = 0, steps = [32, 256, 16]>, threads = 32, cycles = 1538>
gpu.func @rows_to_columns_by_a_warp(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !rows, %dst: !columns) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !rows to !columns, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @elements_of_2_bytes(
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 256, {{.*}}, gather = [2, 128]>,
gpu.func @elements_of_2_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !rows16, %dst: !columns16)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !rows16 to !columns16, !bars
  gpu.return
}

// A swizzle permutes blocks, and is its own inverse: in both directions the lanes follow the
// destination's order, and the source is swizzled.
// CHECK-LABEL: gpu.func @swizzles(
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [{{.*}}], src = <start = 0, steps = [{{.*}}], swizzle = [3, 4, 3]>, dst = <start = 0, steps = [{{[^]]*}}]>, threads = 256, cycles = 770>
// CHECK: #tile.copy_plan<st_async, chunk = 16, count = 1024, loops = [{{.*}}], src = <start = 0, steps = [{{.*}}], swizzle = [3, 4, 3]>, dst = <start = 0, steps = [{{[^]]*}}]>, threads = 256, cycles = 770>
gpu.func @swizzles(%rank: i32, %bars: !bars, %i: index) workgroup(%plain: !plain, %swizzled: !swizzled)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %swizzled to %plain cta(%rank) mbarrier(%bars[%i]) issue(cta)
      : !swizzled to !plain, !bars
  tile.copy_async %plain to %swizzled cta(%rank) mbarrier(%bars[%i]) issue(cta)
      : !plain to !swizzled, !bars
  gpu.return
}

// Every other padded row begins 2 bytes past a word, so the source is read by elements; the destination
// takes whole words.
// CHECK-LABEL: gpu.func @padded_rows(
// CHECK: #tile.copy_plan<st_async, chunk = 4, count = 2048, loops = [64, 32], src = <start = 0, steps = [130, 4], gather = [2, 2]>, dst = <start = 0, steps = [128, 4]>,
gpu.func @padded_rows(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64x64xf16, strided<[65, 1]>, #gpu.address_space<workgroup>>,
              %dst: memref<64x64xf16, #gpu.address_space<workgroup>>)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta)
      : memref<64x64xf16, strided<[65, 1]>, #gpu.address_space<workgroup>>
        to memref<64x64xf16, #gpu.address_space<workgroup>>, !bars
  gpu.return
}

// Where the source begins at its second element, the same.
// CHECK-LABEL: gpu.func @from_element_1(
// CHECK: #tile.copy_plan<st_async, chunk = 4, count = 32, loops = [32], src = <start = 2, steps = [4], gather = [2, 2]>, dst = <start = 0, steps = [4]>,
gpu.func @from_element_1(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<72xf16, #gpu.address_space<workgroup>>,
              %dst: memref<64xf16, #gpu.address_space<workgroup>>)
    kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  %from = memref.subview %src[1] [64] [1] : memref<72xf16, #gpu.address_space<workgroup>>
      to memref<64xf16, strided<[1], offset: 1>, #gpu.address_space<workgroup>>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      : memref<64xf16, strided<[1], offset: 1>, #gpu.address_space<workgroup>>
        to memref<64xf16, #gpu.address_space<workgroup>>, !bars
  gpu.return
}

// Four bytes of the destination come from two modes of the source: pairs 3 bytes apart, 64 bytes
// from one pair to the next. A buffer that the kernel declares is aligned for the stores, not for the loads.
// CHECK-LABEL: gpu.func @bytes_of_two_modes(
// CHECK-SAME: %{{.*}} : memref<2x2x3xi8, strided<[2, 1, 4]>, #gpu.address_space<workgroup>> {llvm.align = 4 : i64}
// CHECK: #tile.copy_plan<st_async, chunk = 4, count = 3, loops = [3], src = <start = 0, steps = [7], gather = [1, 3, 2, 64]>, dst = <start = 0, steps = [4]>,
gpu.func @bytes_of_two_modes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<2x2x3xi8, strided<[64, 3, 7]>, #gpu.address_space<workgroup>>,
              %dst: memref<2x2x3xi8, strided<[2, 1, 4]>, #gpu.address_space<workgroup>>)
    kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      : memref<2x2x3xi8, strided<[64, 3, 7]>, #gpu.address_space<workgroup>>
        to memref<2x2x3xi8, strided<[2, 1, 4]>, #gpu.address_space<workgroup>>, !bars
  gpu.return
}

}
