// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where tile-insert-sync finds no place; each beside a control that differs in nothing else.
// RUN: tile-opt %s -split-input-file -tile-insert-sync -verify-diagnostics -o %t

!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// A loop that some threads go round more often must not hold a barrier for all.
gpu.module @kernels {
  gpu.func @initialised_before_the_loop(%rank: i32, %n: index) kernel attributes {tile.insert_sync} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bars = nvgpu.mbarrier.create -> !bars
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    scf.for %i = %c0 to %n step %c1 {
      tile.arrive %bars[%c0] cta(%rank) : !bars
    }
    gpu.return
  }
  gpu.func @initialised_and_used_in_a_loop(%rank: i32, %n: index) kernel attributes {tile.insert_sync} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bars = nvgpu.mbarrier.create -> !bars
    scf.for %i = %c0 to %n step %c1 {
      nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
      // expected-error @+2 {{'tile.arrive' op must follow a cluster barrier, and there is no place for one that every thread passes after the barrier's initialisation and before this use}}
      // expected-note @+1 {{initialise barriers at the top of the kernel, outside the loops that use them}}
      tile.arrive %bars[%c0] cta(%rank) : !bars
    }
    gpu.return
  }
}

// -----

// One return for both kinds of threads: those that take part in the first cluster barrier, and others.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
  gpu.func @two_returns(%rank: i32, %leaves: i1) kernel attributes {tile.insert_sync} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bars = nvgpu.mbarrier.create -> !bars
    cf.cond_br %leaves, ^leave, ^stay
  ^stay:
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    tile.arrive %bars[%c0] cta(%rank) : !bars
    gpu.return
  ^leave:
    gpu.return
  }
  gpu.func @one_return(%rank: i32, %leaves: i1) kernel attributes {tile.insert_sync} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bars = nvgpu.mbarrier.create -> !bars
    cf.cond_br %leaves, ^leave, ^stay
  ^stay:
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
    tile.arrive %bars[%c0] cta(%rank) : !bars
    cf.br ^leave
  ^leave:
    // expected-error @+2 {{'gpu.return' op must be reached either before or after the first cluster barrier, got paths of both kinds}}
    // expected-note @+1 {{initialise barriers before the branch that leaves early, or give it a return of its own}}
    gpu.return
  }
}

// -----

// Only kernels start and end with their CTA.
gpu.module @kernels {
  gpu.func @kernel() kernel attributes {tile.insert_sync} {
    gpu.return
  }
  // expected-error @+2 {{'gpu.func' op has the attribute 'tile.insert_sync', which is for kernels only}}
  // expected-note @+1 {{put it on the gpu.func of the kernel or on the gpu.launch}}
  gpu.func @device_function() attributes {tile.insert_sync} {
    gpu.return
  }
}

// -----

// Threads leave that a barrier of the others would wait for, and it is not known that others stay.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {
gpu.func @some_stay(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
  %id = gpu.thread_id x
  %bound = arith.constant 32 : index
  %goes = arith.cmpi ult, %id, %bound : index
  cf.cond_br %goes, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  gpu.barrier
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}
gpu.func @all_may_leave(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
  %id = gpu.thread_id x
  %bound = arith.constant 32 : index
  %goes = arith.cmpi ult, %id, %n : index
  // expected-note @+1 {{decide here by gpu.thread_id and constants, such that some thread of each CTA stays, in a kernel with known_block_size; or let all threads come to the barrier}}
  cf.cond_br %goes, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  // expected-error @+1 {{'gpu.barrier' op waits for all threads of the CTA that have not left, so that those which leave early cannot wait for a cluster barrier, and a CTA of which all leave must}}
  gpu.barrier
  tile.arrive %bars[%c0] cta(%rank) : !bars
  gpu.return
^leave:
  gpu.return
}
}
