// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Roles: threads that store, and tell those that copy. The fence belongs to the role that stores, before it
// tells. Each beside a control in which the other role copies something else, or is told by another barrier.
// RUN: tile-opt %s -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence
// RUN: tile-opt %s -tile-insert-sync -tile-insert-sync | FileCheck %s --implicit-check-not=nvvm.cluster --implicit-check-not=nvvm.fence

#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

// Two branches of one scf.if.
// CHECK-LABEL: gpu.func @two_branches(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @two_branches(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: what is stored is not copied.
// CHECK-LABEL: gpu.func @another_is_copied(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @another_is_copied(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %other[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: nobody is told.
// CHECK-LABEL: gpu.func @another_barrier_is_waited_for(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @another_barrier_is_waited_for(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: who copies fences what it was told of.
// CHECK-LABEL: gpu.func @the_copying_role_fences(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @the_copying_role_fences(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Two branches, and the role that copies comes first in the text.
// CHECK-LABEL: gpu.func @two_conditions(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @two_conditions(%rank: i32, %x: f32)
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
  scf.if %high {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// An scf.index_switch.
// CHECK-LABEL: gpu.func @a_switch(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: scf.index_switch
// CHECK: case 0
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: case 1
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @a_switch(%rank: i32, %x: f32)
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
  %warp = arith.divui %t, %c32 : index
  scf.index_switch %warp
  case 0 {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
    scf.yield
  }
  case 1 {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
    scf.yield
  }
  default {
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A barrier by number, at which one role does not wait.
// CHECK-LABEL: gpu.func @a_named_barrier(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @a_named_barrier(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    nvvm.barrier.arrive id = %id number_of_threads = %threads
  } else {
    nvvm.barrier id = %id number_of_threads = %threads
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: a barrier of another number.
// CHECK-LABEL: gpu.func @another_number(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.barrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @another_number(%rank: i32, %x: f32)
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
  %next = arith.constant 2 : i32
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    nvvm.barrier.arrive id = %id number_of_threads = %threads
  } else {
    nvvm.barrier id = %next number_of_threads = %threads
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Both roles wait there, each at an op of its own.
// CHECK-LABEL: gpu.func @both_wait_at_a_named_barrier(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: } else {
// CHECK-NEXT: nvvm.barrier id
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @both_wait_at_a_named_barrier(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    nvvm.barrier id = %id number_of_threads = %threads
  } else {
    nvvm.barrier id = %id number_of_threads = %threads
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// A loop in each role, and acknowledgements by the one that copies.
// CHECK-LABEL: gpu.func @loops_in_the_roles(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: scf.for
// CHECK-NEXT: tile.wait
// CHECK-NEXT: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: scf.for
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @loops_in_the_roles(%rank: i32, %x: f32)
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
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 {
      tile.wait %bars[%c1] parity(%even) : !bars
      memref.store %x, %src[%t] : !tile
      %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 {
      tile.wait %bars[%c0] parity(%even) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
      %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Blocks.
// CHECK-LABEL: gpu.func @blocks(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @blocks(%rank: i32, %x: f32)
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
  cf.cond_br %low, ^store, ^copy
^store:
  memref.store %x, %src[%t] : !tile
  %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  cf.br ^done
^copy:
  tile.wait %bars[%c0] parity(%even) : !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  cf.br ^done
^done:
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// What one role tells another one, that one tells a third.
// CHECK-LABEL: gpu.func @through_a_third_role(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: tile.wait
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @through_a_third_role(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  }
  scf.if %high {
    tile.wait %bars[%c0] parity(%even) : !bars
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  }
  scf.if %first {
    tile.wait %bars[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// Clears of a destination: by the role that stores, before the one that tells the peer hears of them.
// CHECK-LABEL: gpu.func @a_role_clears_a_destination(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: tile.wait
// CHECK-NEXT: tile.arrive
// CHECK: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @a_role_clears_a_destination(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %dst[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.arrive %full[%c1] cta(%rank) : !bars
    tile.wait %full[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: no peer hears of it.
// CHECK-LABEL: gpu.func @nobody_tells_the_peer(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK: tile.wait
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @nobody_tells_the_peer(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %dst[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.wait %full[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

// The control: st.async reads in the way of a thread.
// CHECK-LABEL: gpu.func @copied_by_stores(
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK: memref.store
// CHECK-NEXT: nvgpu.mbarrier.arrive
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.wait
// CHECK-NEXT: tile.copy_async
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
gpu.func @copied_by_stores(%rank: i32, %x: f32)
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
  scf.if %low {
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c0] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%full[%c0]) issue(warp) {variant = "st_async"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
