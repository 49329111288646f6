// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The PTX of the protocol: exact opcodes, operands and order.
// RUN: tile-compile %s --to ptx | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<128x64xf16, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// CHECK-LABEL: .entry arrive(
// CHECK: mapa.shared::cluster.u64 [[PEER:%rd[0-9]+]],
// CHECK: mov.b32 [[ONE:%r[0-9]+]], 1;
// CHECK: mbarrier.arrive.shared::cluster.b64 _, {{\[}}[[PEER]]], [[ONE]];
// CHECK: mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{{%rd[0-9]+}}], {{%r[0-9]+}};
// CHECK: ret;
gpu.func @arrive(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  tile.arrive %bars[%c1] cta(%rank) {scope = #tile.scope<cluster>} : !bars
  gpu.return
}

// CHECK-LABEL: .entry receive(
// CHECK: mov.b32 [[BYTES:%r[0-9]+]], 16384;
// CHECK: mbarrier.arrive.expect_tx.shared.b64 {{.*}}, [{{.*}}], [[BYTES]];
// CHECK: [[LOOP:\$L__BB[0-9_]+]]:
// CHECK: mbarrier.try_wait.parity.shared.b64 {{%p[0-9]+}}, [{{.*}}], {{.*}};
// CHECK: bra{{.*}} [[LOOP]];
// CHECK: trap;
// CHECK: ret;
gpu.func @receive() workgroup(%dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %false = arith.constant false
  %bars = nvgpu.mbarrier.create -> !bars
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.wait %bars[%c0] parity(%false) spins(1000003) : !bars
  gpu.return
}

// CHECK-LABEL: .entry receive_ordinary_data(
// CHECK: mbarrier.try_wait.parity.acquire.cluster.shared.b64
// CHECK: ret;
gpu.func @receive_ordinary_data(%parity: i1) kernel {
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  tile.wait %bars[%c1] parity(%parity) {scope = #tile.scope<cluster>} : !bars
  gpu.return
}

}
