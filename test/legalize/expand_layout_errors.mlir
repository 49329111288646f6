// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cannot take a memref with a `#tile.layout` is refused by name.
// RUN: tile-opt %s -tile-expand-layout -split-input-file -verify-diagnostics -o %t

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>>

func.func @control_of_views(%tile: !tile) {
  %part = tile.slice %tile[0, 0] [8, 32] : !tile to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1)>>
  return
}
func.func @subview(%tile: !tile) {
  // expected-error @+2 {{'memref.subview' op cannot take a memref with a #tile.layout}}
  // expected-note @+1 {{load and store its elements or vectors of them, slice it with tile.slice, or give it a strided layout}}
  %part = memref.subview %tile[0, 0] [8, 32] [1, 1] : !tile to memref<8x32xf16, strided<[64, 1]>>
  return
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// A copy has to be legalized first.
func.func @copy(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must be legalized before its layouts are expanded}}
  // expected-note @+1 {{run tile-legalize-to-nvvm first}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

// -----

// Packed elements have no address of their own.
func.func @control_of_packed(%tile: memref<8xi8, #tile.layout<(8) : (1)>>, %i: index) -> i8 {
  %element = memref.load %tile[%i] : memref<8xi8, #tile.layout<(8) : (1)>>
  return %element : i8
}
func.func @packed(%tile: memref<8xi4, #tile.layout<(8) : (1)>>, %i: index) -> i4 {
  // expected-error @+2 {{'memref.load' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed: declare the buffer as i8, and view it as 'i4' where tiles of it are copied}}
  %element = memref.load %tile[%i] : memref<8xi4, #tile.layout<(8) : (1)>>
  return %element : i4
}

// -----

!panels = memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>
!part = memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>>

// A region must not cross a panel.
func.func @control_of_panels(%tile: !panels, %j0: index) {
  %j = tile.assume_multiple %j0, 16 : index
  %part = tile.slice %tile[0, %j] [8, 16] : !panels to !part
  return
}
func.func @across_panels(%tile: !panels, %j: index) {
  // expected-error @+2 {{'tile.slice' op must be sliced at multiples of 16 in nested dimension 1, got %arg1, a multiple of 1}}
  // expected-note @+1 {{promise it with tile.assume_multiple %arg1, 16}}
  %part = tile.slice %tile[0, %j] [8, 16] : !panels to !part
  return
}

// -----

// A declared buffer has a known offset.
gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op must declare a buffer whose layout has a known offset, got}}
  // expected-note @+1 {{declare the whole buffer and take a tile.slice of it}}
  gpu.func @attribution() workgroup(%tile: memref<8xf16, #tile.layout<(8) : (1), offset = ?>, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// -----

// A launch has to be outlined first.
func.func @launch(%c1: index) {
  // expected-error @+2 {{'gpu.launch' op cannot take a memref with a #tile.layout}}
  // expected-note @+1 {{load and store its elements or vectors of them, slice it with tile.slice, or give it a strided layout}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
      workgroup(%tile: memref<8xf16, #tile.layout<(8) : (1)>, #gpu.address_space<workgroup>>) {
    gpu.terminator
  }
  return
}

// -----

// Initial values are written out, and vectors taken apart, one element at a time.
memref.global "private" @table_control : memref<2xf16, #tile.layout<(2) : (1024)>> = dense<[1.0, 2.0]>
// expected-error @below {{'memref.global' op initial value must be laid out over at most 16777216 elements, got 1099511627777}}
// expected-note @below {{choose smaller strides, or store the value in code}}
memref.global "private" @table : memref<2xf16, #tile.layout<(2) : (1099511627776)>> = dense<[1.0, 2.0]>

// -----

!tile = memref<131072xf16, #tile.layout<(131072) : (1)>>

func.func @vector(%tile: !tile, %i: index, %x: f16) -> vector<131072xf16> {
  // expected-error @below {{'vector.transfer_read' op vector must have at most 65536 elements, got 'vector<131072xf16>'}}
  // expected-note @below {{transfer smaller vectors in a loop}}
  %v = vector.transfer_read %tile[%i], %x : !tile, vector<131072xf16>
  return %v : vector<131072xf16>
}

// -----

!tile = memref<131072xf16, #tile.layout<(131072) : (1)>>

func.func @vector_control(%tile: !tile, %x: f16) -> vector<64xf16> {
  %c0 = arith.constant 0 : index
  %v = vector.transfer_read %tile[%c0], %x : !tile, vector<64xf16>
  return %v : vector<64xf16>
}
