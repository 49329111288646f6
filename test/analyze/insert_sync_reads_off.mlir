// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The option war-fences=false leaves out the fences between loads and the copies that write over what they
// read; the control is the same kernel without it.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --check-prefixes=CHECK,ON
// RUN: tile-opt %s -tile-insert-sync=war-fences=false | FileCheck %s

#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @loaded_and_copied_over(
// CHECK: memref.load
// ON-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.arrive
gpu.func @loaded_and_copied_over(%rank: i32, %x: f32)
    workgroup(%src: !tile, %dst: !tile, %other: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %id = arith.constant 1 : i32
  %threads = arith.constant 64 : i32
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %high = arith.cmpi uge, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %full = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %first {
    scf.for %i = %c0 to %c2 step %c1 {
      tile.wait %bars[%c1] parity(%even) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) {variant = "bulk"} : !tile to !tile, !bars
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 {
      tile.wait %full[%c0] parity(%even) : !bars
      %y = memref.load %dst[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
