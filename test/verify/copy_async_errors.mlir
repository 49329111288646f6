// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.copy_async is broken once; the function before it, or the op above it, keeps
// it and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// c1: the source is in workgroup or global memory: by upstream's attribute, or the integer that it becomes.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c1_source_in_workgroup_memory(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c1_source_in_space_3(%src: memref<8x16xf32, 3>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, 3> to !tile, !bars
  return
}

func.func @c1_source_in_global_memory(%src: memref<8x16xf32>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32> to !tile, !bars
  return
}

// -----

// c1: memory of another number is neither, such as that of a peer, which a copy maps itself.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c1_source_in_space_1(%src: memref<8x16xf32, 1>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, 1> to !tile, !bars
  return
}

func.func @c1_source_of_a_peer(%src: memref<8x16xf32, 7>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op source must be in workgroup or global memory, got 'memref<8x16xf32, 7>'}}
  // expected-note @+1 {{name the CTA's own buffer and cta(%rank): the copy maps it}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, 7> to !tile, !bars
  return
}

// -----

// c1: memory of another name is neither.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c1_source_in_private_memory(%src: memref<8x16xf32, #gpu.address_space<private>>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op source must be in workgroup or global memory, got 'memref<8x16xf32, #gpu.address_space<private>>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #gpu.address_space<private>> to !tile, !bars
  return
}

// -----

// c2: the destination is in workgroup or global memory.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c2_destination_in_workgroup_memory(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c2_destination_in_space_3(%src: !tile, %dst: memref<8x16xf32, 3>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<8x16xf32, 3>, !bars
  return
}

func.func @c2_destination_in_global_memory(%src: !tile, %dst: memref<8x16xf32, #gpu.address_space<global>>) {
  tile.copy_async %src to %dst : !tile to memref<8x16xf32, #gpu.address_space<global>>
  return
}

func.func @c2_destination_in_private_memory(%src: !tile, %dst: memref<8x16xf32, #gpu.address_space<private>>) {
  // expected-error @+1 {{'tile.copy_async' op destination must be in workgroup or global memory, got 'memref<8x16xf32, #gpu.address_space<private>>'}}
  tile.copy_async %src to %dst : !tile to memref<8x16xf32, #gpu.address_space<private>>
  return
}

// -----

// c3: the shapes are the same; layouts may differ.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c3_same_shape(%src: !tile, %dst: memref<8x16xf32, strided<[32, 1]>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<8x16xf32, strided<[32, 1]>, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c3_other_extent(%src: !tile, %dst: memref<8x8xf32, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op source and destination must have the same shape, got 'memref<8x16xf32, #gpu.address_space<workgroup>>' and 'memref<8x8xf32, #gpu.address_space<workgroup>>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<8x8xf32, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c3: a tile is not reshaped on the way.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c3_other_rank(%src: !tile, %dst: memref<128xf32, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op source and destination must have the same shape, got 'memref<8x16xf32, #gpu.address_space<workgroup>>' and 'memref<128xf32, #gpu.address_space<workgroup>>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<128xf32, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c4: the element types are the same, not only of one size.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c4_same_element_type(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c4_other_element_type(%src: !tile, %dst: memref<8x16xi32, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op source and destination must have the same element type, got 'f32' and 'i32'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<8x16xi32, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: elements are of whole bytes, as bools are, or of 2 or 4 bits, which are packed.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_i8(%src: memref<8x16xi8, #gpu.address_space<workgroup>>, %dst: memref<8x16xi8, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi8, #gpu.address_space<workgroup>> to memref<8x16xi8, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_i64(%src: memref<8x16xi64, #gpu.address_space<workgroup>>, %dst: memref<8x16xi64, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi64, #gpu.address_space<workgroup>> to memref<8x16xi64, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_bf16(%src: memref<8x16xbf16, #gpu.address_space<workgroup>>, %dst: memref<8x16xbf16, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xbf16, #gpu.address_space<workgroup>> to memref<8x16xbf16, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_f8e4m3fn(%src: memref<8x16xf8E4M3FN, #gpu.address_space<workgroup>>, %dst: memref<8x16xf8E4M3FN, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf8E4M3FN, #gpu.address_space<workgroup>> to memref<8x16xf8E4M3FN, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_index(%src: memref<8x16xindex, #gpu.address_space<workgroup>>, %dst: memref<8x16xindex, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xindex, #gpu.address_space<workgroup>> to memref<8x16xindex, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_i4(%src: memref<8x16xi4, #gpu.address_space<workgroup>>, %dst: memref<8x16xi4, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi4, #gpu.address_space<workgroup>> to memref<8x16xi4, #gpu.address_space<workgroup>>, !bars
  return
}

