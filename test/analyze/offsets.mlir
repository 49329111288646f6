// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is proved to divide a run-time offset. Rows are 4 bytes each, so that an offset must be a
// multiple of 4 rows; the last kernel of each pair lacks the proof.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!rows = memref<256xf32, #gpu.address_space<workgroup>>
!part = memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!dst = memref<16xf32, #gpu.address_space<workgroup>>

gpu.module @kernels {

gpu.func @affine(%rank: i32, %bars: !bars, %i: index, %x: index, %y: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %at = affine.apply affine_map<(d0)[s0] -> (d0 * 8 + (s0 floordiv 2) * 4)>(%x)[%y]
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}
gpu.func @affine_of_2(%rank: i32, %bars: !bars, %i: index, %x: index, %y: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %at = affine.apply affine_map<(d0)[s0] -> (d0 * 8 + (s0 floordiv 2) * 2)>(%x)[%y]
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 8 bytes}}
  // expected-note @+1 {{make the offset a multiple of 4 elements by a multiplication in sight, or promise it with tile.assume_multiple}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

// A loop begins at and steps by multiples.
gpu.func @loop(%rank: i32, %bars: !bars, %i: index, %n: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  scf.for %at = %c16 to %n step %c4 {
    %from = memref.subview %src[%at] [16] [1] : !rows to !part
    tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  }
  gpu.return
}
gpu.func @loop_from_2(%rank: i32, %bars: !bars, %i: index, %n: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %at = %c2 to %n step %c4 {
    %from = memref.subview %src[%at] [16] [1] : !rows to !part
    // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 8 bytes}}
    // expected-note @+1 {{make the offset a multiple of 4 elements}}
    tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  }
  gpu.return
}

// 160 is -96 to who reads 8 bits with a sign, of which 3 is a divisor.
gpu.func @widened(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c96 = arith.constant 96 : i8
  %c3 = arith.constant 3 : i32
  %wide = arith.extui %c96 : i8 to i32
  %third = arith.divui %wide, %c3 : i32
  %at = arith.index_cast %third : i32 to index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}
gpu.func @widened_160(%rank: i32, %bars: !bars, %i: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c160 = arith.constant 160 : i8
  %c3 = arith.constant 3 : i32
  %wide = arith.extui %c160 : i8 to i32
  %third = arith.divui %wide, %c3 : i32
  %at = arith.index_cast %third : i32 to index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note @+1 {{make the offset a multiple of 4 elements}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

// Shifts, casts, sums, remainders and thread numbers.
gpu.func @arithmetic(%rank: i32, %bars: !bars, %i: index, %x: i32) workgroup(%src: !rows, %dst: !dst) kernel {
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c12_i32 = arith.constant 12 : i32
  %c64 = arith.constant 64 : index
  %thread = gpu.thread_id x
  %shifted = arith.shli %thread, %c2 : index
  %scaled = arith.muli %x, %c12_i32 : i32
  %cast = arith.index_cast %scaled : i32 to index
  %sum = arith.addi %shifted, %cast : index
  %at = arith.remui %sum, %c64 : index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

// The error prints the offset as far as it was understood.
gpu.func @expression(%rank: i32, %bars: !bars, %i: index, %x: index, %y: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c2 = arith.constant 2 : index
  %double = arith.muli %x, %c2 : index
  %at = arith.addi %double, %y : index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+2 {{got a run-time offset that is a multiple of 4 bytes: %arg3 * 2 + %arg4}}
  // expected-note @+1 {{make the offset a multiple of 4 elements}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

}
