// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
gpu.module @math {
  gpu.func @f32(%x: memref<256xf32>, %y: memref<12x256xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<256xf32>
    %c0 = arith.constant 0 : index
    %r0 = math.exp %v : f32
    memref.store %r0, %y[%c0, %t] : memref<12x256xf32>
    %c1 = arith.constant 1 : index
    %r1 = math.log %v : f32
    memref.store %r1, %y[%c1, %t] : memref<12x256xf32>
    %c2 = arith.constant 2 : index
    %r2 = math.sin %v : f32
    memref.store %r2, %y[%c2, %t] : memref<12x256xf32>
    %c3 = arith.constant 3 : index
    %r3 = math.cos %v : f32
    memref.store %r3, %y[%c3, %t] : memref<12x256xf32>
    %c4 = arith.constant 4 : index
    %r4 = math.tanh %v : f32
    memref.store %r4, %y[%c4, %t] : memref<12x256xf32>
    %c5 = arith.constant 5 : index
    %r5 = math.sqrt %v : f32
    memref.store %r5, %y[%c5, %t] : memref<12x256xf32>
    %c6 = arith.constant 6 : index
    %r6 = math.rsqrt %v : f32
    memref.store %r6, %y[%c6, %t] : memref<12x256xf32>
    %c7 = arith.constant 7 : index
    %r7 = math.erf %v : f32
    memref.store %r7, %y[%c7, %t] : memref<12x256xf32>
    %c8 = arith.constant 8 : index
    %r8 = math.floor %v : f32
    memref.store %r8, %y[%c8, %t] : memref<12x256xf32>
    %c9 = arith.constant 9 : index
    %r9 = math.roundeven %v : f32
    memref.store %r9, %y[%c9, %t] : memref<12x256xf32>
    %c10 = arith.constant 10 : index
    %r10 = math.round %v : f32
    memref.store %r10, %y[%c10, %t] : memref<12x256xf32>
    %c11 = arith.constant 11 : index
    %p = math.powf %v, %r0 : f32
    memref.store %p, %y[%c11, %t] : memref<12x256xf32>
    gpu.return
  }
  gpu.func @f64(%x: memref<256xf64>, %y: memref<12x256xf64>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<256xf64>
    %c0 = arith.constant 0 : index
    %r0 = math.exp %v : f64
    memref.store %r0, %y[%c0, %t] : memref<12x256xf64>
    %c1 = arith.constant 1 : index
    %r1 = math.log %v : f64
    memref.store %r1, %y[%c1, %t] : memref<12x256xf64>
    %c2 = arith.constant 2 : index
    %r2 = math.sin %v : f64
    memref.store %r2, %y[%c2, %t] : memref<12x256xf64>
    %c3 = arith.constant 3 : index
    %r3 = math.cos %v : f64
    memref.store %r3, %y[%c3, %t] : memref<12x256xf64>
    %c4 = arith.constant 4 : index
    %r4 = math.tanh %v : f64
    memref.store %r4, %y[%c4, %t] : memref<12x256xf64>
    %c5 = arith.constant 5 : index
    %r5 = math.sqrt %v : f64
    memref.store %r5, %y[%c5, %t] : memref<12x256xf64>
    %c6 = arith.constant 6 : index
    %r6 = math.rsqrt %v : f64
    memref.store %r6, %y[%c6, %t] : memref<12x256xf64>
    %c7 = arith.constant 7 : index
    %r7 = math.erf %v : f64
    memref.store %r7, %y[%c7, %t] : memref<12x256xf64>
    %c8 = arith.constant 8 : index
    %r8 = math.floor %v : f64
    memref.store %r8, %y[%c8, %t] : memref<12x256xf64>
    %c9 = arith.constant 9 : index
    %r9 = math.roundeven %v : f64
    memref.store %r9, %y[%c9, %t] : memref<12x256xf64>
    %c10 = arith.constant 10 : index
    %r10 = math.round %v : f64
    memref.store %r10, %y[%c10, %t] : memref<12x256xf64>
    %c11 = arith.constant 11 : index
    %p = math.powf %v, %r0 : f64
    memref.store %p, %y[%c11, %t] : memref<12x256xf64>
    gpu.return
  }
}
