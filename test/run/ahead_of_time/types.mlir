// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every way to pass something, without a GPU.

func.func @scalars(%bit: i1, %byte: i8, %long: i64, %index: index, %single: f32,
                   %double: f64) -> f64 attributes {llvm.emit_c_interface} {
  %0 = arith.extui %bit : i1 to i64
  %1 = arith.extsi %byte : i8 to i64
  %2 = arith.index_cast %index : index to i64
  %3 = arith.addi %0, %1 : i64
  %4 = arith.addi %2, %long : i64
  %5 = arith.addi %3, %4 : i64
  %6 = arith.sitofp %5 : i64 to f64
  %7 = arith.extf %single : f32 to f64
  %8 = arith.addf %6, %7 : f64
  %9 = arith.addf %8, %double : f64
  return %9 : f64
}
func.func @is_odd(%x: i32) -> i1 attributes {llvm.emit_c_interface} {
  %0 = arith.trunci %x : i32 to i1
  return %0 : i1
}
func.func @element(%a: memref<2x3xi32, strided<[8, 2], offset: ?>>, %i: index, %j: index) -> i32
    attributes {llvm.emit_c_interface} {
  %0 = memref.load %a[%i, %j] : memref<2x3xi32, strided<[8, 2], offset: ?>>
  return %0 : i32
}
func.func @point(%a: memref<f16>, %b: memref<f16>) attributes {llvm.emit_c_interface} {
  %0 = memref.load %a[] : memref<f16>
  memref.store %0, %b[] : memref<f16>
  return
}
func.func @iota(%n: index) -> memref<?xindex> attributes {llvm.emit_c_interface} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = memref.alloc(%n) : memref<?xindex>
  scf.for %i = %c0 to %n step %c1 { memref.store %i, %0[%i] : memref<?xindex> }
  return %0 : memref<?xindex>
}
func.func @rank(%a: memref<*xui8>, %b: memref<?x?x?xui8>) -> index attributes {llvm.emit_c_interface} {
  %0 = memref.rank %a : memref<*xui8>
  return %0 : index
}
func.func private @helper(%a: memref<4xcomplex<f32>>) { return }
