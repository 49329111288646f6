// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts and the ops on them print as they are written.
// RUN: tile-opt %s | tile-opt | FileCheck %s

// CHECK-LABEL: func.func private @strides(
// CHECK-SAME: memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>>
func.func private @strides(memref<8x64xf16, #tile.layout<(8, 64) : (64, 1)>>)

// CHECK-LABEL: func.func private @nested(
// CHECK-SAME: memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>
func.func private @nested(memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>)

// Deeper nesting means the same and is flattened; a list of one is its entry.
// CHECK-LABEL: func.func private @deeper(
// CHECK-SAME: memref<8x4xf16, #tile.layout<((2, 2, 2), 4) : ((4, 2, 1), 8)>>
func.func private @deeper(memref<8x4xf16, #tile.layout<((2, (2, 2)), (4)) : ((4, (2, 1)), (8))>>)

// CHECK-LABEL: func.func private @offsets(
// CHECK-SAME: #tile.layout<(4) : (1)>>, {{.*}}#tile.layout<(4) : (1), offset = 4>>, {{.*}}#tile.layout<(4) : (1), offset = ?>>
func.func private @offsets(memref<4xf16, #tile.layout<(4) : (1), offset = 0>>,
                           memref<4xf16, #tile.layout<(4) : (1), offset = 4>>,
                           memref<4xf16, #tile.layout<(4) : (1), offset = ?>>)

// CHECK-LABEL: func.func private @swizzles(
// CHECK-SAME: #tile.layout<(8, 64) : (64, 1), offset = 64, swizzle = <3, 3, 3>>
func.func private @swizzles(
    memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>, offset = 64>>)

// CHECK-LABEL: func.func private @no_dimension(
// CHECK-SAME: memref<f16, #tile.layout<() : ()>>
func.func private @no_dimension(memref<f16, #tile.layout<() : ()>>)

!swizzled = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>

// CHECK-LABEL: func.func @views(
func.func @views(%flat: memref<1024xf16>, %i: index) {
  // CHECK: tile.view %{{.*}}[512] : memref<1024xf16> to memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>
  %known = tile.view %flat[512] : memref<1024xf16> to !swizzled
  // CHECK: tile.view %{{.*}}[%{{.*}}] : memref<1024xf16> to memref<8x64xf16,
  %some = tile.view %flat[%i] : memref<1024xf16> to !swizzled
  return
}

// CHECK-LABEL: func.func @slices(
func.func @slices(%tile: !swizzled, %i: index) {
  // CHECK: tile.slice %{{.*}}[0, 32] [8, 32] : {{.*}} to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 32, swizzle = <3, 3, 3>>>
  %columns = tile.slice %tile[0, 32] [8, 32]
      : !swizzled to memref<8x32xf16, #tile.layout<(8, 32) : (64, 1), offset = 32, swizzle = <3, 3, 3>>>
  // CHECK: tile.slice %{{.*}}[%{{.*}}, 8] [1, 8]
  %row = tile.slice %tile[%i, 8] [1, 8]
      : !swizzled to memref<8xf16, #tile.layout<(8) : (1), offset = ?, swizzle = <3, 3, 3>>>
  // CHECK: tile.offset %{{.*}} : memref<8xf16,
  %offset = tile.offset %row : memref<8xf16, #tile.layout<(8) : (1), offset = ?, swizzle = <3, 3, 3>>>
  // CHECK: tile.assume_multiple %{{.*}}, 8 : index
  %multiple = tile.assume_multiple %offset, 8 : index
  return
}

// A region of nested modes: whole panels, and part of one.
!panels = memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>>
// CHECK-LABEL: func.func @nested_slices(
func.func @nested_slices(%tile: !panels, %i: index) {
  // CHECK: tile.slice %{{.*}}[0, 32] [8, 32] : {{.*}} to memref<8x32xf16, #tile.layout<(8, 32) : (32, 1), offset = 256>>
  %panel = tile.slice %tile[0, 32] [8, 32]
      : !panels to memref<8x32xf16, #tile.layout<(8, 32) : (32, 1), offset = 256>>
  // CHECK: tile.slice %{{.*}}[0, %{{.*}}] [8, 16] : {{.*}} to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>>
  %part = tile.slice %tile[0, %i] [8, 16]
      : !panels to memref<8x16xf16, #tile.layout<(8, 16) : (32, 1), offset = ?>>
  return
}
