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
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 8 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements by a multiplication in sight, or promise it with tile.assume_multiple}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
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
    // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is always 8 bytes past a multiple of 16 bytes}}
    // expected-note @+2 {{make the offset a multiple of 4 elements}}
    // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
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
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is always 4 bytes past a multiple of 16 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
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
  // expected-error @+3 {{got a run-time offset that is a multiple of 4 bytes: %arg3 * 2 + %arg4}}
  // expected-note @+2 {{make the offset a multiple of 4 elements}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

// The product of 8 bits may wrap, and is then no multiple of 3: its third is anything.
gpu.func @third_of_a_wide_product(%rank: i32, %bars: !bars, %i: index, %x: i8) workgroup(%src: !rows, %dst: !dst) kernel {
  %c12 = arith.constant 12 : i32
  %c3 = arith.constant 3 : i32
  %wide = arith.extsi %x : i8 to i32
  %product = arith.muli %wide, %c12 : i32
  %third = arith.divsi %product, %c3 : i32
  %at = arith.index_cast %third : i32 to index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}
gpu.func @third_of_a_product_that_wraps(%rank: i32, %bars: !bars, %i: index, %x: i8) workgroup(%src: !rows, %dst: !dst) kernel {
  %c12 = arith.constant 12 : i8
  %c3 = arith.constant 3 : i8
  %product = arith.muli %x, %c12 : i8
  %third = arith.divsi %product, %c3 : i8
  %at = arith.index_cast %third : i8 to index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements by a multiplication in sight}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

// What the offset is always past a multiple counts with what is known of it: 4 * %x + 2 and 2 more.
gpu.func @known_part_that_makes_up(%rank: i32, %bars: !bars, %i: index, %x: index) workgroup(%src: memref<8x256xf32, #wg>, %dst: !dst) kernel {
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  %four = arith.muli %x, %c4 : index
  %at = arith.addi %four, %c2 : index
  %row = memref.subview %src[0, %at] [8, 64] [1, 1] : memref<8x256xf32, #wg> to memref<8x64xf32, strided<[256, 1], offset: ?>, #wg>
  %from = memref.subview %row[1, 2] [1, 16] [1, 1] : memref<8x64xf32, strided<[256, 1], offset: ?>, #wg> to !part
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}
// No promise makes 4 * %x + 3 a multiple of 4.
gpu.func @no_promise_helps(%rank: i32, %bars: !bars, %i: index, %x: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %c4 = arith.constant 4 : index
  %c3 = arith.constant 3 : index
  %four = arith.muli %x, %c4 : index
  %at = arith.addi %four, %c3 : index
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is always 12 bytes past a multiple of 16 bytes: %arg3 * 4 + 3}}
  // expected-note-re @+2 {{{{^}}make the offset a multiple of 4 elements{{$}}}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}
// Nor does one of what counts threads.
gpu.func @threads_count(%rank: i32, %bars: !bars, %i: index, %x: index) workgroup(%src: !rows, %dst: !dst) kernel {
  %at = gpu.thread_id x
  %from = memref.subview %src[%at] [16] [1] : !rows to !part
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note-re @+2 {{{{^}}make the offset a multiple of 4 elements by a multiplication in sight{{$}}}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i]) : !part to !dst, !bars
  gpu.return
}

}
