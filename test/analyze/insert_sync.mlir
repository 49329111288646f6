// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tile-insert-sync adds to kernels that ask for it, and that a second run adds nothing.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!pair = memref<2x16xf32, #wg>
!row = memref<16xf32, strided<[1], offset: ?>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// Nothing, without the attribute.
// CHECK-LABEL: gpu.func @unasked(
// CHECK: gpu.return
gpu.func @unasked(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}

// Nothing, where no op reaches into a peer.
// CHECK-LABEL: gpu.func @alone(
// CHECK: gpu.return
gpu.func @alone(%x: f32) workgroup(%src: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  memref.store %x, %src[%c0] : !tile
  gpu.return
}

// One thread: the fence of the initialisation, the cluster barrier, the fence of the source right
// before the copy, and the cluster barrier at the end.
// CHECK-LABEL: gpu.func @one_thread(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive{{$}}
// CHECK-NEXT: nvvm.cluster.wait{{$}}
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: nvvm.cluster.arrive{{$}}
// CHECK-NEXT: nvvm.cluster.wait{{$}}
// CHECK-NEXT: gpu.return
gpu.func @one_thread(%rank: i32, %x: f32) workgroup(%src: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  memref.store %x, %src[%c0] : !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}

// The threads that store fence, before they tell the one that copies; in a loop over initialisations,
// one fence does for all of them.
// CHECK-LABEL: gpu.func @many_threads(
// CHECK: scf.if
// CHECK-NEXT: scf.for
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.if
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @many_threads(%rank: i32, %x: f32) workgroup(%src: !pair, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %first {
    scf.for %i = %c0 to %c2 step %c1 {
      nvgpu.mbarrier.init %bars[%i], %c1 : !bars
    }
  }
  %row = memref.subview %src[%c1, 0] [1, 16] [1, 1] : !pair to !row
  memref.store %x, %row[%t] : !row
  gpu.barrier
  scf.if %first {
    tile.copy_async %row to %dst cta(%rank) mbarrier(%bars[%c0]) : !row to !tile, !bars
  }
  gpu.barrier
  gpu.return
}

// Only what is missing: here the cluster barrier at the start is there, split in two, and the fence
// before its first half is not. A relaxed arrive is enough for it.
// CHECK-LABEL: gpu.func @half_there(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive.relaxed
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: nvvm.cluster.arrive {aligned}
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @half_there(%rank: i32, %x: f32) workgroup(%src: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.cluster.arrive.relaxed
  memref.store %x, %src[%c0] : !tile
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive {aligned}
  gpu.return
}

// Blocks: one place behind both ways, and a barrier before each return behind it.
// CHECK-LABEL: gpu.func @early_return(
// CHECK: cf.cond_br %{{.*}}, ^[[INIT:.*]], ^[[READY:.*]]
// CHECK: ^[[INIT]]:
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: cf.br ^[[READY]]
// CHECK: ^[[READY]]:
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: cf.cond_br %{{.*}}, ^[[SEND:.*]], ^[[LEAVE:.*]]
// CHECK: ^[[SEND]]:
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @early_return(%rank: i32, %sends: i1) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu.thread_id x
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %first, ^init, ^ready
^init:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  cf.br ^ready
^ready:
  cf.cond_br %sends, ^send, ^leave
^send:
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}

// Who leaves before the first cluster barrier takes part in that one and in the last one.
// CHECK-LABEL: gpu.func @leaves_at_once(
// CHECK: cf.cond_br %{{.*}}, ^[[LEAVE:.*]], ^[[STAY:.*]]
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
// CHECK: ^[[STAY]]:
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @leaves_at_once(%rank: i32, %leaves: i1) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  cf.cond_br %leaves, ^leave, ^stay
^leave:
  gpu.return
^stay:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
}

// The same without blocks: the other branch takes part, too.
// CHECK-LABEL: gpu.func @in_one_branch(
// CHECK: scf.if
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @in_one_branch(%rank: i32, %stays: i1) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %stays {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    tile.arrive %bars[%c0] cta(%rank) : !bars
  }
  gpu.return
}

// A loop whose rounds end in a cluster barrier has none of them behind its last copy, as far as is known.
// CHECK-LABEL: gpu.func @in_a_loop(
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: scf.for
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @in_a_loop(%rank: i32, %x: f32, %n: index) workgroup(%src: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %src[%c0] : !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    nvvm.cluster.arrive
    nvvm.cluster.wait
  }
  gpu.return
}

}

// A launch may ask for it, too.
// CHECK-LABEL: func.func @launched(
// CHECK: gpu.launch
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.terminator
func.func @launched(%rank: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%ncx = %c2, %ncy = %c1, %ncz = %c1)
      blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %bars = nvgpu.mbarrier.create -> !bars
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    tile.arrive %bars[%c0] cta(%rank) : !bars
    gpu.terminator
  } {tile.insert_sync}
  return
}
