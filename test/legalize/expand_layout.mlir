// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memrefs with a `#tile.layout` become flat ones, with the address computed.
// RUN: tile-opt %s -tile-expand-layout -split-input-file | FileCheck %s
// RUN: tile-opt %s -tile-expand-layout=check-assumptions -split-input-file | FileCheck %s --check-prefix=ASSUMED

!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>>
!row = memref<64xf16, #tile.layout<(64) : (1), offset = ?, swizzle = <3, 3, 3>>>

// CHECK-LABEL: func.func @element(
// CHECK-SAME: %[[TILE:.*]]: memref<?xf16, strided<[1], offset: ?>>, %[[I:.*]]: index, %[[J:.*]]: index
// CHECK: %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK: %[[X:.*]] = arith.addi %[[ROW]], %[[J]] : index
// CHECK: %[[MOVED:.*]] = arith.shrui %[[X]], %{{.*}} : index
// CHECK: %[[MASK:.*]] = arith.constant 56 : index
// CHECK: %[[BITS:.*]] = arith.andi %[[MOVED]], %[[MASK]] : index
// CHECK: %[[PLACE:.*]] = arith.xori %[[X]], %[[BITS]] : index
// CHECK: memref.load %[[TILE]][%[[PLACE]]]
func.func @element(%tile: !tile, %i: index, %j: index) -> f16 {
  %element = memref.load %tile[%i, %j] : !tile
  return %element : f16
}

// An offset of `?` travels beside the buffer: through arguments, results, calls, loops and branches.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %{{.*}}: memref<?xf16, strided<[1], offset: ?>>, %{{.*}}: index) -> (memref<?xf16, strided<[1], offset: ?>>, index)
// CHECK: scf.for {{.*}} -> (memref<?xf16, strided<[1], offset: ?>>, index)
// CHECK: call @pass(%{{.*}}, %{{.*}}) : (memref<?xf16, strided<[1], offset: ?>>, index) -> (memref<?xf16, strided<[1], offset: ?>>, index)
func.func private @pass(!row) -> !row
func.func @rows(%tile: !tile, %i: index) -> !row {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %first = tile.slice %tile[%i, 0] [1, 64] : !tile to !row
  %last = scf.for %k = %c0 to %c8 step %c1 iter_args(%row = %first) -> (!row) {
    %next = tile.slice %tile[%k, 0] [1, 64] : !tile to !row
    scf.yield %next : !row
  }
  %result = call @pass(%last) : (!row) -> !row
  return %result : !row
}

// CHECK-LABEL: func.func @branches(
// CHECK: cf.cond_br %{{.*}}, ^bb1(%{{.*}}, %{{.*}} : memref<?xf16, strided<[1], offset: ?>>, index)
func.func @branches(%row: !row, %which: i1) {
  cf.cond_br %which, ^bb1(%row : !row), ^bb2
^bb1(%some: !row):
  cf.br ^bb2
^bb2:
  return
}

// CHECK-LABEL: func.func @extents(
// CHECK: %[[C64:.*]] = arith.constant 64 : index
// CHECK: return %[[C64]]
func.func @extents(%tile: !tile) -> index {
  %c1 = arith.constant 1 : index
  %extent = memref.dim %tile, %c1 : !tile
  return %extent : index
}

// A promise is free, unless it is to be checked.
// CHECK-LABEL: func.func @promise(
// CHECK-SAME: %[[J:.*]]: index
// CHECK-NEXT: return %[[J]]
// ASSUMED-LABEL: func.func @promise(
// ASSUMED: arith.remsi
// ASSUMED: cf.assert %{{.*}}, "tile.assume_multiple: the value is no multiple of 8"
func.func @promise(%j: index) -> index {
  %multiple = tile.assume_multiple %j, 8 : index
  return %multiple : index
}

// -----

