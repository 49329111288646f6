// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that asks for its synchronisation gets it on the way to PTX, and no warning about it; one
// that does not is warned about.
// RUN: tile-compile %s --to ptx 2>&1 >%t.ptx | FileCheck %s --check-prefix=WARNING
// RUN: FileCheck %s < %t.ptx

!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// CHECK-LABEL: .entry asks(
// CHECK: mbarrier.init
// CHECK: fence.mbarrier_init.release.cluster;
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// CHECK: mbarrier.arrive.shared::cluster.b64 _,
// CHECK: barrier.cluster.arrive;
// CHECK: barrier.cluster.wait;
// CHECK: ret;
gpu.func @asks(%rank: i32) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
}

// WARNING-NOT: insert_sync.mlir:[[#@LINE - 4]]
// WARNING: insert_sync.mlir:[[#@LINE + 14]]:3: warning: 'tile.arrive' op comes on some path before any cluster barrier
// WARNING: insert_sync.mlir:[[#@LINE + 12]]:3: warning: 'nvgpu.mbarrier.init' op is followed by no fence
// WARNING: insert_sync.mlir:[[#@LINE + 13]]:3: warning: 'gpu.return' op ends the kernel on some path without a final cluster barrier

// CHECK-LABEL: .entry does_not(
// CHECK-NOT: cluster.arrive
// CHECK: mbarrier.arrive.shared::cluster.b64 _,
// CHECK-NOT: cluster.arrive
// CHECK: ret;
gpu.func @does_not(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
}

}
