// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs of strided layouts that cannot be proved. The control of each rule keeps it, and differs in
// nothing else. A comment gives the tiles as extents:strides, in elements.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// A chunk is a multiple of 16 bytes: (4,64):(64,1) to (4,64):(1,4) agrees on single elements only.
gpu.func @run_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x64xf16, #wg>, %dst: memref<4x64xf16, strided<[64, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x64xf16, #wg> to memref<4x64xf16, strided<[64, 1]>, #wg>, !bars
  gpu.return
}
gpu.func @run_transposed(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x64xf16, #wg>, %dst: memref<4x64xf16, strided<[1, 4]>, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 2 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x64xf16, #wg> to memref<4x64xf16, strided<[1, 4]>, #wg>, !bars
  gpu.return
}

// f32 (127) and (126): the sizes are multiples of 4 and of 8 bytes, not of 16.
gpu.func @size_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<128xf32, #wg>, %dst: memref<128xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<128xf32, #wg> to memref<128xf32, #wg>, !bars
  gpu.return
}
gpu.func @size_508(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<127xf32, #wg>, %dst: memref<127xf32, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 508 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<127xf32, #wg> to memref<127xf32, #wg>, !bars
  gpu.return
}

gpu.func @size_504(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<126xf32, #wg>, %dst: memref<126xf32, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 504 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<126xf32, #wg> to memref<126xf32, #wg>, !bars
  gpu.return
}

// A stride of extent 1 means nothing; the stride of a neighbour does.
gpu.func @stride_of_extent_one_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16x1xf32, strided<[1, 3]>, #wg>, %dst: memref<16x1xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16x1xf32, strided<[1, 3]>, #wg> to memref<16x1xf32, #wg>, !bars
  gpu.return
}
gpu.func @stride_of_extent_two(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16x2xf32, strided<[1, 3]>, #wg>, %dst: memref<16x2xf32, #wg>) kernel {
  // expected-error @+4 {{'tile.copy_async' op cannot be cut into bulk copies: the longest run common to both layouts is 4 bytes, it must be a multiple of 16 bytes}}
  // expected-note @+3 {{the source is #tile.layout<}}
  // expected-note @+2 {{choose layouts that agree on runs of a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16x2xf32, strided<[1, 3]>, #wg> to memref<16x2xf32, #wg>, !bars
  gpu.return
}

// Every chunk starts at a multiple of 16 bytes: of f16 (4,8):(12,1), row 1 starts at 24.
gpu.func @pitch_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x8xf16, strided<[16, 1]>, #wg>,
              %dst: memref<4x8xf16, strided<[16, 1]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x8xf16, strided<[16, 1]>, #wg> to memref<4x8xf16, strided<[16, 1]>, #wg>, !bars
  gpu.return
}
gpu.func @pitch_of_24_bytes_in_the_source(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x8xf16, strided<[12, 1]>, #wg>,
              %dst: memref<4x8xf16, strided<[12, 1]>, #wg>) kernel {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source chunks must lie multiples of 16 bytes apart, got 24 bytes: the second one starts at 24 bytes}}
  // expected-note @+2 {{pad the pitch of the buffer to a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x8xf16, strided<[12, 1]>, #wg> to memref<4x8xf16, strided<[12, 1]>, #wg>, !bars
  gpu.return
}
gpu.func @pitch_of_24_bytes_in_the_destination(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x8xf16, strided<[16, 1]>, #wg>,
              %dst: memref<4x8xf16, strided<[12, 1]>, #wg>) kernel {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: destination chunks must lie multiples of 16 bytes apart, got 24 bytes: the second one starts at 24 bytes}}
  // expected-note @+2 {{pad the pitch of the buffer to a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x8xf16, strided<[16, 1]>, #wg> to memref<4x8xf16, strided<[12, 1]>, #wg>, !bars
  gpu.return
}

// The destination has a place for each element; the source need not.
gpu.func @overlap_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x64xf32, strided<[0, 1]>, #wg>, %dst: memref<4x64xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x64xf32, strided<[0, 1]>, #wg> to memref<4x64xf32, #wg>, !bars
  gpu.return
}
gpu.func @overlap_of_broadcast_destination(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4x64xf32, #wg>, %dst: memref<4x64xf32, strided<[0, 1]>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination must not overlap itself, got (0, 0) and (1, 0) at one place}}
  // expected-note @+1 {{copy into a buffer that has a place for each element}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4x64xf32, #wg> to memref<4x64xf32, strided<[0, 1]>, #wg>, !bars
  gpu.return
}
// (2,64):(32,1): the second row begins in the middle of the first.
gpu.func @overlap_of_rows(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<2x64xf32, #wg>, %dst: memref<2x64xf32, strided<[32, 1]>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination must not overlap itself, got (0, 32) and (1, 0) at one place}}
  // expected-note @+1 {{copy into a buffer that has a place for each element}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<2x64xf32, #wg> to memref<2x64xf32, strided<[32, 1]>, #wg>, !bars
  gpu.return
}

