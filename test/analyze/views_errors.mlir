// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views that start or end where no copy may. The control of each rule keeps it, and differs in nothing
// else.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// A tile starts at a multiple of 16 bytes of its buffer: f32 [1:17] starts at 4.
gpu.func @start_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<32xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[4] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 4>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 4>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @start_of_source_at_4_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<32xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[1] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 1>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got 4 bytes}}
  // expected-note @+2 {{move the tile so that it starts at a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 1>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @start_of_destination_at_8_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16xf32, #wg>, %dst: memref<32xf32, #wg>) kernel {
  %to = memref.subview %dst[2] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 2>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: destination must start at a multiple of 16 bytes, got 8 bytes}}
  // expected-note @+2 {{move the tile so that it starts at a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %to cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, strided<[1], offset: 2>, #wg>, !bars
  gpu.return
}

// A run-time part of the start is a multiple of 16 bytes by what is in sight.
gpu.func @run_time_start_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x20xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 0] [1, 16] [1, 1]
      : memref<8x20xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @run_time_start_of_rows_of_72_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x18xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 0] [1, 16] [1, 1]
      : memref<8x18xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 72 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements by a multiplication in sight}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @run_time_start_of_elements(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x20xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[0, %i] [1, 16] [1, 1]
      : memref<8x20xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements by a multiplication in sight}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Nothing is known of an offset that only the caller knows.
gpu.func @callers_offset_control(%rank: i32, %bars: !bars, %i: index,
                                 %src: memref<16xf32, strided<[1], offset: 4>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<16xf32, #wg>) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 4>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @callers_offset(%rank: i32, %bars: !bars, %i: index,
                         %src: memref<16xf32, strided<[1], offset: ?>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<16xf32, #wg>) {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note @+2 {{give the memref's type a constant offset}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Both parts of a sum are multiples; a quotient of a multiple is none.
gpu.func @sum_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %c4 = arith.constant 4 : index
  %fours = arith.muli %i, %c4 : index
  %sum = arith.addi %fours, %c4 : index
  %from = memref.subview %src[%sum] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @sum_of_a_multiple_and_2(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  %fours = arith.muli %i, %c4 : index
  %sum = arith.addi %fours, %c2 : index
  %from = memref.subview %src[%sum] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is always 8 bytes past a multiple of 16 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @quotient(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %c4 = arith.constant 4 : index
  %fours = arith.muli %i, %c4 : index
  %quotient = arith.divui %fours, %c4 : index
  %from = memref.subview %src[%quotient] [16] [1]
      : memref<128xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got a run-time offset that is a multiple of 4 bytes}}
  // expected-note @+2 {{make the offset a multiple of 4 elements by a multiplication in sight}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Where the known and the run-time part only together could be a multiple, nothing is proved.
gpu.func @known_part_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 4] [1, 16] [1, 1]
      : memref<8x32xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @known_part_of_8_bytes(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x32xf32, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 2] [1, 16] [1, 1]
      : memref<8x32xf32, #wg> to memref<16xf32, strided<[1], offset: ?>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got 8 bytes}}
  // expected-note @+2 {{move the tile so that it starts at a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// The shift of a memref.view is a multiple of 16 bytes too.
gpu.func @view_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %shift = arith.constant 48 : index
  %src = memref.view %bytes[%shift][] : memref<2048xi8, #wg> to memref<8x16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @view_at_byte_40(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %shift = arith.constant 40 : index
  %src = memref.view %bytes[%shift][] : memref<2048xi8, #wg> to memref<8x16xf32, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source view must begin at a multiple of 16 bytes, got byte 40}}
  // expected-note @+2 {{move the view to a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @view_at_a_byte_of_run_time(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %src: memref<8x16xf32, #wg>) kernel {
  %dst = memref.view %bytes[%i][] : memref<2048xi8, #wg> to memref<8x16xf32, #wg>
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination view must begin at a multiple of 16 bytes, got a run-time shift that is a multiple of 1 byte}}
  // expected-note @+1 {{multiply the shift by a constant that makes it a multiple of 16}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// The tile is inside its buffer: 128 elements of f32 are 512 bytes.
