// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What no pass lowers is refused where it stands, for the GPU before its places are dropped. Beside each
// stands the same with something that is lowered.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

gpu.module @kernels {
  gpu.func @half(%a: memref<4xf32>, %b: memref<4xf16>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<4xf32>
    %y = arith.truncf %x : f32 to f16
    memref.store %y, %b[%c0] : memref<4xf16>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @eighth(%a: memref<4xf32>, %b: memref<4xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<4xf32>
    // expected-error @+2 {{'arith.truncf' op cannot be compiled for the GPU: no pass lowers it to LLVM}}
    // expected-note @+1 {{lower it before tile-to-binary, or take another op or type}}
    %y = arith.truncf %x : f32 to f8E4M3FN
    memref.store %y, %b[%c0] : memref<4xf8E4M3FN>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @double(%x: f64) kernel {
    gpu.return
  }
  // expected-error @+2 {{'llvm.func' op has the type 'f128', which no GPU computes with}}
  // expected-note @+1 {{take f64}}
  gpu.func @quadruple(%x: f128) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @wide(%x: f64) kernel {
    // expected-error @+2 {{'llvm.fpext' op has the type 'f80', which no GPU computes with}}
    // expected-note @+1 {{take f64}}
    %y = arith.extf %x : f64 to f80
    %s = arith.addf %y, %y : f80
    %z = arith.truncf %s : f80 to f32
    gpu.printf "%f", %z : f32
    gpu.return
  }
}

// -----

func.func @lowered(%a: memref<4xf32>, %b: memref<4xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  return
}

// -----

func.func @copy(%a: memref<4xf32>, %b: memref<4xf32>) {
  // expected-error @+2 {{'linalg.copy' op cannot be compiled for the host: no pass lowers it to LLVM}}
  // expected-note @+1 {{lower it before tile-to-binary, or take another op or type}}
  linalg.copy ins(%a: memref<4xf32>) outs(%b: memref<4xf32>)
  return
}

// -----

// expected-error @+2 {{'func.func' op cannot be compiled for the host: no pass lowers it to LLVM}}
// expected-note @+1 {{lower it before tile-to-binary, or take another op or type}}
func.func @tensors(%a: tensor<4xf32>) {
  return
}

// -----

// Upstream's conversion reports its error without a place, and succeeds.
// expected-error @unknown {{conversion of memref memory space #gpu.address_space<workgroup> to integer address space failed}}
// expected-error @+2 {{'func.func' op cannot be compiled for the host: no pass lowers it to LLVM}}
// expected-note @+1 {{lower it before tile-to-binary, or take another op or type}}
func.func @shared_by_the_host(%m: memref<4xf32, #gpu.address_space<workgroup>>) {
  return
}

// -----

// LLVM declares a kernel's parameters by their bits, of which PTX has some.
gpu.module @kernels {
  gpu.func @control_of_parameters(%a: i1, %b: i8, %c: i64, %d: i128, %e: bf16, %f: vector<3xi4>) kernel {
    gpu.return
  }
  gpu.func @called(%a: i24) {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'llvm.func' op parameters must be i1 or have a power of two of bits, 8 or more, got 'i24'}}
  // expected-note @+1 {{pass a wider integer, and truncate it}}
  gpu.func @parameter_of_24_bits(%a: i32, %b: i24) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'llvm.func' op parameters must be i1 or have a power of two of bits, 8 or more, got 'i4'}}
  // expected-note @+1 {{pass a wider integer, and truncate it}}
  gpu.func @parameter_of_4_bits(%a: f4E2M1FN) kernel {
    gpu.return
  }
}
