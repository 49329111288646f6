// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tile-insert-sync adds where a buffer or a barrier group has more than one name, each beside a
// control whose buffers or groups are others; a second run adds nothing.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!laid = memref<2x8xf32, #tile.layout<(2, 8) : (8, 1)>, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @kernels {

// Groups that take turns: the cluster barrier stands behind both initialisations, and so does the fence.
// CHECK-LABEL: gpu.func @groups_by_turns(
// CHECK: scf.if
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: scf.for
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @groups_by_turns(%first: i1, %rank: i32) workgroup(%src: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = nvgpu.mbarrier.create -> !bars
  %other = nvgpu.mbarrier.create -> !bars
  scf.if %first {
    nvgpu.mbarrier.init %one[%c0], %c1 : !bars
    nvgpu.mbarrier.init %other[%c0], %c1 : !bars
  }
  scf.for %k = %c0 to %c2 step %c1 iter_args(%p = %one, %q = %other) -> (!bars, !bars) {
    scf.if %first {
      tile.copy_async %src to %dst cta(%rank) mbarrier(%p[%c0]) : !tile to !tile, !bars
    }
    scf.yield %q, %p : !bars, !bars
  }
  gpu.return
}

// A selected group, and one that a block was handed.
// CHECK-LABEL: gpu.func @a_selected_group(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: cf.cond_br
// CHECK: tile.arrive
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @a_selected_group(%even: i1, %rank: i32) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = nvgpu.mbarrier.create -> !bars
  %other = nvgpu.mbarrier.create -> !bars
  nvgpu.mbarrier.init %one[%c0], %c1 : !bars
  nvgpu.mbarrier.init %other[%c0], %c1 : !bars
  cf.cond_br %even, ^use(%one : !bars), ^use(%other : !bars)
^use(%group: !bars):
  %selected = arith.select %even, %group, %other : !bars
  tile.arrive %group[%c0] cta(%rank) : !bars
  tile.arrive %selected[%c0] cta(%rank) : !bars
  gpu.return
}

// The control: a third group, which peers never use, may be initialised later and needs no fence.
// CHECK-LABEL: gpu.func @a_group_of_its_own(
// CHECK: nvgpu.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: nvgpu.mbarrier.init
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @a_group_of_its_own(%even: i1, %rank: i32) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = nvgpu.mbarrier.create -> !bars
  %other = nvgpu.mbarrier.create -> !bars
  %local = nvgpu.mbarrier.create -> !bars
  %selected = arith.select %even, %one, %one : !bars
  nvgpu.mbarrier.init %one[%c0], %c1 : !bars
  nvgpu.mbarrier.init %local[%c0], %c1 : !bars
  tile.arrive %selected[%c0] cta(%rank) : !bars
  gpu.return
}

// A group of which nothing is known may be any that is initialised, by a raw pointer as well.
// CHECK-LABEL: gpu.func @an_unknown_group(
// CHECK: nvvm.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: tile.arrive
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @an_unknown_group(%number: i64, %rank: i32) kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %count = arith.constant 1 : i32
  %pointer = llvm.inttoptr %number : i64 to !llvm.ptr<3>
  %group = builtin.unrealized_conversion_cast %pointer : !llvm.ptr<3> to !bars
  nvvm.mbarrier.init %pointer, %count : !llvm.ptr<3>, i32
  tile.arrive %group[%c0] cta(%rank) : !bars
  gpu.return
}

