// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops on layouts fold, and offsets that become known move into them.
// RUN: tile-opt %s -canonicalize | FileCheck %s

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>
!part = memref<4x32xf16, #tile.layout<(4, 32) : (64, 1), offset = ?, swizzle = <3, 3, 3>>>
!piece = memref<4x8xf16, #tile.layout<(4, 8) : (64, 1), offset = ?, swizzle = <3, 3, 3>>>

// CHECK-LABEL: func.func @known_view(
// CHECK: tile.view %{{.*}}[8]
func.func @known_view(%flat: memref<1024xf16>) -> !tile {
  %c8 = arith.constant 8 : index
  %tile = tile.view %flat[%c8] : memref<1024xf16> to !tile
  return %tile : !tile
}

// CHECK-LABEL: func.func @known_slice(
// CHECK: tile.slice %{{.*}}[4, %{{.*}}] [4, 32] : {{.*}} to memref<4x32xf16, #tile.layout<(4, 32) : (64, 1), offset = ?,
func.func @known_slice(%tile: !tile, %j: index) -> !part {
  %c4 = arith.constant 4 : index
  %part = tile.slice %tile[%c4, %j] [4, 32] : !tile to !part
  return %part : !part
}

// A slice of a slice is one, where no two run-time offsets would be added.
// CHECK-LABEL: func.func @slice_of_slice(
// CHECK-SAME: %[[TILE:[^:]*]]:
// CHECK: tile.slice %[[TILE]][%{{.*}}, 40] [4, 8]
func.func @slice_of_slice(%tile: !tile, %i: index) -> !piece {
  %part = tile.slice %tile[%i, 32] [4, 32] : !tile to !part
  %piece = tile.slice %part[0, 8] [4, 8] : !part to !piece
  return %piece : !piece
}

// CHECK-LABEL: func.func @whole_slice(
// CHECK-NEXT: return
func.func @whole_slice(%tile: !tile) -> !tile {
  %whole = tile.slice %tile[0, 0] [8, 64] : !tile to !tile
  return %whole : !tile
}

// CHECK-LABEL: func.func @known_offset(
// CHECK: %[[C32:.*]] = arith.constant 32 : index
// CHECK: return %[[C32]]
func.func @known_offset(%tile: memref<8xf16, #tile.layout<(8) : (1), offset = 32>>) -> index {
  %offset = tile.offset %tile : memref<8xf16, #tile.layout<(8) : (1), offset = 32>>
  return %offset : index
}

// A promise that holds goes, one that is part of another goes, one that is broken stays to be found.
// CHECK-LABEL: func.func @promises(
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C3:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[BROKEN:.*]] = tile.assume_multiple %[[C3]], 8
// CHECK-DAG: %[[OUTER:.*]] = tile.assume_multiple %{{.*}}, 16
// CHECK: return %[[C16]], %[[BROKEN]], %[[OUTER]]
func.func @promises(%i: index) -> (index, index, index) {
  %c16 = arith.constant 16 : index
  %c3 = arith.constant 3 : index
  %held = tile.assume_multiple %c16, 8 : index
  %broken = tile.assume_multiple %c3, 8 : index
  %outer = tile.assume_multiple %i, 16 : index
  %inner = tile.assume_multiple %outer, 8 : index
  return %held, %broken, %inner : index, index, index
}

// What is wrong stays as it is: it may stand where it is never executed.
// CHECK-LABEL: func.func @outside(
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C600:.*]] = arith.constant 600 : index
// CHECK: tile.slice %{{.*}}[%[[C16]], 0] [4, 32]
// CHECK: tile.view %{{.*}}[%[[C600]]]
func.func @outside(%tile: !tile, %flat: memref<1024xf16>) -> (!part, !tile) {
  %c16 = arith.constant 16 : index
  %c600 = arith.constant 600 : index
  %part = tile.slice %tile[%c16, 0] [4, 32] : !tile to !part
  %view = tile.view %flat[%c600] : memref<1024xf16> to !tile
  return %part, %view : !part, !tile
}
