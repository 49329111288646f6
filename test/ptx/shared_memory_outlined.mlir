// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The buffers of a gpu.launch are placed as those of a kernel: the launch is outlined first.

// RUN: tile-compile %s --to nvvm | FileCheck %s
// RUN: tile-compile %s --to ptx | FileCheck %s --check-prefix=PTX

// 50000 bytes round up to 50048, where the 256 of the launch begin.

// CHECK:     %[[BYTES:.*]] = {{arith|llvm.mlir}}.constant{{.*}}50304 : i32
// CHECK:     gpu.launch_func @main_kernel::@main_kernel {{.*}} dynamic_shared_memory_size %[[BYTES]]
// CHECK:     llvm.func @main_kernel({{.*}} tile.dynamic_shared_memory_front = 50048 : i64

// PTX:       .extern .shared .align 128 .b8 __dynamic_shared_memory[];
// PTX-NOT:   .shared .align
// PTX-DAG:   st.shared.b8 [__dynamic_shared_memory+49999]
// PTX-DAG:   st.shared.b8 [__dynamic_shared_memory+50048]

func.func @main(%out: memref<1xi8>) {
  %c1 = arith.constant 1 : index
  %bytes = arith.constant 256 : i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             dynamic_shared_memory_size %bytes
             workgroup(%a: memref<50000xi8, #gpu.address_space<workgroup>>) {
    %c0 = arith.constant 0 : index
    %last = arith.constant 49999 : index
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %b = memref.view %dynamic[%c0][]
        : memref<?xi8, #gpu.address_space<workgroup>> to memref<256xi8, #gpu.address_space<workgroup>>
    %x = memref.load %out[%c0] : memref<1xi8>
    memref.store %x, %a[%last] : memref<50000xi8, #gpu.address_space<workgroup>>
    memref.store %x, %b[%c0] : memref<256xi8, #gpu.address_space<workgroup>>
    gpu.terminator
  }
  return
}
