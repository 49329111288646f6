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
