// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Through device memory and back, in a function whose name is that of the C++ program's own.

func.func @main(%a: memref<4x?xf32>, %b: memref<4x?xf32>) attributes {llvm.emit_c_interface} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c1 : memref<4x?xf32>
  %start = gpu.wait async
  %device, %t0 = gpu.alloc async [%start] (%n) : memref<4x?xf32>
  %t1 = gpu.memcpy async [%t0] %device, %a : memref<4x?xf32>, memref<4x?xf32>
  %t2 = gpu.memcpy async [%t1] %b, %device : memref<4x?xf32>, memref<4x?xf32>
  %t3 = gpu.dealloc async [%t2] %device : memref<4x?xf32>
  gpu.wait [%t3]
  return
}
