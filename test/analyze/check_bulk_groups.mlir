// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warning of tile-check-sync about copies to global memory and their bulk groups, beside a control that differs in
// one thing only.
// RUN: tile-opt %s -tile-check-sync -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!global = memref<16xf32>

gpu.module @kernels {

gpu.func @committed_and_waited_for(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  tile.copy_async %tile to %y issue(warp) : !tile to !global
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 0 {read}
  gpu.return
}

// A commit before the copy takes the copies before it.
gpu.func @never_committed(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  nvvm.cp.async.bulk.commit.group
  // expected-warning @+2 {{'tile.copy_async' op is committed to no bulk group}}
  // expected-note @+1 {{let the threads that execute it execute nvvm.cp.async.bulk.commit.group after it, and wait with nvvm.cp.async.bulk.wait_group}}
  tile.copy_async %tile to %y issue(warp) : !tile to !global
  nvvm.cp.async.bulk.wait_group 0 {read}
  gpu.return
}

gpu.func @never_waited_for(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-warning @+2 {{'tile.copy_async' op may still read its source when the kernel ends}}
  // expected-note @+1 {{let the threads that commit it execute nvvm.cp.async.bulk.wait_group 0 {read} before the end}}
  tile.copy_async %tile to %y issue(warp) : !tile to !global
  nvvm.cp.async.bulk.commit.group
  gpu.return
}

// One group may be left of those before.
gpu.func @one_is_left(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  // expected-warning @+2 {{'tile.copy_async' op may still read its source when the kernel ends}}
  // expected-note @+1 {{before the end}}
  tile.copy_async %tile to %y issue(warp) : !tile to !global
  nvvm.cp.async.bulk.commit.group
  nvvm.cp.async.bulk.wait_group 1 {read}
  gpu.return
}

// Any lane may issue the copies of a warp.
gpu.func @committed_by_one_lane(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  // expected-warning @+1 {{'tile.copy_async' op belongs to a bulk group of the thread that issues it, and fewer threads commit one than execute it}}
  tile.copy_async %tile to %y issue(warp) : !tile to !global
  scf.if %is_first {
    // expected-note @+1 {{let all threads that execute the copy execute the commit and the wait}}
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
  }
  gpu.return
}

// The one thread that issues may do all under conditions of its own, whatever they are computed from.
gpu.func @by_one_thread(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  %is_below_1 = arith.cmpi ult, %thread, %c1 : index
  scf.if %is_first {
    tile.copy_async %tile to %y : !tile to !global
  }
  scf.if %is_below_1 {
    nvvm.cp.async.bulk.commit.group
  }
  nvvm.cp.async.bulk.wait_group 0 {read}
  gpu.return
}
gpu.func @by_another_thread(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %thread = gpu.thread_id x
  %is_first = arith.cmpi eq, %thread, %c0 : index
  %is_second = arith.cmpi eq, %thread, %c1 : index
  scf.if %is_first {
    // expected-warning @+1 {{'tile.copy_async' op belongs to a bulk group of the thread that issues it, and fewer threads commit one than execute it}}
    tile.copy_async %tile to %y : !tile to !global
  }
  scf.if %is_second {
    // expected-note @+1 {{let all threads that execute the copy execute the commit and the wait}}
    nvvm.cp.async.bulk.commit.group
  }
  nvvm.cp.async.bulk.wait_group 0 {read}
  gpu.return
}

// In a loop, the wait of the next round is one for this round's copy, and the one after the loop for the last.
gpu.func @in_a_loop(%y: !global) workgroup(%tile: !tile) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    nvvm.cp.async.bulk.wait_group 1 {read}
    tile.copy_async %tile to %y issue(warp) : !tile to !global
    nvvm.cp.async.bulk.commit.group
  }
  nvvm.cp.async.bulk.wait_group 0 {read}
  gpu.return
}

}