// A store to one of two buffers, and a copy from one of them.
// CHECK-LABEL: gpu.func @stored_through_a_branch(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_through_a_branch(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %buffer = scf.if %even -> !tile {
    scf.yield %one : !tile
  } else {
    scf.yield %other : !tile
  }
  memref.store %x, %buffer[%c0] : !tile
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: the copy reads a third one.
// CHECK-LABEL: gpu.func @stored_through_a_branch_to_others(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_through_a_branch_to_others(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %src: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %buffer = scf.if %even -> !tile {
    scf.yield %one : !tile
  } else {
    scf.yield %other : !tile
  }
  memref.store %x, %buffer[%c0] : !tile
  gpu.barrier
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A copy from one of two buffers, of which one is written.
// CHECK-LABEL: gpu.func @copied_from_a_selection(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: arith.select
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @copied_from_a_selection(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  memref.store %x, %other[%c0] : !tile
  gpu.barrier
  %selected = arith.select %even, %one, %other : !tile
  tile.copy_async %selected to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A copy from what a loop hands on, with a layout of ours; the stores come before the loop.
// CHECK-LABEL: gpu.func @copied_from_an_argument_of_a_loop(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @copied_from_an_argument_of_a_loop(%even: i1, %rank: i32, %x: f32) workgroup(%one: !laid, %other: !laid, %dst: !laid)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  memref.store %x, %other[%c0, %c0] : !laid
  gpu.barrier
  %last:2 = scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %one, %q = %other) -> (!laid, !laid) {
    tile.copy_async %p to %dst cta(%rank) mbarrier(%bars[%c0]) : !laid to !laid, !bars
    scf.yield %q, %p : !laid, !laid
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: the written buffer is not among those that the loop hands on.
// CHECK-LABEL: gpu.func @handed_to_the_loop_alone(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @handed_to_the_loop_alone(%even: i1, %rank: i32, %x: f32) workgroup(%one: !laid, %other: !laid, %alone: !laid, %dst: !laid)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  memref.store %x, %alone[%c0, %c0] : !laid
  gpu.barrier
  %last:2 = scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %one, %q = %other) -> (!laid, !laid) {
    tile.copy_async %p to %dst cta(%rank) mbarrier(%bars[%c0]) : !laid to !laid, !bars
    scf.yield %q, %p : !laid, !laid
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A store through a pointer that was made of the buffer, and one through any pointer.
// CHECK-LABEL: gpu.func @stored_through_a_pointer(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: llvm.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_through_a_pointer(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %address = memref.extract_aligned_pointer_as_index %one : !tile -> index
  %moved = arith.addi %address, %c1 : index
  %number = arith.index_cast %moved : index to i64
  %pointer = llvm.inttoptr %number : i64 to !llvm.ptr<3>
  llvm.store %x, %pointer : f32, !llvm.ptr<3>
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// CHECK-LABEL: gpu.func @stored_through_any_pointer(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: llvm.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_through_any_pointer(%pointer: !llvm.ptr<3>, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  llvm.store %x, %pointer : f32, !llvm.ptr<3>
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The controls: a pointer that was made of another buffer, and one that comes from outside.
// CHECK-LABEL: gpu.func @stored_through_the_pointer_of_another(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: llvm.store
// CHECK-NEXT: llvm.store
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_through_the_pointer_of_another(%outside: !llvm.ptr, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %address = memref.extract_aligned_pointer_as_index %other : !tile -> index
  %number = arith.index_cast %address : index to i64
  %pointer = llvm.inttoptr %number : i64 to !llvm.ptr<3>
  llvm.store %x, %pointer : f32, !llvm.ptr<3>
  llvm.store %x, %outside : f32, !llvm.ptr
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Assembly that stores to shared memory; the control stores elsewhere.
// CHECK-LABEL: gpu.func @stored_by_assembly(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: llvm.inline_asm
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_by_assembly(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  llvm.inline_asm has_side_effects "st.shared.u32 [$0], $1;", "r,r" %rank, %rank : (i32, i32) -> ()
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// CHECK-LABEL: gpu.func @stored_elsewhere_by_assembly(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: llvm.inline_asm
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @stored_elsewhere_by_assembly(%even: i1, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  llvm.inline_asm has_side_effects "st.global.u32 [$0], $1;", "r,r" %rank, %rank : (i32, i32) -> ()
  gpu.barrier
  tile.copy_async %one to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A copy from a buffer of which nothing is known, behind a store to any.
// CHECK-LABEL: gpu.func @copied_from_anywhere(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @copied_from_anywhere(%pointer: !llvm.ptr<3>, %rank: i32, %x: f32) workgroup(%one: !tile, %other: !tile, %dst: !tile)
    kernel attributes {tile.insert_sync} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %bars = nvgpu.mbarrier.create -> !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %any = builtin.unrealized_conversion_cast %pointer : !llvm.ptr<3> to !tile
  memref.store %x, %other[%c0] : !tile
  gpu.barrier
  tile.copy_async %any to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
