// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types are looked at before upstream's verifiers, which end the process where extents do not multiply;
// what is written in a comment, memref<4294967296x4294967296xf16>, is no type. The control differs in an
// extent.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

module attributes {llvm.note = "memref<4294967296x4294967296xf16>"} {
  func.func @control(%a: memref<4294967296x1073741824xf16>) {
    %x = memref.subview %a[0, 0] [4, 4] [1, 1]
        : memref<4294967296x1073741824xf16> to memref<4x4xf16, strided<[1073741824, 1]>>
    return
  }
}

// -----

// expected-error @+1 {{'func.func' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296xf16>'}}
func.func @subview(%a: memref<4294967296x4294967296xf16>) {
  %x = memref.subview %a[0, 0] [4, 4] [1, 1]
      : memref<4294967296x4294967296xf16> to memref<4x4xf16, strided<[4294967296, 1]>>
  return
}

// -----

func.func @reinterpreted(%a: memref<8xf16>) {
  // expected-error @+1 {{'memref.reinterpret_cast' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296xf16>'}}
  %x = memref.reinterpret_cast %a to offset: [0], sizes: [4294967296, 4294967296], strides: [4294967296, 1]
      : memref<8xf16> to memref<4294967296x4294967296xf16>
  return
}

// -----

// What the verifiers refuse is still refused.
func.func @verified(%a: memref<8xf16>) {
  // expected-error @+1 {{'memref.cast' op operand type 'memref<8xf16>' and result type 'memref<9xf16>' are cast incompatible}}
  %x = memref.cast %a : memref<8xf16> to memref<9xf16>
  return
}
