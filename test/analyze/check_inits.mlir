// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warning of tile-check-sync about the initialisation of its barriers, beside a control that differs in
// one thing only.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// A barrier that nothing initialises; in the control, something does, perhaps in another round.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @initialised(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
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
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @never_initialised(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-warning @+2 {{'nvgpu.mbarrier.arrive' op arrives on a barrier that nothing initialises}}
  // expected-note @+1 {{let one thread execute nvgpu.mbarrier.init for it at the top of the kernel}}
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @another_one_is_initialised(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  // expected-warning @+2 {{'tile.wait' op waits for a barrier that nothing initialises}}
  // expected-note @+1 {{let one thread execute nvgpu.mbarrier.init for it at the top of the kernel}}
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @any_one_is_initialised(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%n], %c1 : !bars
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

}

// -----

// One that is armed where an initialisation was meant.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @initialised_and_armed(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
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
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @armed_only(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-warning @+2 {{'tile.expect' op arms a barrier that nothing initialises}}
  // expected-note @+1 {{let one thread execute nvgpu.mbarrier.init for it at the top of the kernel}}
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

}

// -----

// One thread initialises, and all use the barrier at once; in the controls they meet before, or there is only one.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @they_meet_before(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %c64 = arith.constant 64 : index
  scf.if %first {
    nvgpu.mbarrier.init %bars[%c0], %c64 : !bars
  }
  gpu.barrier
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @they_do_not_meet(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %c64 = arith.constant 64 : index
  scf.if %first {
    nvgpu.mbarrier.init %bars[%c0], %c64 : !bars
  }
  // expected-warning @+2 {{'nvgpu.mbarrier.arrive' op arrives on a barrier of whose initialisation only the thread that did it can know}}
  // expected-note @+1 {{let all threads execute gpu.barrier, or a cluster barrier, between the initialisation and this use}}
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  // expected-warning @+2 {{'tile.wait' op waits for a barrier of whose initialisation only the thread that did it can know}}
  // expected-note @+1 {{let all threads execute gpu.barrier, or a cluster barrier, between the initialisation and this use}}
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @one_thread(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 1, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %first {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  }
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

gpu.func @the_same_thread(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.if %first {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  }
  scf.if %first {
    tile.expect %bars[%c0] for %dst : !bars, !tile
  }
  gpu.barrier
  tile.wait %bars[%c0] parity(%even) : !bars
  gpu.return
}

}

// -----

// An initialisation in a loop; in the controls, of a barrier for each round, or in one round.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @the_same_each_round(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-note @+1 {{initialise it once, before this loop}}
  scf.for %i = %c0 to %c2 step %c1 {
    // expected-warning @+1 {{'nvgpu.mbarrier.init' op initialises the same barrier in each round of a loop}}
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  }
  gpu.return
}

gpu.func @another_one_each_round(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.for %i = %c0 to %c2 step %c1 {
    nvgpu.mbarrier.init %bars[%i], %c1 : !bars
  }
  gpu.return
}

gpu.func @one_round(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %even = arith.constant false
  %t = gpu.thread_id x
  %low = arith.cmpi ult, %t, %c32 : index
  %first = arith.cmpi eq, %t, %c0 : index
  %bars = nvgpu.mbarrier.create -> !bars
  scf.for %i = %c0 to %c1 step %c1 {
    nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  }
  gpu.return
}

}
