// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions are read and printed, in their own form and in the generic one.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s -mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s -emit-bytecode | tile-opt | FileCheck %s

// CHECK-LABEL: func @all_reduce(
// CHECK-SAME: %[[F:.*]]: f32, %[[I:.*]]: i32
// CHECK-NEXT: tile.all_reduce add %[[F]] : f32
// CHECK-NEXT: tile.all_reduce xor %[[I]] {note} : i32
// CHECK-NEXT: %{{.*}}:2 = tile.all_reduce %[[F]], %[[I]] {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: i32, %{{.*}}: f32, %[[Y:.*]]: i32):
// CHECK-NEXT:   tile.yield %[[X]], %[[Y]] : f32, i32
// CHECK-NEXT: } {note} : f32, i32
func.func @all_reduce(%f: f32, %i: i32) {
  %0 = tile.all_reduce add %f : f32
  %1 = tile.all_reduce xor %i {note} : i32
  %2:2 = tile.all_reduce %f, %i {
  ^bb0(%a: f32, %b: i32, %c: f32, %d: i32):
    tile.yield %a, %d : f32, i32
  } {note} : f32, i32
  return
}
