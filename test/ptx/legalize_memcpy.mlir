// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory with gaps is no single copy or fill. The controls have none: extents of 1 have no stride, and
// nothing is between no elements.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

func.func @control(%a: memref<1x16xi32, strided<[100, 1], offset: 3>>, %b: memref<1x16xi32>,
                   %c: memref<0x4xi32, strided<[9, 2]>>, %d: memref<0x4xi32>,
                   %e: memref<?x4xi32, strided<[4, 1], offset: ?>>, %f: memref<?x4xi32>, %x: i32) {
  %begin = gpu.wait async
  %row = gpu.memcpy async [%begin] %a, %b
      : memref<1x16xi32, strided<[100, 1], offset: 3>>, memref<1x16xi32>
  %none = gpu.memcpy async [%row] %c, %d : memref<0x4xi32, strided<[9, 2]>>, memref<0x4xi32>
  %rows = gpu.memcpy async [%none] %e, %f
      : memref<?x4xi32, strided<[4, 1], offset: ?>>, memref<?x4xi32>
  gpu.wait [%rows]
  return
}

// -----

func.func @columns(%a: memref<4x8xi32, strided<[16, 1]>>, %b: memref<4x8xi32>) {
  // expected-error @+2 {{'gpu.memcpy' op must have memory without gaps, got 'memref<4x8xi32, strided<[16, 1]>>'}}
  // expected-note @+1 {{take a whole buffer or whole rows of one, or go through a buffer of its own with memref.copy}}
  gpu.memcpy %a, %b : memref<4x8xi32, strided<[16, 1]>>, memref<4x8xi32>
  return
}

// -----

func.func @source(%a: memref<8xi32, strided<[2]>>, %b: memref<8xi32>) {
  // expected-error @+2 {{'gpu.memcpy' op must have memory without gaps, got 'memref<8xi32, strided<[2]>>'}}
  // expected-note @+1 {{take a whole buffer}}
  gpu.memcpy %b, %a : memref<8xi32>, memref<8xi32, strided<[2]>>
  return
}

// -----

func.func @unknown(%a: memref<8xi32, strided<[?]>>, %b: memref<8xi32>) {
  // expected-error @+2 {{'gpu.memcpy' op must have memory without gaps, got 'memref<8xi32, strided<[?]>>'}}
  // expected-note @+1 {{take a whole buffer}}
  gpu.memcpy %a, %b : memref<8xi32, strided<[?]>>, memref<8xi32>
  return
}

// -----

func.func @fill(%a: memref<8xi32, strided<[2]>>, %x: i32) {
  %t = gpu.wait async
  // expected-error @+2 {{'gpu.memset' op must have memory without gaps, got 'memref<8xi32, strided<[2]>>'}}
  // expected-note @+1 {{take a whole buffer}}
  %t1 = gpu.memset async [%t] %a, %x : memref<8xi32, strided<[2]>>, i32
  gpu.wait [%t1]
  return
}
