// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types on which upstream's passes or LLVM end the process are refused at the op that has them, on the host
// and on the GPU. The first function holds a control of each.
// RUN: tile-opt %s -tile-check-types -split-input-file -verify-diagnostics -o %t

func.func @control(%a: memref<4294967296x1073741824xf16>, %b: memref<4294967296x?x0xf16>,
                   %c: memref<8xi32, 16777215>, %d: memref<8xi32, #gpu.address_space<private>>,
                   %e: vector<4xi32>, %f: i8388608, %g: memref<*xi32, 3>,
                   %h: memref<8xi32> {llvm.align = 4294967296 : i64}) {
  return
}

// -----

// expected-error @+1 {{'func.func' op must have types of fewer than 2^63 elements, got 'memref<4294967296x2147483648xf16>'}}
func.func @too_many(%a: memref<4294967296x2147483648xf16>) {
  return
}

// -----

// Strides are made of the other extents, whatever is between them.
// expected-error @+1 {{'func.func' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296x?xf16>'}}
func.func @too_many_of_an_unknown_number(%a: memref<4294967296x4294967296x?xf16>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296x0xf16>'}}
func.func private @declared(memref<4294967296x4294967296x0xf16>)

// -----

func.func @in_the_body() {
  // expected-error @+1 {{'memref.alloc' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296xf16>'}}
  %a = memref.alloc() : memref<4294967296x4294967296xf16>
  return
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op must have types of fewer than 2^63 elements, got 'memref<4294967296x4294967296xf16, 3>'}}
  gpu.func @attribution() workgroup(%a: memref<4294967296x4294967296xf16, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @scalable(%a: memref<8xi32>, %i: index) kernel {
    // expected-error @+2 {{'vector.load' op vectors must be of a fixed size, got 'vector<[4]xi32>'}}
    // expected-note @+1 {{drop the brackets}}
    %x = vector.load %a[%i] : memref<8xi32>, vector<[4]xi32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{'func.func' op integers must have 1 to 8388608 bits, got 'i0'}}
func.func @no_bits(%a: memref<8xi0>) {
  return
}

// -----

// expected-error @+1 {{'func.func' op integers must have 1 to 8388608 bits, got 'i8388609'}}
func.func @too_many_bits(%a: i8388609) {
  return
}

// -----

// expected-error @+2 {{'func.func' op memory spaces must be numbers from 0 to 16777215 or #gpu.address_space, got "shared"}}
// expected-note @+1 {{take #gpu.address_space<global>, <workgroup> or <private>}}
func.func @space_of_text(%a: memref<8xi32, "shared">) {
  return
}

// -----

// expected-error @+2 {{'func.func' op memory spaces must be numbers from 0 to 16777215 or #gpu.address_space, got -1 : i64}}
// expected-note @+1 {{take #gpu.address_space<global>, <workgroup> or <private>}}
func.func @space_below_0(%a: memref<8xi32, -1>) {
  return
}

// -----

// expected-error @+2 {{'func.func' op memory spaces must be numbers from 0 to 16777215 or #gpu.address_space, got 16777216 : i64}}
// expected-note @+1 {{take #gpu.address_space<global>, <workgroup> or <private>}}
func.func @space_of_25_bits(%a: memref<*xi32, 16777216>) {
  return
}

// -----

// expected-error @+2 {{'func.func' op llvm.align must be a power of two of at most 4294967296, got 3 : i64}}
// expected-note @+1 {{write llvm.align = 16 : i64, for one of 16 bytes}}
func.func @alignment_of_3(%a: memref<8xi32> {llvm.align = 3 : i64}) {
  return
}

// -----

// expected-error @+2 {{'func.func' op llvm.align must be a power of two of at most 4294967296, got 16 : ui32}}
// expected-note @+1 {{write llvm.align = 16 : i64, for one of 16 bytes}}
func.func @alignment_with_a_sign(%a: memref<8xi32> {llvm.align = 16 : ui32}) {
  return
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op llvm.align must be a power of two of at most 4294967296, got 1267650600228229401496703205376 : i256}}
  // expected-note @+1 {{write llvm.align = 16 : i64, for one of 16 bytes}}
  gpu.func @alignment_of_many_bits() workgroup(%a: memref<4xi32, 3> {llvm.align = 1267650600228229401496703205376 : i256}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @heap() kernel {
    // expected-error @+2 {{'memref.alloc' op cannot allocate workgroup memory, got 'memref<4xf32, #gpu.address_space<workgroup>>'}}
    // expected-note @+1 {{declare it as a workgroup attribution of the kernel}}
    %own = memref.alloc() {alignment = 16 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

func.func @stack_in_a_launch() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%i, %j, %k) in (%ni = %c1, %nj = %c1, %nk = %c1) threads(%x, %y, %z) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    %control = memref.alloca() : memref<4xf32, #gpu.address_space<private>>
    // expected-error @+2 {{'memref.alloca' op cannot allocate workgroup memory, got 'memref<4xf32, 3>'}}
    // expected-note @+1 {{declare it as a workgroup attribution of the kernel}}
    %own = memref.alloca() : memref<4xf32, 3>
    gpu.terminator
  }
  return
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op cannot have values of tf32: no register or memory holds them}}
  // expected-note @+1 {{take f32, which tensor cores round to tf32}}
  gpu.func @tf32() workgroup(%a: memref<4xvector<4xtf32>, 3>) kernel {
    gpu.return
  }
}
