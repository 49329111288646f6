// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warps must be whole: elect.sync waits for every lane. So the block size must be known.
// RUN: tile-opt %s -tile-analyze-layout -split-input-file -verify-diagnostics

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
gpu.func @control(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 16, 3, 2>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !tile to !tile, !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !tile to !tile, !bars
  gpu.return
}
gpu.func @not_known(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(thread) : !tile to !tile, !bars
  // expected-error @+3 {{'tile.copy_async' op issue(warp) must be in a block whose size is known to be a multiple of 32, got a size that is not known}}
  // expected-note @+2 {{give the gpu.func known_block_size = array<i32: x, y, z> with x * y * z a multiple of 32}}
  // expected-note @+1 {{issue(thread) would copy it by bulk}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !tile to !tile, !bars
  gpu.return
}
gpu.func @no_multiple(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 16, 3, 1>} {
  // expected-error @+3 {{'tile.copy_async' op issue(cta) must be in a block whose size is known to be a multiple of 32, got 48 threads}}
  // expected-note @+2 {{give the gpu.func known_block_size}}
  // expected-note @+1 {{issue(thread) would copy it by bulk}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) : !tile to !tile, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// A forced variant that cannot be says why.
gpu.module @forced {
gpu.func @control(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) {variant = "st_async"}
      : !tile to !tile, !bars
  gpu.return
}
gpu.func @one_thread(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into st_async copies: they are spread over the threads of a warp or a CTA, got issue(thread)}}
  // expected-note @+2 {{let a whole warp or CTA execute the op and say issue(warp) or issue(cta)}}
  // expected-note @+1 {{bulk would copy it: drop the variant}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {variant = "st_async"}
      : !tile to !tile, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!rows = memref<4x2xf32, strided<[4, 1]>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @short_runs {
gpu.func @control(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !rows) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !rows to !rows, !bars
  gpu.return
}
gpu.func @bulk(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !rows) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 8 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{they first diverge at coordinate (1, 0)}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{st_async would copy it: drop the variant}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) {variant = "bulk"}
      : !rows to !rows, !bars
  gpu.return
}
}

// -----

#wg = #gpu.address_space<workgroup>
!src = memref<8x8xf16, strided<[8, 1]>, #wg>
!dst = memref<8x8xf16, strided<[1, 8]>, #wg>
!apart = memref<8x8xf16, strided<[2, 16]>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// Shorter runs are put together where the destination has 4 bytes in one piece.
gpu.module @no_piece {
gpu.func @control(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !src, %dst: !dst) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !src to !dst, !bars
  gpu.return
}
gpu.func @apart(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !src, %dst: !apart) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-error @+6 {{'tile.copy_async' op cannot be copied by any variant}}
  // expected-note @+5 {{bulk: the longest run common to both layouts is 2 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+4 {{they first diverge at coordinate}}
  // expected-note @+3 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+2 {{st_async: the longest run common to both layouts is 2 bytes, it must be a multiple of 4 bytes}}
  // expected-note @+1 {{choose layouts that agree on runs of a multiple of 4 bytes}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !src to !apart, !bars
  gpu.return
}
}
