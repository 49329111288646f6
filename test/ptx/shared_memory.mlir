// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A barrier, a workgroup buffer and dynamic memory in one kernel: three places in PTX, each with its
// bytes, without and with optimization, on both sides of 48 KiB and at the 227 KiB that there are. With
// its alignment, the barrier counts 16 bytes.

// RUN: sed "s/BUFFER/49135/; s/DYNAMIC/1000/" %s > %t.mlir \
// RUN:   && tile-compile %t.mlir --to ptx --opt-level 0 | FileCheck %s --check-prefixes=PTX,STATIC -DBYTES=49135
// RUN: tile-compile %t.mlir --to ptx --opt-level 3 | FileCheck %s --check-prefixes=PTX,STATIC -DBYTES=49135
// RUN: tile-compile %t.mlir --to nvvm | FileCheck %s --check-prefix=LAUNCH -DBYTES=1000

// RUN: sed "s/BUFFER/49136/; s/DYNAMIC/1000/" %s > %t.mlir \
// RUN:   && tile-compile %t.mlir --to ptx --opt-level 0 | FileCheck %s --check-prefixes=PTX,STATIC -DBYTES=49136
// RUN: tile-compile %t.mlir --to ptx --opt-level 3 | FileCheck %s --check-prefixes=PTX,STATIC -DBYTES=49136
// RUN: tile-compile %t.mlir --to nvvm | FileCheck %s --check-prefix=LAUNCH -DBYTES=1000

// 49137 bytes round up to 49152, where the kernel's own memory begins, and its 1000 follow.

// RUN: sed "s/BUFFER/49137/; s/DYNAMIC/1000/" %s > %t.mlir \
// RUN:   && tile-compile %t.mlir --to ptx --opt-level 0 | FileCheck %s --check-prefixes=PTX,MOVED -DFRONT=49152
// RUN: tile-compile %t.mlir --to ptx --opt-level 3 | FileCheck %s --check-prefixes=PTX,MOVED -DFRONT=49152
// RUN: tile-compile %t.mlir --to nvvm | FileCheck %s --check-prefix=LAUNCH -DBYTES=50152

// 128 for the barrier, 131072 in front and 101248 behind are 232448: one more is too much.

// RUN: sed "s/BUFFER/131072/; s/DYNAMIC/101248/" %s > %t.mlir \
// RUN:   && tile-compile %t.mlir --to ptx --opt-level 0 | FileCheck %s --check-prefixes=PTX,MOVED -DFRONT=131072
// RUN: tile-compile %t.mlir --to ptx --opt-level 3 | FileCheck %s --check-prefixes=PTX,MOVED -DFRONT=131072
// RUN: tile-compile %t.mlir --to nvvm | FileCheck %s --check-prefix=LAUNCH -DBYTES=232320

// PTX:         .extern .shared .align 128 .b8 __dynamic_shared_memory[];
// PTX:         .shared .align 16 .b8 __mbarrier[8];
// STATIC:      .shared .align 16 .b8 __wg_fill_0[[[BYTES]]];
// MOVED-NOT:   __wg_fill
// PTX-NOT:     .shared .align

// LAUNCH:      %[[SIZE:.*]] = {{arith|llvm.mlir}}.constant{{.*}}[[BYTES]] : i32
// LAUNCH:      gpu.launch_func {{.*}} dynamic_shared_memory_size %[[SIZE]]

!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%out: memref<2xi8>, %i: index)
        workgroup(%a: memref<BUFFERxi8, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %bars = nvgpu.mbarrier.create -> !barrier
      nvgpu.mbarrier.init %bars[%c0], %c1 : !barrier
      %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %b = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
          to memref<1000xi8, #gpu.address_space<workgroup>>
      %x = memref.load %out[%c0] : memref<2xi8>
      %y = memref.load %out[%c1] : memref<2xi8>
      memref.store %x, %a[%i] : memref<BUFFERxi8, #gpu.address_space<workgroup>>
      memref.store %y, %b[%i] : memref<1000xi8, #gpu.address_space<workgroup>>
      gpu.barrier
      %v = memref.load %a[%c0] : memref<BUFFERxi8, #gpu.address_space<workgroup>>
      %w = memref.load %b[%c0] : memref<1000xi8, #gpu.address_space<workgroup>>
      memref.store %v, %out[%c0] : memref<2xi8>
      memref.store %w, %out[%c1] : memref<2xi8>
      gpu.return
    }
  }
  func.func @main(%out: memref<2xi8>, %i: index) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant DYNAMIC : i32
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes args(%out : memref<2xi8>, %i : index)
    return
  }
}
