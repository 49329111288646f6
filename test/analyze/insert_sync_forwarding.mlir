// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tile that came from a peer and is copied on: by stores or through the async proxy, nobody on this side
// knows, so tile-insert-sync fences it once it was waited for. Each beside a control.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// By the thread that waits.
// CHECK-LABEL: gpu.func @forwards(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @forwards(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// By another thread: those that wait fence, before they tell it.
// CHECK-LABEL: gpu.func @forwards_by_another_thread(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @forwards_by_another_thread(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.barrier
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Upstream's wait, and one in assembly.
// CHECK-LABEL: gpu.func @forwards_what_upstream_waited_for(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: nvgpu.mbarrier.try_wait.parity
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @forwards_what_upstream_waited_for(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvgpu.mbarrier.try_wait.parity %bars[%c0], %even, %c1 : !bars
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// CHECK-LABEL: gpu.func @forwards_what_assembly_waited_for(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: llvm.inline_asm
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @forwards_what_assembly_waited_for(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  llvm.inline_asm has_side_effects "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$0], 0; }", "r" %rank : (i32) -> ()
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The controls: fenced already; another barrier of the group; another source.
// CHECK-LABEL: gpu.func @forwards_a_fenced_tile(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @forwards_a_fenced_tile(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// CHECK-LABEL: gpu.func @waits_for_something_else(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @waits_for_something_else(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// CHECK-LABEL: gpu.func @receives_and_sends_another_tile(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.copy_async
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @receives_and_sends_another_tile(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %src to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
