// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of the ops on layouts, by their ids. The control of each keeps it, and differs in nothing
// else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>

// v1: the source is flat.
func.func @v1_control(%flat: memref<512xf16>) {
  %tile = tile.view %flat[0] : memref<512xf16> to !tile
  return
}
func.func @v1_two_dimensions(%flat: memref<2x256xf16>) {
  // expected-error @+1 {{'tile.view' op source must be a flat buffer (v1), got 'memref<2x256xf16>'}}
  %tile = tile.view %flat[0] : memref<2x256xf16> to !tile
  return
}

// -----

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>

// v2: one element type, one memory space.
func.func @v2_element_type(%flat: memref<512xbf16>) {
  // expected-error @+1 {{'tile.view' op source and result must have the same element type and memory space (v2), got 'memref<512xbf16>' and}}
  %tile = tile.view %flat[0] : memref<512xbf16> to !tile
  return
}

// -----

// v3: the result has a layout with a known offset.
func.func @v3_control(%flat: memref<512xf16>) {
  %tile = tile.view %flat[0] : memref<512xf16> to memref<8xf16, #tile.layout<(8) : (1), offset = 8>>
  return
}
func.func @v3_offset(%flat: memref<512xf16>) {
  // expected-error @+1 {{'tile.view' op result must have a #tile.layout with a known offset (v3), got}}
  %tile = tile.view %flat[0] : memref<512xf16> to memref<8xf16, #tile.layout<(8) : (1), offset = ?>>
  return
}

// -----

// v4: the layout ends inside the source.
func.func @v4_control(%flat: memref<512xf16>) {
  %tile = tile.view %flat[504] : memref<512xf16> to memref<8xf16, #tile.layout<(8) : (1)>>
  return
}
func.func @v4_end(%flat: memref<512xf16>) {
  // expected-error @+2 {{'tile.view' op layout must end inside the source of 512 elements (v4), got an end at 513}}
  // expected-note @+1 {{the layout spans 8 elements from the offset on}}
  %tile = tile.view %flat[505] : memref<512xf16> to memref<8xf16, #tile.layout<(8) : (1)>>
  return
}

// -----

// s1: the source has a layout.
func.func @s1_strided(%tile: memref<8x64xf16>) {
  // expected-error @+2 {{'tile.slice' op source must have a #tile.layout (s1), got 'memref<8x64xf16>'}}
  // expected-note @+1 {{use memref.subview for strided memrefs}}
  %part = tile.slice %tile[0, 0] [8, 32] : memref<8x64xf16> to memref<8x32xf16, strided<[64, 1]>>
  return
}

// -----

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>>
!part = memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 32>>

// s2: one offset and one size for each dimension.
func.func @s2_control(%tile: !tile) {
  %part = tile.slice %tile[0, 32] [8, 32] : !tile to !part
  return
}
func.func @s2_one_offset(%tile: !tile) {
  // expected-error @+1 {{'tile.slice' op must have one offset and one size for each of 2 dimensions (s2), got 1 and 2}}
  %part = tile.slice %tile[32] [8, 32] : !tile to !part
  return
}

// -----

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>>
!part = memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 33>>

// s3: the region is inside its source.
func.func @s3_end(%tile: !tile) {
  // expected-error @+1 {{'tile.slice' op region must be inside its source (s3), got offset 33 and size 32 in dimension 1 of extent 64}}
  %part = tile.slice %tile[0, 33] [8, 32] : !tile to !part
  return
}

// -----

!tile = memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>

// s4: the region ends inside the mode that it begins in.
func.func @s4_control(%tile: !tile) {
  %part = tile.slice %tile[0, 16] [8, 16]
      : !tile to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = 16>>
  return
}
func.func @s4_two_panels(%tile: !tile) {
  // expected-error @+1 {{'tile.slice' op region must end inside the mode that it begins in (s4), got size 16 in dimension 1 of}}
  %part = tile.slice %tile[0, 24] [8, 16]
      : !tile to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = 24>>
  return
}

// -----

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>

// s5: the result keeps the buffer's swizzle.
func.func @s5_control(%tile: !tile) {
  %part = tile.slice %tile[0, 0] [8, 32]
      : !tile to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>>
  return
}
func.func @s5_no_swizzle(%tile: !tile) {
  // expected-error @+2 {{'tile.slice' op result must have the type of the region (s5), got 'memref<8x32xf16, #tile.layout<(8, 32) : (64, 1)>>'}}
  // expected-note @+1 {{the region has type 'memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), swizzle = <3, 3, 3>>>'}}
  %part = tile.slice %tile[0, 0] [8, 32] : !tile to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1)>>
  return
}

// -----

// o1: the operand has a layout.
func.func @o1_strided(%tile: memref<8x64xf16>) {
  // expected-error @+1 {{'tile.offset' op operand must have a #tile.layout (o1), got 'memref<8x64xf16>'}}
  %offset = tile.offset %tile : memref<8x64xf16>
  return
}

// -----

// m1: the divisor is at least 1.
func.func @m1_control(%i: index) {
  %multiple = tile.assume_multiple %i, 1 : index
  return
}
func.func @m1_zero(%i: index) {
  // expected-error @+1 {{'tile.assume_multiple' op divisor must be at least 1 (m1), got 0}}
  %multiple = tile.assume_multiple %i, 0 : index
  return
}

// -----

// m2: the divisor is a number of the type.
func.func @m2_control(%i: i8) {
  %multiple = tile.assume_multiple %i, 127 : i8
  return
}
func.func @m2_wide(%i: i8) {
  // expected-error @+1 {{'tile.assume_multiple' op divisor must be a number of the type 'i8' (m2), got 128}}
  %multiple = tile.assume_multiple %i, 128 : i8
  return
}
