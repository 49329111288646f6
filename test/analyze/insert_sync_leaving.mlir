// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that leave while others of their CTA go on. A barrier of the CTA waits for those that have not left,
// so that those which leave must not wait for the cluster; where there is none, they may.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// The threads that leave pass no cluster barrier.
// CHECK-LABEL: gpu.func @leaves_before_a_barrier(
// CHECK: cf.cond_br %{{.*}}, ^[[GO:.*]], ^[[LEAVE:.*]]
// CHECK: ^[[GO]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: gpu.return
gpu.func @leaves_before_a_barrier(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %low, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  gpu.barrier
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}

// The control: no barrier of the CTA; they wait as all others do.
// CHECK-LABEL: gpu.func @leaves_before_none(
// CHECK: ^[[GO:.*]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
// CHECK: ^[[LEAVE:.*]]:
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @leaves_before_none(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %low, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}

// The control: whole CTAs leave, in which nobody comes to the barrier.
// CHECK-LABEL: gpu.func @whole_ctas_leave(
// CHECK: ^[[GO:.*]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
// CHECK: ^[[LEAVE:.*]]:
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @whole_ctas_leave(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %uniform, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  gpu.barrier
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}

// One branch of an scf.if: the cluster barriers are in it.
// CHECK-LABEL: gpu.func @leaves_after_a_branch(
// CHECK: scf.if
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: }
// CHECK-NEXT: gpu.return
gpu.func @leaves_after_a_branch(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %low {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    gpu.barrier
    tile.arrive %bars[%c0] cta(%rank) : !bars
  }
  gpu.return
}

// The control: all threads come to a barrier in both branches.
// CHECK-LABEL: gpu.func @meet_in_both_branches(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @meet_in_both_branches(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  scf.if %low {
    gpu.barrier
    tile.arrive %bars[%c0] cta(%rank) : !bars
  } else {
    gpu.barrier
  }
  gpu.return
}

// Blocks that share a return: the cluster barrier is where the threads that stay come from.
// CHECK-LABEL: gpu.func @one_return(
// CHECK: ^[[GO:.*]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: cf.br ^[[DONE:.*]]
// CHECK: ^[[DONE]]:
// CHECK-NEXT: gpu.return
gpu.func @one_return(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %low, ^go, ^done
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  gpu.barrier
  tile.arrive %bars[%c0] cta(%rank) : !bars
  cf.br ^done
^done:
  gpu.return
}

// The same without a barrier of the CTA: it is where the threads that stay come from.
// CHECK-LABEL: gpu.func @one_return_and_no_barrier(
// CHECK: ^[[GO:.*]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: cf.br ^[[DONE:.*]]
// CHECK: ^[[DONE]]:
// CHECK-NEXT: gpu.return
gpu.func @one_return_and_no_barrier(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %low, ^go, ^done
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  cf.br ^done
^done:
  gpu.return
}

}