func.func @c5_i1(%src: memref<8x16xi1, #gpu.address_space<workgroup>>, %dst: memref<8x16xi1, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi1, #gpu.address_space<workgroup>> to memref<8x16xi1, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: three bits have no byte of their own.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_i3(%src: memref<8x16xi3, #gpu.address_space<workgroup>>, %dst: memref<8x16xi3, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'i3'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi3, #gpu.address_space<workgroup>> to memref<8x16xi3, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: a byte and a half is neither.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_i12(%src: memref<8x16xi12, #gpu.address_space<workgroup>>, %dst: memref<8x16xi12, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'i12'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi12, #gpu.address_space<workgroup>> to memref<8x16xi12, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: three bytes are padded to four in memory, five to eight; so are rows of vectors.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_i128(%src: memref<8x16xi128, #gpu.address_space<workgroup>>, %dst: memref<8x16xi128, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi128, #gpu.address_space<workgroup>> to memref<8x16xi128, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_i24(%src: memref<8x16xi24, #gpu.address_space<workgroup>>, %dst: memref<8x16xi24, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'i24'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi24, #gpu.address_space<workgroup>> to memref<8x16xi24, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_i40(%src: memref<8x16xi40, #gpu.address_space<workgroup>>, %dst: memref<8x16xi40, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'i40'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xi40, #gpu.address_space<workgroup>> to memref<8x16xi40, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_f80(%src: memref<8x16xf80, #gpu.address_space<workgroup>>, %dst: memref<8x16xf80, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'f80'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf80, #gpu.address_space<workgroup>> to memref<8x16xf80, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_complex_i24(%src: memref<8x16xcomplex<i24>, #gpu.address_space<workgroup>>, %dst: memref<8x16xcomplex<i24>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'complex<i24>'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xcomplex<i24>, #gpu.address_space<workgroup>> to memref<8x16xcomplex<i24>, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_rows(%src: memref<8x16xvector<2x16xi1>, #gpu.address_space<workgroup>>, %dst: memref<8x16xvector<2x16xi1>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xvector<2x16xi1>, #gpu.address_space<workgroup>> to memref<8x16xvector<2x16xi1>, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_rows_of_4_bits(%src: memref<8x16xvector<4x4xi1>, #gpu.address_space<workgroup>>, %dst: memref<8x16xvector<4x4xi1>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'vector<4x4xi1>'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xvector<4x4xi1>, #gpu.address_space<workgroup>> to memref<8x16xvector<4x4xi1>, #gpu.address_space<workgroup>>, !bars
  return
}
func.func @c5_rows_of_12_bytes(%src: memref<8x16xvector<4x3xf32>, #gpu.address_space<workgroup>>, %dst: memref<8x16xvector<4x3xf32>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op element type must be an integer, a float, index, complex or a vector of these, of whole bytes or of 2 or 4 bits, got 'vector<4x3xf32>'}}
  // expected-note @+1 {{pack elements of other sizes into i8}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xvector<4x3xf32>, #gpu.address_space<workgroup>> to memref<8x16xvector<4x3xf32>, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: floats of half a byte lie packed, too.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_f4(%src: memref<8x16xf4E2M1FN, #gpu.address_space<workgroup>>, %dst: memref<8x16xf4E2M1FN, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf4E2M1FN, #gpu.address_space<workgroup>> to memref<8x16xf4E2M1FN, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: vectors of a power of two of bits are elements.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_vector(%src: memref<8x16xvector<4xf32>, #gpu.address_space<workgroup>>, %dst: memref<8x16xvector<4xf32>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xvector<4xf32>, #gpu.address_space<workgroup>> to memref<8x16xvector<4xf32>, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c5: complex numbers are elements.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c5_complex(%src: memref<8x16xcomplex<f32>, #gpu.address_space<workgroup>>, %dst: memref<8x16xcomplex<f32>, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xcomplex<f32>, #gpu.address_space<workgroup>> to memref<8x16xcomplex<f32>, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c6: extents are static; strides and offsets are the analysis's matter.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c6_dynamic_strides(%src: memref<8x16xf32, strided<[?, ?], offset: ?>, #gpu.address_space<workgroup>>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, strided<[?, ?], offset: ?>, #gpu.address_space<workgroup>> to !tile, !bars
  return
}

