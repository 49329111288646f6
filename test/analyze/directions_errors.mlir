// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies with a side in global memory that cannot be proved. The control of each rule keeps it, and differs in nothing
// else.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!tile = memref<8x64xf16, #wg>
!rows = memref<8x64xf16, strided<[?, 1]>>

gpu.module @kernels {

// The base is at a multiple of 16 bytes.
gpu.func @base_control(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}
gpu.func @base_of_8_bytes(%x: memref<8x64xf16> {llvm.align = 8 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 8 bytes}}
  // expected-note @+1 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}

// So is every stride.
gpu.func @stride_control(%y: !rows {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>}) workgroup(%tile: !tile) kernel {
  tile.copy_async %tile to %y : !tile to !rows
  gpu.return
}
gpu.func @stride_of_4(%y: !rows {llvm.align = 16 : i64, tile.multiple_of = array<i64: 4, 1>}) workgroup(%tile: !tile) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination stride of dimension 0, which only the run time knows, must be a multiple of 16 bytes, got a multiple of 8 bytes}}
  // expected-note @+1 {{promise it by tile.multiple_of on %arg0, with 8 for dimension 0}}
  tile.copy_async %tile to %y : !tile to !rows
  gpu.return
}

// And the offset, whose parts count by the strides that they are multiplied by.
gpu.func @offset_control(%x: memref<?x?xf16> {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>}, %row: index,
                         %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  %part = memref.subview %x[%row, 64] [8, 64] [1, 1] : memref<?x?xf16> to memref<8x64xf16, strided<[?, 1], offset: ?>>
  tile.copy_async %part to %tile mbarrier(%bars[%i]) : memref<8x64xf16, strided<[?, 1], offset: ?>> to !tile, !bars
  gpu.return
}
gpu.func @offset_of_any_column(%x: memref<?x?xf16> {llvm.align = 16 : i64, tile.multiple_of = array<i64: 8, 1>}, %column: index,
                               %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  %part = memref.subview %x[64, %column] [8, 64] [1, 1] : memref<?x?xf16> to memref<8x64xf16, strided<[?, 1], offset: ?>>
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 2 bytes: (%arg0) * the stride of dimension 0 + %arg1}}
  // expected-note @+1 {{make the offset a multiple of 8 elements by a multiplication in sight, or promise it with tile.assume_multiple %arg1, 8}}
  tile.copy_async %part to %tile mbarrier(%bars[%i]) : memref<8x64xf16, strided<[?, 1], offset: ?>> to !tile, !bars
  gpu.return
}

// Runs are of dimensions whose strides are constants.
gpu.func @innermost_stride(%x: memref<8x64xf16, strided<[64, ?]>> {llvm.align = 16 : i64, tile.multiple_of = array<i64: 64, 8>},
                           %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 2 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+2 {{the source is strided<[64, ?]> and the destination #tile.layout<(8, 64) : (64, 1)>}}
  // expected-note @+1 {{choose layouts that agree on runs of a multiple of 16 bytes in the dimensions whose strides are constants}}
  tile.copy_async %x to %tile mbarrier(%bars[%i]) : memref<8x64xf16, strided<[64, ?]>> to !tile, !bars
  gpu.return
}

// Shared memory has strides that are constants.
gpu.func @runtime_stride_in_shared_memory(%y: memref<8x64xf16> {llvm.align = 16 : i64}, %tile: memref<8x64xf16, strided<[?, 1]>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op source must have a layout of constant strides, got memref<8x64xf16, strided<[?, 1]>, #gpu.address_space<workgroup>>}}
  // expected-note @+1 {{give the memref a strided layout with static strides}}
  tile.copy_async %tile to %y : memref<8x64xf16, strided<[?, 1]>, #wg> to memref<8x64xf16>
  gpu.return
}

// Global memory is what the kernel is handed, not what one thread has, nor a cast of shared memory.
gpu.func @of_one_thread() workgroup(%tile: !tile) kernel {
  %y = memref.alloca() {alignment = 16 : i64} : memref<8x64xf16>
  // expected-error @+2 {{'tile.copy_async' op destination must be in global memory, got memory of one thread}}
  // expected-note @+1 {{pass the buffer to the kernel}}
  tile.copy_async %tile to %y : !tile to memref<8x64xf16>
  gpu.return
}
gpu.func @cast_of_shared_memory() workgroup(%tile: !tile, %other: !tile) kernel {
  %y = memref.memory_space_cast %other : !tile to memref<8x64xf16>
  // expected-error @+2 {{'tile.copy_async' op destination must be in global memory, got a cast of other memory}}
  // expected-note @+1 {{name the buffer itself, in its own memory space}}
  tile.copy_async %tile to %y : !tile to memref<8x64xf16>
  gpu.return
}

// Registers are stored into workgroup memory only, and they overwrite.
gpu.func @by_st_async(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile)
    kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into st_async copies: they go from workgroup memory to that of a CTA, got a source in global memory}}
  // expected-note @+1 {{bulk would copy it: drop the variant}}
  tile.copy_async %x to %tile mbarrier(%bars[%i]) issue(warp) {variant = "st_async"} : memref<8x64xf16> to !tile, !bars
  gpu.return
}

// A constant mask names CTAs that there are.
gpu.func @mask_control(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile)
    kernel attributes {known_cluster_size = array<i32: 4, 1, 1>} {
  %mask = arith.constant 15 : i16
  tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}
gpu.func @mask_of_another_cta(%x: memref<8x64xf16> {llvm.align = 16 : i64}, %bars: !bars, %i: index) workgroup(%tile: !tile)
    kernel attributes {known_cluster_size = array<i32: 4, 1, 1>} {
  %mask = arith.constant 17 : i16
  // expected-error @+2 {{'tile.copy_async' op mask must name CTAs 0 to 3 in a cluster of 4, got rank 4}}
  // expected-note @+1 {{drop the bits from 4 on, or launch larger clusters}}
  tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) : memref<8x64xf16> to !tile, !bars
  gpu.return
}

}