#wg = #gpu.address_space<workgroup>
!tile = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #gpu.address_space<workgroup>>
!padded = memref<8x64xf16, #tile.layout<(8, 64) : (72, 1)>, #gpu.address_space<workgroup>>
!panels = memref<8x64xf16, #tile.layout<(8, (2, 32)) : (32, (256, 1))>, #gpu.address_space<workgroup>>
!parts = memref<2x16xf16, #tile.layout<(2, (2, 8)) : (32, (12, 1))>, #gpu.address_space<workgroup>>

gpu.module @kernels {

// CHECK: memref.global "private" @table : memref<4xf32> = dense<[1.000000e+00, 2.000000e+00, 4.000000e+00, 3.000000e+00]>
memref.global "private" @table : memref<2x2xf32, #tile.layout<(2, 2) : (2, 1), swizzle = <1, 0, 1>>>
    = dense<[[1.0, 2.0], [3.0, 4.0]]>

// The second piece of a row begins 24 bytes behind the first.
// CHECK-LABEL: gpu.func @parts(
// CHECK-COUNT-2: vector.store %{{.*}} {alignment = 8 : i64} : {{.*}}, vector<8xf16>
// CHECK-NOT: vector.store
// CHECK: gpu.return
gpu.func @parts(%i: index, %v: vector<16xf16>) workgroup(%parts: !parts) kernel {
  %c0 = arith.constant 0 : index
  vector.transfer_write %v, %parts[%i, %c0] {in_bounds = [true]} : vector<16xf16>, !parts
  gpu.return
}

// A buffer is as large as its layout spans, and aligned for the vectors.
// CHECK-LABEL: gpu.func @vectors(
// CHECK-SAME: workgroup(%{{.*}} : memref<512xf16, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %{{.*}} : memref<568xf16, #gpu.address_space<workgroup>>, %{{.*}} : memref<512xf16, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
gpu.func @vectors(%i: index, %j0: index, %v: vector<8xf16>)
    workgroup(%tile: !tile, %padded: !padded, %panels: !panels) kernel {
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f16
  %j = arith.muli %j0, %c8 : index
  // One unit of the swizzle is one vector.
  // CHECK: arith.xori
  // CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<?xf16, strided<[1], offset: ?>, #gpu.address_space<workgroup>>, vector<8xf16>
  vector.transfer_write %v, %tile[%i, %j] {in_bounds = [true]} : vector<8xf16>, !tile
  // Two units are two.
  // CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
  %two = vector.transfer_read %tile[%i, %j], %zero {in_bounds = [true]} : !tile, vector<16xf16>
  // Without a swizzle a row is one piece, wherever it begins.
  // CHECK: vector.load %{{.*}} : {{.*}}, vector<16xf16>
  %any = vector.transfer_read %padded[%i, %j0], %zero {in_bounds = [true]} : !padded, vector<16xf16>
  // A vector that begins at a multiple of 8 crosses no panel of 32 in pieces of 8.
  // CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
  %panel = vector.transfer_read %panels[%i, %j], %zero {in_bounds = [true]} : !panels, vector<16xf16>
  // What may lie outside is looked at element by element.
  // CHECK-COUNT-8: scf.if
  // CHECK: vector.insert
  %edge = vector.transfer_read %tile[%i, %j], %zero : !tile, vector<8xf16>
  gpu.return
}

// CHECK-LABEL: gpu.func @copies(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.load %{{.*}} {alignment = 16 : i64}
// CHECK: vector.store %{{.*}} {alignment = 16 : i64}
gpu.func @copies() workgroup(%tile: !tile, %panels: !panels) kernel {
  memref.copy %tile, %panels : !tile to !panels
  gpu.return
}

// A view begins where it says.
// CHECK-LABEL: gpu.func @view(
// CHECK: memref.subview %{{.*}}[512] [512] [1]
gpu.func @view(%i: index) workgroup(%flat: memref<1024xf16, #wg>) kernel {
  %tile = tile.view %flat[512] : memref<1024xf16, #wg> to !tile
  %element = memref.load %tile[%i, %i] : !tile
  memref.store %element, %tile[%i, %i] : !tile
  gpu.return
}

}
