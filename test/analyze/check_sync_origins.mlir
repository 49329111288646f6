// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a buffer or a barrier group has more than one name, tile-check-sync warns only if no path that
// the kernel allows is right; each warning beside controls in which it may be.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// A store to either of two buffers, of which one is copied, whatever the condition is.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @stored_through_a_branch(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = scf.if %even -> !tile {
    scf.yield %one : !tile
  } else {
    scf.yield %other : !tile
  }
  // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
  memref.store %x, %buffer[%c0] : !tile
  gpu.barrier
  scf.if %first {
    // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
    tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @stored_through_a_branch_and_fenced(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = scf.if %even -> !tile {
    scf.yield %one : !tile
  } else {
    scf.yield %other : !tile
  }
  memref.store %x, %buffer[%c0] : !tile
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  gpu.barrier
  scf.if %first {
    tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @stored_through_a_branch_and_copied_in_the_other(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = scf.if %even -> !tile {
    scf.yield %one : !tile
  } else {
    scf.yield %other : !tile
  }
  memref.store %x, %buffer[%c0] : !tile
  gpu.barrier
  %odd = arith.xori %even, %true : i1
  scf.if %odd {
    tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A copy from either of two buffers, of which one is written.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @copied_from_a_selection(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = arith.select %even, %one, %other : !tile
  // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
  memref.store %x, %one[%c0] : !tile
  gpu.barrier
  // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
  tile.copy_async %buffer to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @copied_from_a_selection_before_the_store(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = arith.select %even, %one, %other : !tile
  tile.copy_async %buffer to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.barrier
  memref.store %x, %one[%c0] : !tile
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @written_where_the_other_is_copied(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = arith.select %even, %one, %other : !tile
  scf.if %even {
    memref.store %x, %other[%c0] : !tile
  }
  gpu.barrier
  tile.copy_async %buffer to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @one_selected_to_write_and_the_other_to_copy(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  %buffer = arith.select %even, %one, %other : !tile
  %written = arith.select %even, %other, %one : !tile
  memref.store %x, %written[%c0] : !tile
  gpu.barrier
  tile.copy_async %buffer to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// The same argument of a loop is written and copied in one round; the controls write another one, or any.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @written_and_copied_in_one_round(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %one, %q = %other) -> (!tile, !tile) {
    // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
    memref.store %x, %p[%c0] : !tile
    gpu.barrier
    // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
    tile.copy_async %p to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    scf.yield %q, %p : !tile, !tile
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @written_for_no_later_round(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %one, %q = %other) -> (!tile, !tile) {
    tile.copy_async %p to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
    gpu.barrier
    memref.store %x, %q[%c0] : !tile
    scf.yield %q, %p : !tile, !tile
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @written_through_any_pointer(%pointer: !llvm.ptr<3>, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  llvm.store %x, %pointer : f32, !llvm.ptr<3>
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// Each group that is selected is initialised behind the cluster barrier; in the control, one of them.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @both_initialised_too_late(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  %more = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvgpu.mbarrier.init %more[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  %group = arith.select %even, %bars, %more : !bars
  // expected-warning @+2 {{'tile.arrive' op comes on some path before any cluster barrier after the initialisation of its barrier}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait after the initialisation, or give the kernel tile.insert_sync}}
  tile.arrive %group[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @one_initialised_too_late(%even: i1, %first: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %true = arith.constant true
  %bars = nvgpu.mbarrier.create -> !bars
  %more = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  nvgpu.mbarrier.init %more[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  %group = arith.select %even, %bars, %more : !bars
  tile.arrive %group[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A tile that came by st.async and is copied on through the async proxy; in the controls it is fenced, or
// one variant is not known.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @forwarded(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.expect %bars[%c1] for %next : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) issue(cta) {variant = "st_async"} : !tile to !tile, !bars
  // expected-note @+1 {{let the threads that wait here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
  tile.wait %bars[%c0] parity(%even) : !bars
  // expected-warning @+1 {{'tile.copy_async' op reads a source that came by st_async, with no fence for the async proxy after the wait}}
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) {variant = "bulk"} : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @forwarded_and_fenced(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.expect %bars[%c1] for %next : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) issue(cta) {variant = "st_async"} : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) {variant = "bulk"} : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @forwarded_as_it_came(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.expect %bars[%c1] for %next : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) {variant = "bulk"} : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @forwarded_by_any_variant(%rank: i32, %x: f32, %even: i1)
    workgroup(%src: !tile, %dst: !tile, %next: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %bars[%c0] for %dst : !bars, !tile
  tile.expect %bars[%c1] for %next : !bars, !tile
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) issue(cta) {variant = "st_async"} : !tile to !tile, !bars
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %dst to %next cta(%rank) mbarrier(%bars[%c1]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A group that a block was handed is armed by another name; in the control it is not, by any.
#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

gpu.func @armed_by_another_name(%even: i1, %rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = nvgpu.mbarrier.create -> !bars
  %other = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %one[%c0], %c1 : !bars
  nvgpu.mbarrier.init %other[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.expect %one[%c0] for %dst : !bars, !tile
  tile.expect %other[%c0] for %dst : !bars, !tile
  cf.cond_br %even, ^use(%one : !bars), ^use(%other : !bars)
^use(%group: !bars):
  tile.copy_async %src to %dst cta(%rank) mbarrier(%group[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @armed_by_nothing(%rank: i32) workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %one[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  // expected-warning @+2 {{'tile.copy_async' op completes on a barrier that nothing arms}}
  // expected-note @+1 {{let a thread of the receiving CTA execute tile.expect for the destination once a phase}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%one[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
