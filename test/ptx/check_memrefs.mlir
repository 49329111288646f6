// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses on which upstream's conversions end the process are refused; beside each stands one that is
// lowered.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

!tile = memref<2x8x32xf32>
gpu.module @kernels {
  gpu.func @control(%a: memref<8xi4>, %b: memref<8xi8>, %tile: !tile, %i: index, %x: i4, %y: i8) kernel {
    %c0 = arith.constant 0 : index
    memref.store %x, %a[%i] : memref<8xi4>
    memref.store %y, %b[%i] : memref<8xi8>
    // Nothing is dropped but the first, by a step of 1.
    %kept = memref.subview %tile[0, 0, 0] [1, 4, 1] [1, 2, 1] : !tile to memref<4x1xf32, strided<[64, 1]>>
    %all = memref.subview %tile[0, 0, 0] [1, 1, 16] [1, 2, 2] : !tile to memref<16xf32, strided<[2]>>
    %v = memref.load %kept[%i, %c0] : memref<4x1xf32, strided<[64, 1]>>
    memref.store %v, %all[%i] : memref<16xf32, strided<[2]>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @loads(%a: memref<8xi1>, %b: memref<8xi8>, %i: index) kernel {
    // expected-error @+2 {{'memref.load' op must access elements of a byte or more, or of 4 bits, got 'i1'}}
    // expected-note @+1 {{keep them as i8, and truncate what is loaded}}
    %x = memref.load %a[%i] : memref<8xi1>
    %y = arith.extui %x : i1 to i8
    memref.store %y, %b[%i] : memref<8xi8>
    gpu.return
  }
}

// -----

func.func @stores_on_the_host(%a: memref<8xi2>, %i: index, %x: i2) {
  // expected-error @+2 {{'memref.store' op must access elements of a byte or more, or of 4 bits, got 'i2'}}
  // expected-note @+1 {{keep them as i8, and truncate what is loaded}}
  memref.store %x, %a[%i] : memref<8xi2>
  return
}

// -----

gpu.module @kernels {
  gpu.func @steps(%tile: memref<2x8x32xf32>, %i: index, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+2 {{'memref.subview' op must step by 1 in dimensions of one element, where it drops some and keeps others, got 2}}
    // expected-note @+1 {{write 1: the step leads nowhere}}
    %v = memref.subview %tile[0, 0, 0] [1, 8, 1] [1, 1, 2]
        : memref<2x8x32xf32> to memref<8x1xf32, strided<[32, 2]>>
    memref.store %x, %v[%i, %c0] : memref<8x1xf32, strided<[32, 2]>>
    gpu.return
  }
}