// One phase of an mbarrier counts 1048575 bytes.
gpu.func @phase_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<1048560xi8, #wg>, %dst: memref<1048560xi8, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1048560xi8, #wg> to memref<1048560xi8, #wg>, !bars
  gpu.return
}
gpu.func @phase_of_1_mib(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<1048576xi8, #wg>, %dst: memref<1048576xi8, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: tile must have at most 1048575 bytes, which is what one phase of an mbarrier counts, got 1048576 bytes}}
  // expected-note @+1 {{split the tile and give each part a phase of its own}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1048576xi8, #wg> to memref<1048576xi8, #wg>, !bars
  gpu.return
}
gpu.func @phase_of_more_than_64_bits(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<4294967296x1073741824xi8, strided<[1073741824, 1]>, #wg>,
              %dst: memref<4294967296x1073741824xi8, strided<[1073741824, 1]>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: tile must have at most 1048575 bytes, which is what one phase of an mbarrier counts, got 4611686018427387904 elements of 1 byte}}
  // expected-note @+1 {{split the tile and give each part a phase of its own}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<4294967296x1073741824xi8, strided<[1073741824, 1]>, #wg>
        to memref<4294967296x1073741824xi8, strided<[1073741824, 1]>, #wg>, !bars
  gpu.return
}

// A tile of no elements has no byte that could break a rule.
gpu.func @no_elements_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<0x3xf32, strided<[0, 7]>, #wg>,
              %dst: memref<0x3xf32, strided<[0, 0]>, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<0x3xf32, strided<[0, 7]>, #wg> to memref<0x3xf32, strided<[0, 0]>, #wg>, !bars
  gpu.return
}
gpu.func @one_row_of_elements(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<1x3xf32, strided<[0, 7]>, #wg>,
              %dst: memref<1x3xf32, strided<[0, 0]>, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination must not overlap itself, got (0, 0) and (0, 1) at one place}}
  // expected-note @+1 {{copy into a buffer that has a place for each element}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<1x3xf32, strided<[0, 7]>, #wg> to memref<1x3xf32, strided<[0, 0]>, #wg>, !bars
  gpu.return
}

// The buffer is declared with the bytes that it spans: a stride cannot lead in front of it.
gpu.func @forward_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, strided<[16, 1]>, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[16, 1]>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @backward(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, strided<[-16, 1]>, #wg>, %dst: memref<8x16xf32, #wg>) kernel {
  // expected-error @+1 {{'tile.copy_async' op cannot be cut into bulk copies: source must begin inside its buffer, got byte -448}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[-16, 1]>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// Addresses are of 64 bits.
gpu.func @reach_control(%rank: i32, %bars: !bars, %i: index,
                        %src: memref<2x16xf32, strided<[1048576, 1]>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<2x16xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<2x16xf32, strided<[1048576, 1]>, #wg> to memref<2x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @reach_beyond_64_bits(%rank: i32, %bars: !bars, %i: index,
                               %src: memref<2x16xf32, strided<[9223372036854775792, 1]>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<2x16xf32, #wg>) kernel {
  // expected-error @+1 {{'tile.copy_async' op cannot be cut into bulk copies: source must reach fewer than 2^63 bits}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<2x16xf32, strided<[9223372036854775792, 1]>, #wg> to memref<2x16xf32, #wg>, !bars
  gpu.return
}

// Strides are constants.
gpu.func @strides_control(%rank: i32, %bars: !bars, %i: index,
                          %src: memref<8x16xf32, strided<[16, 1]>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<8x16xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[16, 1]>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @strides_of_run_time(%rank: i32, %bars: !bars, %i: index,
                              %src: memref<8x16xf32, strided<[?, 1]>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<8x16xf32, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op source must have a layout of constant strides, got memref<8x16xf32, strided<[?, 1]>, #gpu.address_space<workgroup>>}}
  // expected-note @+1 {{give the memref a strided layout with static strides}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[?, 1]>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}
gpu.func @strides_that_are_none(%rank: i32, %bars: !bars, %i: index,
                                %src: memref<8x16xf32, affine_map<(a, b) -> (a * 16 + b mod 8)>, #wg> {llvm.align = 16})
    workgroup(%dst: memref<8x16xf32, #wg>) kernel {
  // expected-error @+2 {{'tile.copy_async' op source must have a layout of constant strides, got memref<8x16xf32, affine_map<(d0, d1) -> (d0 * 16 + d1 mod 8)>, #gpu.address_space<workgroup>>}}
  // expected-note @+1 {{give the memref a strided layout with static strides}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, affine_map<(a, b) -> (a * 16 + b mod 8)>, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

}
