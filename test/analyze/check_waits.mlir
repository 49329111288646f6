// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warning of tile-check-sync about its waits,
// beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// A parity that stays the same over the phases of a loop.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @carried(%rank: i32, %n: index) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %n step %c1 iter_args(%parity = %first) -> i1 {
    tile.expect %bars[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    tile.wait %bars[%c0] parity(%parity) : !bars
    %next = arith.xori %parity, %true : i1
    scf.yield %next : i1
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @constant(%rank: i32, %n: index) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-note @+1 {{carry the parity through this loop, beside the stage: mlir_tile.PipelineState does both}}
  scf.for %i = %c0 to %n step %c1 {
    tile.expect %bars[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    // expected-warning @+1 {{'tile.wait' op parity must change from phase to phase of a barrier, got the same one in all rounds of a loop}}
    tile.wait %bars[%c0] parity(%first) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @one_round(%rank: i32, %n: index) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %c1 step %c1 {
    tile.expect %bars[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    tile.wait %bars[%c0] parity(%first) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @both_parities_by_turns(%rank: i32, %n: index) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  %true = arith.constant true
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %n step %c1 {
    tile.expect %bars[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    tile.wait %bars[%c0] parity(%first) : !bars
    tile.expect %bars[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    tile.wait %bars[%c0] parity(%true) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @a_phase_waited_for_often(%rank: i32, %n: index) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  scf.for %i = %c0 to %n step %c1 {
    tile.wait %bars[%c0] parity(%first) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// Over two barriers it may stay for two rounds.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @each_barrier_once(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %c2 step %c1 {
    %stage = arith.remui %i, %c2 : index
    tile.expect %bars[%stage] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%stage]) : !tile to !tile, !bars
    tile.wait %bars[%stage] parity(%first) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @each_barrier_twice(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %c4 = arith.constant 4 : index
  %first = arith.constant false
  %c2 = arith.constant 2 : index
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-note @+1 {{carry the parity through this loop, beside the stage: mlir_tile.PipelineState does both}}
  scf.for %i = %c0 to %c4 step %c1 {
    %stage = arith.remui %i, %c2 : index
    tile.expect %bars[%stage] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%stage]) : !tile to !tile, !bars
    // expected-warning @+1 {{'tile.wait' op parity must change from phase to phase of a barrier, got the same one in all rounds of a loop over 2 barriers}}
    tile.wait %bars[%stage] parity(%first) : !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Groups that take turns have phases of their own; each is waited for once here.
gpu.func @groups_by_turns(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %first = arith.constant false
  %bars = nvgpu.mbarrier.create -> !bars
  %other = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %other[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.for %i = %c0 to %c2 step %c1 iter_args(%now = %bars, %then = %other) -> (!bars, !bars) {
    tile.expect %now[%c0] for %dst : !bars, !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%now[%c0]) : !tile to !tile, !bars
    tile.wait %now[%c0] parity(%first) : !bars
    scf.yield %then, %now : !bars, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// Local forms of mbarrier instructions on the barrier of a peer.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @waits_for_its_own(%rank: i32, %address: i64, %parity: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
  %peer = nvvm.mapa %own, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  %done = nvvm.mbarrier.try_wait %own, %parity : !llvm.ptr<3>, i32 -> i1
  gpu.return
}

gpu.func @waits_for_a_mapped_one(%rank: i32, %address: i64, %parity: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
  // expected-note @+1 {{wait for the CTA's own barrier and let the peer arrive on it with tile.arrive}}
  %peer = nvvm.mapa %own, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  %integer = llvm.ptrtoint %peer : !llvm.ptr<7> to i64
  %local = llvm.inttoptr %integer : i64 to !llvm.ptr<3>
  // expected-warning @+1 {{'nvvm.mbarrier.try_wait' op must wait on a barrier of its own CTA, got a mapped address}}
  %done = nvvm.mbarrier.try_wait %local, %parity : !llvm.ptr<3>, i32 -> i1
  gpu.return
}

gpu.func @arrives_in_the_remote_form(%rank: i32, %address: i64, %parity: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
  %peer = nvvm.mapa %own, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.mbarrier.arrive %peer : !llvm.ptr<7>
  gpu.return
}

gpu.func @arrives_in_the_local_form(%rank: i32, %address: i64, %parity: i32) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  %own = llvm.inttoptr %address : i64 to !llvm.ptr<3>
  // expected-note @+1 {{arrive on it with tile.arrive}}
  %peer = nvvm.mapa %own, %rank : !llvm.ptr<3> -> !llvm.ptr<7>
  %integer = llvm.ptrtoint %peer : !llvm.ptr<7> to i64
  %local = llvm.inttoptr %integer : i64 to !llvm.ptr<3>
  // expected-warning @+1 {{'nvvm.mbarrier.arrive' op must take a pointer into the cluster's shared memory, !llvm.ptr<7>, for the barrier of a peer, got '!llvm.ptr<3>'}}
  %token = nvvm.mbarrier.arrive %local : !llvm.ptr<3> -> i64
  gpu.return
}

}
