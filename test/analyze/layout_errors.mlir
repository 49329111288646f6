// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What no layout allows, both ways round. `layout.mlir` has the copies beside these that are allowed.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// Modes of the same extents in another order have no common run.
gpu.func @same_extents_other_order(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<256xf16, #tile.layout<((4, 64)) : ((64, 1))>, #wg>, %dst: memref<256xf16, #tile.layout<((4, 64)) : ((1, 4))>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 2 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<((4, 64)) : ((64, 1))> and the destination #tile.layout<((4, 64)) : ((1, 4))>; they first diverge at coordinate (64), which is 128 bytes into the source and 2 bytes into the destination}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<256xf16, #tile.layout<((4, 64)) : ((64, 1))>, #wg> to memref<256xf16, #tile.layout<((4, 64)) : ((1, 4))>, #wg>, !bars
  gpu.return
}
gpu.func @same_extents_other_order_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<256xf16, #tile.layout<((4, 64)) : ((1, 4))>, #wg>, %dst: memref<256xf16, #tile.layout<((4, 64)) : ((64, 1))>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 2 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<((4, 64)) : ((1, 4))> and the destination #tile.layout<((4, 64)) : ((64, 1))>; they first diverge at coordinate (1), which is 8 bytes into the source and 2 bytes into the destination}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<256xf16, #tile.layout<((4, 64)) : ((1, 4))>, #wg> to memref<256xf16, #tile.layout<((4, 64)) : ((64, 1))>, #wg>, !bars
  gpu.return
}

// 24 elements of half a byte.
gpu.func @twelve_bytes_of_i4(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<24xi4, #wg>, %dst: memref<24xi4, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 12 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<(24) : (1)> and the destination #tile.layout<(24) : (1)>}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<24xi4, #wg> to memref<24xi4, #wg>, !bars
  gpu.return
}

gpu.func @bytes_of_120(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<5x24xi8, #wg>, %dst: memref<5x24xi8, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 120 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<(5, 24) : (24, 1)> and the destination #tile.layout<(5, 24) : (24, 1)>}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<5x24xi8, #wg> to memref<5x24xi8, #wg>, !bars
  gpu.return
}

gpu.func @rows_of_84_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x21xf32, #tile.layout<(4, 21) : (24, 1)>, #wg>, %dst: memref<4x21xf32, #tile.layout<(4, 21) : (24, 1)>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 84 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{they first diverge at coordinate (1, 0), which is 96 bytes into the source and 96 bytes into the destination}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x21xf32, #tile.layout<(4, 21) : (24, 1)>, #wg> to memref<4x21xf32, #tile.layout<(4, 21) : (24, 1)>, #wg>, !bars
  gpu.return
}

gpu.func @every_other_element(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #tile.layout<(8, 32) : (64, 2)>, #wg>, %dst: memref<8x32xf32, #tile.layout<(8, 32) : (32, 1)>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 4 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{they first diverge at coordinate (0, 1), which is 8 bytes into the source and 4 bytes into the destination}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf32, #tile.layout<(8, 32) : (64, 2)>, #wg> to memref<8x32xf32, #tile.layout<(8, 32) : (32, 1)>, #wg>, !bars
  gpu.return
}
gpu.func @every_other_element_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #tile.layout<(8, 32) : (32, 1)>, #wg>, %dst: memref<8x32xf32, #tile.layout<(8, 32) : (64, 2)>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 4 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{they first diverge at coordinate (0, 1), which is 4 bytes into the source and 8 bytes into the destination}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf32, #tile.layout<(8, 32) : (32, 1)>, #wg> to memref<8x32xf32, #tile.layout<(8, 32) : (64, 2)>, #wg>, !bars
  gpu.return
}

// 2 * 3 and 3 * 2 have no common boundary.
gpu.func @control_of_boundaries(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>, %dst: memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg> to memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>, !bars
  gpu.return
}
gpu.func @boundaries(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>, %dst: memref<6x8xf16, #tile.layout<((3, 2), 8) : ((64, 16), 1)>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: mode boundaries of dimension 0 must nest, got extents of 3 in the source and 2 in the destination}}
  // expected-note @+1 {{give both layouts modes that divide each other}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg> to memref<6x8xf16, #tile.layout<((3, 2), 8) : ((64, 16), 1)>, #wg>, !bars
  gpu.return
}
gpu.func @boundaries_back(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<6x8xf16, #tile.layout<((3, 2), 8) : ((64, 16), 1)>, #wg>, %dst: memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: mode boundaries of dimension 0 must nest, got extents of 2 in the source and 3 in the destination}}
  // expected-note @+1 {{give both layouts modes that divide each other}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<6x8xf16, #tile.layout<((3, 2), 8) : ((64, 16), 1)>, #wg> to memref<6x8xf16, #tile.layout<((2, 3), 8) : ((64, 16), 1)>, #wg>, !bars
  gpu.return
}