func.func @c6_dynamic_source_extent(%src: memref<?x16xf32, #gpu.address_space<workgroup>>, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op source must have static extents, got '?' in dimension 0 of 'memref<?x16xf32, #gpu.address_space<workgroup>>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<?x16xf32, #gpu.address_space<workgroup>> to !tile, !bars
  return
}

// -----

// c6: the extents of the destination too.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c6_dynamic_destination_extent(%src: !tile, %dst: memref<8x?xf32, #gpu.address_space<workgroup>>, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op destination must have static extents, got '?' in dimension 1 of 'memref<8x?xf32, #gpu.address_space<workgroup>>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to memref<8x?xf32, #gpu.address_space<workgroup>>, !bars
  return
}

// -----

// c7: the barrier group is in workgroup memory.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c7_barriers_in_workgroup_memory(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c7_barriers_in_space_3(%src: !tile, %dst: !tile, %rank: i32, %bars: !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
  return
}

func.func @c7_barriers_in_global_memory(%src: !tile, %dst: !tile, %rank: i32, %bars: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>, num_barriers = 2>, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op barrier group must be in workgroup memory, got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>, num_barriers = 2>'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : !tile to !tile, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>, num_barriers = 2>
  return
}

// -----

// c8: a constant barrier index is inside the group.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c8_first_barrier(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 0 : index
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c])
      : !tile to !tile, !bars
  return
}

func.func @c8_last_barrier(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 1 : index
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c])
      : !tile to !tile, !bars
  return
}

func.func @c8_barrier_behind_the_last(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 2 : index
  // expected-error @+1 {{'tile.copy_async' op barrier index must be in 0 to 1, got 2}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c])
      : !tile to !tile, !bars
  return
}

// -----

// c8: an index does not wrap around.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c8_negative_barrier(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant -1 : index
  // expected-error @+1 {{'tile.copy_async' op barrier index must be in 0 to 1, got -1}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c])
      : !tile to !tile, !bars
  return
}

// -----

// c9: a constant rank is one that a cluster can have.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c9_first_rank(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 0 : i32
  tile.copy_async %src to %dst cta(%c) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c9_last_rank(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 15 : i32
  tile.copy_async %src to %dst cta(%c) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

func.func @c9_rank_16(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant 16 : i32
  // expected-error @+1 {{'tile.copy_async' op rank must be in 0 to 15, got 16}}
  tile.copy_async %src to %dst cta(%c) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

// -----

// c9: a rank does not wrap around.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c9_negative_rank(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  %c = arith.constant -1 : i32
  // expected-error @+1 {{'tile.copy_async' op rank must be in 0 to 15, got -1}}
  tile.copy_async %src to %dst cta(%c) mbarrier(%bars[%i])
      : !tile to !tile, !bars
  return
}

// -----

// c10: a forced variant exists.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c10_bulk(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {variant = "bulk"}
      : !tile to !tile, !bars
  return
}

func.func @c10_unknown_variant(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op variant must be one of bulk, st_async, got "bulkk"}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) {variant = "bulkk"}
      : !tile to !tile, !bars
  return
}

// -----

// The issuer is one that exists; the parser knows, so nothing of a wrong one is left to verify.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @issue_warp(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
      : !tile to !tile, !bars
  return
}

func.func @issue_cta(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta)
      : !tile to !tile, !bars
  return
}

func.func @issue_unknown(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  // expected-error @+1 {{issue must be thread, warp or cta, got 'lane'}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(lane)
      : !tile to !tile, !bars
  return
}