gpu.func @region_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<64xf32, #wg>) kernel {
  %from = memref.reinterpret_cast %src to offset: [64], sizes: [64], strides: [1]
      : memref<128xf32, #wg> to memref<64xf32, strided<[1], offset: 64>, #wg>
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xf32, strided<[1], offset: 64>, #wg> to memref<64xf32, #wg>, !bars
  gpu.return
}
gpu.func @region_behind_the_end(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<64xf32, #wg>) kernel {
  %from = memref.reinterpret_cast %src to offset: [68], sizes: [64], strides: [1]
      : memref<128xf32, #wg> to memref<64xf32, strided<[1], offset: 68>, #wg>
  // expected-error @+1 {{'tile.copy_async' op cannot be cut into bulk copies: source must end inside its buffer of 512 bytes, got byte 528}}
  tile.copy_async %from to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<64xf32, strided<[1], offset: 68>, #wg> to memref<64xf32, #wg>, !bars
  gpu.return
}
gpu.func @region_before_the_beginning(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<64xf32, #wg>, %dst: memref<128xf32, #wg>) kernel {
  %to = memref.reinterpret_cast %dst to offset: [32], sizes: [4, 16], strides: [-16, 1]
      : memref<128xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: 32>, #wg>
  %from = memref.expand_shape %src [[0, 1]] output_shape [4, 16]
      : memref<64xf32, #wg> into memref<4x16xf32, #wg>
  // expected-error @+1 {{'tile.copy_async' op cannot be cut into bulk copies: destination must begin inside its buffer, got byte -64}}
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<4x16xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: 32>, #wg>, !bars
  gpu.return
}
gpu.func @region_behind_the_end_of_a_view(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<2048xi8, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  %shift = arith.constant 1552 : index
  %src = memref.view %bytes[%shift][] : memref<2048xi8, #wg> to memref<8x16xf32, #wg>
  // expected-error @+1 {{'tile.copy_async' op cannot be cut into bulk copies: source must end inside its buffer of 2048 bytes, got byte 2064}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// Where the destination runs backwards, the copies begin at other elements than the tiles do; a start
// from a descriptor cannot say so.
gpu.func @backwards_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, #wg>, %dst: memref<64xf32, #wg>) kernel {
  %from = memref.subview %src[0, 0] [4, 16] [1, 1]
      : memref<8x16xf32, #wg> to memref<4x16xf32, strided<[16, 1]>, #wg>
  %to = memref.reinterpret_cast %dst to offset: [48], sizes: [4, 16], strides: [-16, 1]
      : memref<64xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<4x16xf32, strided<[16, 1]>, #wg>
        to memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>, !bars
  gpu.return
}
gpu.func @backwards_from_a_run_time_offset(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, #wg>, %dst: memref<64xf32, #wg>) kernel {
  %from = memref.subview %src[%i, 0] [4, 16] [1, 1]
      : memref<8x16xf32, #wg> to memref<4x16xf32, strided<[16, 1], offset: ?>, #wg>
  %to = memref.reinterpret_cast %dst to offset: [48], sizes: [4, 16], strides: [-16, 1]
      : memref<64xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: source must have a constant offset in its type where the destination runs backwards, got '?'}}
  // expected-note @+1 {{give both sides a constant offset, or strides that are not negative}}
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<4x16xf32, strided<[16, 1], offset: ?>, #wg>
        to memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>, !bars
  gpu.return
}
gpu.func @backwards_to_an_offset_in_the_descriptor(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x16xf32, #wg>, %dst: memref<64xf32, #wg>) kernel {
  %view = memref.reinterpret_cast %dst to offset: [48], sizes: [4, 16], strides: [-16, 1]
      : memref<64xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>
  %to = memref.cast %view : memref<4x16xf32, strided<[-16, 1], offset: 48>, #wg>
      to memref<4x16xf32, strided<[-16, 1], offset: ?>, #wg>
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination must have a constant offset in its type where the destination runs backwards, got '?'}}
  // expected-note @+1 {{give both sides a constant offset, or strides that are not negative}}
  tile.copy_async %src to %to cta(%rank) mbarrier(%bars[%i])
      : memref<4x16xf32, #wg> to memref<4x16xf32, strided<[-16, 1], offset: ?>, #wg>, !bars
  gpu.return
}

// A view leads to a buffer whose rank is known.
gpu.func @ranked_control(%rank: i32, %bars: !bars, %i: index,
                         %buffer: memref<?xf32, #wg> {llvm.align = 16})
    workgroup(%dst: memref<16xf32, #wg>) kernel {
  %src = memref.cast %buffer : memref<?xf32, #wg> to memref<16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @unranked(%rank: i32, %bars: !bars, %i: index,
                   %buffer: memref<*xf32, #wg> {llvm.align = 16})
    workgroup(%dst: memref<16xf32, #wg>) kernel {
  %src = memref.cast %buffer : memref<*xf32, #wg> to memref<16xf32, #wg>
  // expected-error @+1 {{'tile.copy_async' op source must be a view of a ranked buffer}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

}
