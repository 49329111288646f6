// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A buffer that the kernel does not declare itself must be known to be aligned to 16 bytes. The
// control of each rule keeps it, and differs in nothing else.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// An argument says how it is aligned.
gpu.func @argument_control(%src: memref<16xf32, #wg> {llvm.align = 16 : i64}, %rank: i32,
                           %bars: !bars, %i: index) workgroup(%dst: memref<16xf32, #wg>) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @argument_that_does_not_say(%src: memref<16xf32, #wg>, %rank: i32,
                                     %bars: !bars, %i: index) workgroup(%dst: memref<16xf32, #wg>) {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 1 byte}}
  // expected-note @+2 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @argument_aligned_to_8(%dst: memref<16xf32, #wg> {llvm.align = 8 : i64}, %rank: i32,
                                %bars: !bars, %i: index) workgroup(%src: memref<16xf32, #wg>) {
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: destination buffer must be aligned to 16 bytes, got an alignment of 8 bytes}}
  // expected-note @+2 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Or somebody assumes it.
gpu.func @assumption_control(%buffer: memref<16xf32, #wg>, %rank: i32, %bars: !bars, %i: index)
    workgroup(%dst: memref<16xf32, #wg>) {
  %src = memref.assume_alignment %buffer, 16 : memref<16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @assumption_of_8(%buffer: memref<16xf32, #wg>, %rank: i32, %bars: !bars, %i: index)
    workgroup(%dst: memref<16xf32, #wg>) {
  %src = memref.assume_alignment %buffer, 8 : memref<16xf32, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 1 byte}}
  // expected-note @+2 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
// What starts 4 bytes behind an assumption and is assumed aligned itself contradicts it, or the
// assumption means another place: nothing is proved.
gpu.func @assumption_about_an_odd_view(%buffer: memref<20xf32, #wg>, %rank: i32, %bars: !bars,
                                       %i: index) workgroup(%dst: memref<16xf32, #wg>) {
  %view = memref.subview %buffer[1] [16] [1]
      : memref<20xf32, #wg> to memref<16xf32, strided<[1], offset: 1>, #wg>
  %src = memref.assume_alignment %view, 16 : memref<16xf32, strided<[1], offset: 1>, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source must start at a multiple of 16 bytes, got 4 bytes}}
  // expected-note @+2 {{move the tile so that it starts at a multiple of 16 bytes}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 1>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// An allocation in a kernel is no shared memory, however it is aligned.
gpu.func @allocation(%rank: i32, %bars: !bars, %i: index) workgroup(%dst: memref<16xf32, #wg>) {
  %src = memref.alloc() {alignment = 16 : i64} : memref<16xf32, #wg>
  // expected-error @+2 {{'tile.copy_async' op source must be in shared memory, got what the kernel allocates elsewhere}}
  // expected-note @+1 {{declare it as a workgroup attribution of the kernel}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// A promise of 0, or of more than fits, is none.
gpu.func @argument_aligned_to_0(%dst: memref<16xf32, #wg> {llvm.align = 0 : i64}, %rank: i32,
                                %bars: !bars, %i: index) workgroup(%src: memref<16xf32, #wg>) {
  // expected-error @+2 {{'tile.copy_async' op cannot be cut into bulk copies: destination buffer must be aligned to 16 bytes, got an alignment of 1}}
  // expected-note @+1 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Of several buffers each must be aligned, and those of the kernel's own are.
gpu.func @choice_control(%rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<16xf32, #wg>, %b: memref<16xf32, #wg>, %dst: memref<16xf32, #wg>) {
  %src = arith.select %which, %a, %b : memref<16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}
gpu.func @choice_of_an_argument(%b: memref<16xf32, #wg>, %rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<16xf32, #wg>, %dst: memref<16xf32, #wg>) {
  %src = arith.select %which, %a, %b : memref<16xf32, #wg>
  // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 1 byte}}
  // expected-note @+2 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
  // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// A buffer that moves from round to round may be anywhere.
gpu.func @moving_control(%rank: i32, %bars: !bars, %i: index, %n: index)
    workgroup(%buffer: memref<256xi8, #wg>, %dst: memref<16xf32, #wg>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.view %buffer[%c0][] : memref<256xi8, #wg> to memref<16xf32, #wg>
  %last = scf.for %round = %c0 to %n step %c1 iter_args(%src = %first) -> memref<16xf32, #wg> {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
        : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
    scf.yield %src : memref<16xf32, #wg>
  }
  gpu.return
}
gpu.func @moving(%rank: i32, %bars: !bars, %i: index, %n: index)
    workgroup(%buffer: memref<256xi8, #wg>, %dst: memref<16xf32, #wg>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %last = scf.for %round = %c0 to %n step %c1 iter_args(%bytes = %buffer) -> memref<256xi8, #wg> {
    %src = memref.view %bytes[%c0][] : memref<256xi8, #wg> to memref<16xf32, #wg>
    // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 1 byte}}
    // expected-note @+2 {{say how the buffer is aligned: llvm.align = 16 on the argument, or memref.assume_alignment}}
    // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
        : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
    %next = memref.view %bytes[%c4][] : memref<256xi8, #wg> to memref<256xi8, #wg>
    scf.yield %next : memref<256xi8, #wg>
  }
  gpu.return
}

}
