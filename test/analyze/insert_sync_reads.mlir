// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ordinary loads from a destination, before a peer hears that it may copy over them: the threads that loaded
// fence. Each beside a control.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// By the thread that tells the peer.
// CHECK-LABEL: gpu.func @before_the_arrival(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @before_the_arrival(%rank: i32, %x: f32)
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

// By those that tell it.
// CHECK-LABEL: gpu.func @before_the_others_hear(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @before_the_others_hear(%rank: i32, %x: f32)
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
      nvvm.barrier id = %id number_of_threads = %threads
      tile.arrive %bars[%c1] cta(%rank) : !bars
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: what is loaded is no destination.
// CHECK-LABEL: gpu.func @another_is_loaded(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @another_is_loaded(%rank: i32, %x: f32)
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
      %y = memref.load %other[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: st.async writes in the way of a thread.
// CHECK-LABEL: gpu.func @copied_over_by_stores(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @copied_over_by_stores(%rank: i32, %x: f32)
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
      tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) issue(warp) {variant = "st_async"} : !tile to !tile, !bars
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

// The control: the kernel says that it does without.
// CHECK-LABEL: gpu.func @without_these_fences(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @without_these_fences(%rank: i32, %x: f32)
    workgroup(%src: !tile, %dst: !tile, %other: !tile) kernel
    attributes {tile.insert_sync = {war_fences = false}, known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
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

// The control: no copy follows.
// CHECK-LABEL: gpu.func @loaded_once(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: }
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @loaded_once(%rank: i32, %x: f32)
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
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  } else {
    tile.wait %full[%c0] parity(%even) : !bars
    %y = memref.load %dst[%t] : !tile
    nvvm.barrier id = %id number_of_threads = %threads
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A fence of the peer's own shared memory is none of this one.
// CHECK-LABEL: gpu.func @the_peers_fence_is_not_enough(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @the_peers_fence_is_not_enough(%rank: i32, %x: f32)
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
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
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

// The control: one of all memory is.
// CHECK-LABEL: gpu.func @the_peer_fences_all(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: tile.wait
// CHECK-NEXT: memref.load
// CHECK-NEXT: tile.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @the_peer_fences_all(%rank: i32, %x: f32)
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
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
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