// A column offset of which nothing is known, and one that is promised.
gpu.func @control_of_columns(%rank: i32, %bars: !bars, %i: index, %j0: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #wg>, %dst: memref<8x32xf16, #wg>) kernel {
  %j = tile.assume_multiple %j0, 8 : index
  %from = tile.slice %src[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>, #wg> to memref<8x32xf16, #wg>, !bars
  gpu.return
}
gpu.func @columns_at_any_offset(%rank: i32, %bars: !bars, %i: index, %j: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #wg>, %dst: memref<8x32xf16, #wg>) kernel {
  %from = tile.slice %src[0, %j] [8, 32] : memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #wg> to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 2 bytes: %arg3}}
  // expected-note @+2 {{make the offset a multiple of 8 elements by a multiplication in sight, or promise it with tile.assume_multiple}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = ?>, #wg> to memref<8x32xf16, #wg>, !bars
  gpu.return
}

// A run-time offset into a nested dimension must not cross a panel.
gpu.func @control_of_panels(%rank: i32, %bars: !bars, %i: index, %j0: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg>, %dst: memref<8x16xf16, #wg>) kernel {
  %j = tile.assume_multiple %j0, 16 : index
  %from = tile.slice %src[0, %j] [8, 16] : memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg> to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>, #wg> to memref<8x16xf16, #wg>, !bars
  gpu.return
}
gpu.func @columns_across_panels(%rank: i32, %bars: !bars, %i: index, %j: index)
    workgroup(%src: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg>, %dst: memref<8x16xf16, #wg>) kernel {
  %from = tile.slice %src[0, %j] [8, 16] : memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #wg> to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>, #wg>
  // expected-error @+2 {{'tile.copy_async' op source must be sliced at multiples of 16 in nested dimension 1, got %arg3, a multiple of 1}}
  // expected-note @+1 {{promise it with tile.assume_multiple %arg3, 16}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>, #wg> to memref<8x16xf16, #wg>, !bars
  gpu.return
}

// Nor may a product: 12 * %j in 8 bits is a multiple of 4 alone.
gpu.func @control_of_products(%rank: i32, %bars: !bars, %i: index, %j: i8)
    workgroup(%src: memref<96xf32, #tile.layout<((4, 24)) : ((32, 1))>, #wg>, %dst: memref<12xf32, #wg>) kernel {
  %c12 = arith.constant 12 : i32
  %wide = arith.extsi %j : i8 to i32
  %product = arith.muli %wide, %c12 : i32
  %at = arith.index_cast %product : i32 to index
  %from = tile.slice %src[%at] [12] : memref<96xf32, #tile.layout<((4, 24)) : ((32, 1))>, #wg> to memref<12xf32, #tile.layout<(12) : (1), offset = ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<12xf32, #tile.layout<(12) : (1), offset = ?>, #wg> to memref<12xf32, #wg>, !bars
  gpu.return
}
gpu.func @product_that_wraps(%rank: i32, %bars: !bars, %i: index, %j: i8)
    workgroup(%src: memref<96xf32, #tile.layout<((4, 24)) : ((32, 1))>, #wg>, %dst: memref<12xf32, #wg>) kernel {
  %c12 = arith.constant 12 : i8
  %product = arith.muli %j, %c12 : i8
  %at = arith.index_cast %product : i8 to index
  %from = tile.slice %src[%at] [12] : memref<96xf32, #tile.layout<((4, 24)) : ((32, 1))>, #wg> to memref<12xf32, #tile.layout<(12) : (1), offset = ?>, #wg>
  // expected-error @+2 {{'tile.copy_async' op source must be sliced at multiples of 12 in nested dimension 0, got %arg3 * 12, a multiple of 4}}
  // expected-note-re @+1 {{promise it with tile.assume_multiple %{{[0-9]+}}, 12}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<12xf32, #tile.layout<(12) : (1), offset = ?>, #wg> to memref<12xf32, #wg>, !bars
  gpu.return
}

}
