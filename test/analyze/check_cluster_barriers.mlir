// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warning of tile-check-sync about the cluster barriers and fences of a kernel,
// beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// A peer is used before it surely runs.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @after_the_cluster_barrier(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @before_any_cluster_barrier(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  // expected-warning @+2 {{'tile.arrive' op comes on some path before any cluster barrier}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait after the initialisation, or give the kernel tile.insert_sync}}
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @between_its_halves(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  // expected-warning @+2 {{'tile.arrive' op comes on some path before any cluster barrier}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait after the initialisation, or give the kernel tile.insert_sync}}
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.wait
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// Its barrier is initialised behind the cluster barrier.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @initialised_before_it(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @initialised_behind_it(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  // expected-warning @+2 {{'tile.arrive' op comes on some path before any cluster barrier after the initialisation of its barrier}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait after the initialisation, or give the kernel tile.insert_sync}}
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// The initialisation is not fenced.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @fenced(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @not_fenced(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-warning @+2 {{'nvgpu.mbarrier.init' op is followed by no fence on some path to the cluster barrier}}
  // expected-note @+1 {{execute nvvm.fence.mbarrier.init right after it, or give the kernel tile.insert_sync}}
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @fenced_too_late(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-warning @+2 {{'nvgpu.mbarrier.init' op is followed by no fence on some path to the cluster barrier}}
  // expected-note @+1 {{execute nvvm.fence.mbarrier.init right after it, or give the kernel tile.insert_sync}}
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  nvvm.fence.mbarrier.init
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// The kernel ends without a cluster barrier behind the last use of a peer.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @ends_with_a_cluster_barrier(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @ends_without_one(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  // expected-warning @+2 {{'gpu.return' op ends the kernel on some path without a final cluster barrier, while a peer may still use the shared memory of this CTA}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait before it, or give the kernel tile.insert_sync}}
  gpu.return
}

gpu.func @ends_with_half_of_one(%rank: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  // expected-warning @+2 {{'gpu.return' op ends the kernel on some path without a final cluster barrier, while a peer may still use the shared memory of this CTA}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait before it, or give the kernel tile.insert_sync}}
  gpu.return
}

}

// -----

// So does an early return.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @leaves_with_a_cluster_barrier(%rank: i32, %leaves: i1) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  cf.cond_br %leaves, ^leave, ^stay
^leave:
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
^stay:
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @leaves_without_one(%rank: i32, %leaves: i1) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  cf.cond_br %leaves, ^leave, ^stay
^leave:
  // expected-warning @+2 {{'gpu.return' op ends the kernel on some path without a final cluster barrier, while a peer may still use the shared memory of this CTA}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait before it, or give the kernel tile.insert_sync}}
  gpu.return
^stay:
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A source is written by ordinary stores and not fenced.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @fenced_by_the_storing_threads(%rank: i32, %x: f32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  memref.store %x, %src[%c0] : !tile
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.barrier
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @fenced_by_the_copying_thread(%rank: i32, %x: f32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  memref.store %x, %src[%c0] : !tile
  gpu.barrier
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @not_fenced(%rank: i32, %x: f32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
  memref.store %x, %src[%c0] : !tile
  gpu.barrier
  // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
