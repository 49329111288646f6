// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops on memrefs on which upstream's conversions end the process, or which they lower wrongly, are refused;
// the first kernel holds a control of each.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

!tile = memref<2x8x32xf32>
gpu.module @kernels {
  gpu.func @control(%tile: !tile, %row: memref<?x64xf32>, %i: index) kernel {
    %c0 = arith.constant 0 : index
    // Nothing is dropped but the first, by a step of 1.
    %kept = memref.subview %tile[0, 0, 0] [1, 4, 1] [1, 2, 1] : !tile to memref<4x1xf32, strided<[64, 1]>>
    %all = memref.subview %tile[0, 0, 0] [1, 1, 16] [1, 2, 2] : !tile to memref<16xf32, strided<[2]>>
    %v = memref.load %kept[%i, %c0] : memref<4x1xf32, strided<[64, 1]>>
    memref.store %v, %all[%i] : memref<16xf32, strided<[2]>>
    // One extent of each group is unknown.
    %blocks = memref.expand_shape %row [[0, 1], [2]] output_shape [%i, 8, 64]
        : memref<?x64xf32> into memref<?x8x64xf32>
    memref.store %v, %blocks[%i, %c0, %c0] : memref<?x8x64xf32>
    // A thread's own memory.
    %own = memref.alloca() : memref<4xf32>
    memref.store %v, %own[%i] : memref<4xf32>
    gpu.return
  }
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

// -----

gpu.module @kernels {
  gpu.func @unknown_extents(%row: memref<?x64xf32>, %i: index, %x: f32) kernel {
    // expected-error @+2 {{'memref.expand_shape' op must leave one extent of a group unknown at most, got 2 of 'memref<?x?x64xf32>'}}
    // expected-note @+1 {{write the others as numbers, or take memref.reinterpret_cast}}
    %blocks = memref.expand_shape %row [[0, 1], [2]] output_shape [%i, %i, 64]
        : memref<?x64xf32> into memref<?x?x64xf32>
    memref.store %x, %blocks[%i, %i, %i] : memref<?x?x64xf32>
    gpu.return
  }
}

// -----

// A descriptor goes to a kernel as the pointer that it is.
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @descriptor_control(%tensor: memref<*xf16>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %map = nvgpu.tma.create.descriptor %tensor box[%c64, %c64] : memref<*xf16> -> !map
  %pointer = builtin.unrealized_conversion_cast %map : !map to !llvm.ptr
  gpu.launch blocks(%i, %j, %k) in (%ni = %c1, %nj = %c1, %nk = %c1) threads(%x, %y, %z) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    %given = builtin.unrealized_conversion_cast %pointer : !llvm.ptr to !map
    nvgpu.tma.prefetch.descriptor %given : !map
    gpu.terminator
  }
  return
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @descriptor(%map: !map) {
  %c1 = arith.constant 1 : index
  // expected-error @+2 {{'gpu.func' op cannot be handed '!nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>'}}
  // expected-note @+1 {{hand it over as !llvm.ptr, with a builtin.unrealized_conversion_cast on either side}}
  gpu.launch blocks(%i, %j, %k) in (%ni = %c1, %nj = %c1, %nk = %c1) threads(%x, %y, %z) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    nvgpu.tma.prefetch.descriptor %map : !map
    gpu.terminator
  }
  return
}

// -----

// The control is every kernel with barriers.

!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
// expected-error @+2 {{'nvgpu.mbarrier.create' op must be in a function, got one in the module itself}}
// expected-note @+1 {{move it into a kernel}}
%bars = nvgpu.mbarrier.create -> !barriers
