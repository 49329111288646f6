// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of less than a byte are packed, so that none is accessed by itself: by any op, on any memref,
// on the host and on the GPU. Bools are bytes; each control differs in the element type only.
// RUN: tile-opt %s -tile-lower-subbyte-elements -split-input-file -verify-diagnostics -o %t

func.func @control_of_loads(%a: memref<8xi8>, %i: index) -> i8 {
  %x = memref.load %a[%i] : memref<8xi8>
  return %x : i8
}
func.func @control_of_bools(%a: memref<8xi1>, %i: index) -> i1 {
  %x = memref.load %a[%i] : memref<8xi1>
  return %x : i1
}
func.func @loads_of_4_bits(%a: memref<8xi4>, %i: index) -> i4 {
  // expected-error @+2 {{'memref.load' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed: declare the buffer as i8, and view it as 'i4' where tiles of it are copied}}
  %x = memref.load %a[%i] : memref<8xi4>
  return %x : i4
}

// -----

func.func @stores_of_2_bits(%a: memref<8xi2>, %i: index, %x: i2) {
  // expected-error @+2 {{'memref.store' op must access elements of whole bytes, or i1, got 'i2'}}
  // expected-note @+1 {{they are packed}}
  memref.store %x, %a[%i] : memref<8xi2>
  return
}

// -----

func.func @stores_of_3_bits(%a: memref<8xi3>, %i: index, %x: i3) {
  // expected-error @+2 {{'memref.store' op must access elements of whole bytes, or i1, got 'i3'}}
  // expected-note @+1 {{keep them as i8, and truncate what is loaded}}
  memref.store %x, %a[%i] : memref<8xi3>
  return
}

// -----

gpu.module @kernels {
  gpu.func @floats_of_4_bits(%a: memref<8xf4E2M1FN>, %i: index, %x: f4E2M1FN) kernel {
    // expected-error @+2 {{'memref.store' op must access elements of whole bytes, or i1, got 'f4E2M1FN'}}
    // expected-note @+1 {{they are packed}}
    memref.store %x, %a[%i] : memref<8xf4E2M1FN>
    gpu.return
  }
}

// -----

func.func @floats_of_6_bits(%a: memref<8xf6E2M3FN>, %i: index, %x: f6E2M3FN) {
  // expected-error @+2 {{'memref.store' op must access elements of whole bytes, or i1, got 'f6E2M3FN'}}
  // expected-note @+1 {{keep them as i8}}
  memref.store %x, %a[%i] : memref<8xf6E2M3FN>
  return
}

// -----

func.func @control_of_vectors(%a: memref<64xi8>, %i: index) -> vector<8xi8> {
  %x = vector.load %a[%i] : memref<64xi8>, vector<8xi8>
  return %x : vector<8xi8>
}
func.func @vectors(%a: memref<64xi4>, %i: index) -> vector<8xi4> {
  // expected-error @+2 {{'vector.load' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed}}
  %x = vector.load %a[%i] : memref<64xi4>, vector<8xi4>
  return %x : vector<8xi4>
}

// -----

func.func @transfers(%a: memref<64xi4>, %i: index, %x: vector<8xi4>) {
  // expected-error @+2 {{'vector.transfer_write' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed}}
  vector.transfer_write %x, %a[%i] : vector<8xi4>, memref<64xi4>
  return
}

// -----

func.func @layouts(%a: memref<8xi4, #tile.layout<(8) : (1)>>, %i: index) -> i4 {
  // expected-error @+2 {{'memref.load' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed}}
  %x = memref.load %a[%i] : memref<8xi4, #tile.layout<(8) : (1)>>
  return %x : i4
}

// -----

func.func @copies(%a: memref<64xi4>, %b: memref<64xi4>) {
  // expected-error @+2 {{'memref.copy' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed}}
  memref.copy %a, %b : memref<64xi4> to memref<64xi4>
  return
}

// -----

func.func @copies_to_the_device(%a: memref<64xi4>, %b: memref<64xi4>) {
  // expected-error @+2 {{'gpu.memcpy' op must access elements of whole bytes, or i1, got 'i4'}}
  // expected-note @+1 {{they are packed}}
  gpu.memcpy %a, %b : memref<64xi4>, memref<64xi4>
  return
}

// -----

memref.global "private" @control_of_globals : memref<2xi4, #gpu.address_space<workgroup>>
// expected-error @+2 {{'memref.global' op must access elements of whole bytes, or i1, got 'i4'}}
// expected-note @+1 {{they are packed}}
memref.global "private" @initial_value : memref<2xi4> = dense<[1, 2]>

// -----

// Memory pads what is no power of two of bits, and vectors do not.
func.func @control_of_padded(%a: memref<64xi24>, %b: memref<64xi32>, %i: index) -> vector<4xi32> {
  %x = memref.load %a[%i] : memref<64xi24>
  %v = vector.load %b[%i] : memref<64xi32>, vector<4xi32>
  return %v : vector<4xi32>
}
func.func @padded(%a: memref<64xi24>, %i: index) -> vector<4xi24> {
  // expected-error @+2 {{'vector.load' op must access elements of a power of two of bits, got 'i24'}}
  // expected-note @+1 {{memory pads them and vectors do not: load and store them one by one, or keep them in a wider type}}
  %v = vector.load %a[%i] : memref<64xi24>, vector<4xi24>
  return %v : vector<4xi24>
}

// -----

func.func @control_of_atomics(%a: memref<8xi32>, %i: index, %x: i32) -> i32 {
  %old = memref.atomic_rmw ori %x, %a[%i] : (i32, memref<8xi32>) -> i32
  return %old : i32
}
func.func @atomics(%a: memref<8xi1>, %i: index, %x: i1) -> i1 {
  // expected-error @+2 {{'memref.atomic_rmw' op cannot take a memref of 'i1'}}
  // expected-note @+1 {{load and store its elements or vectors of them, or keep them as i8}}
  %old = memref.atomic_rmw ori %x, %a[%i] : (i1, memref<8xi1>) -> i1
  return %old : i1
}

// -----

memref.global "private" @dense : memref<1xi1> = dense<true>
// expected-error @+2 {{'memref.global' op initial value of bools must be dense, got dense_resource<bits> : tensor<8xi1>}}
// expected-note @+1 {{write it as dense<...>, or keep it as i8}}
memref.global "private" @resource : memref<8xi1> = dense_resource<bits>

{-#
  dialect_resources: { builtin: { bits: "0x0100000001" } }
#-}
