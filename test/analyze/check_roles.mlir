// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warnings of tile-check-sync about threads that take different ways, each beside controls in which the kernel
// is right or may be.
// RUN: tile-opt %s -split-input-file -tile-check-sync -verify-diagnostics -o %t

// Whole CTAs leave, which peers may still use; in the control others of each CTA stay.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @ctas_leave(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
  cf.cond_br %uniform, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
^leave:
  // expected-warning @+2 {{'gpu.return' op ends the kernel on some path without a final cluster barrier, while a peer may still use the shared memory of this CTA}}
  // expected-note @+1 {{let all threads execute nvvm.cluster.arrive and nvvm.cluster.wait before it, or give the kernel tile.insert_sync}}
  gpu.return
}

gpu.func @threads_leave(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
  cf.cond_br %low, ^go, ^leave
^go:
  nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
  nvvm.fence.mbarrier.init
  nvvm.cluster.arrive
  nvvm.cluster.wait
  tile.arrive %bars[%c0] cta(%rank) : !bars
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
^leave:
  gpu.return
}

}

// -----

// One role stores, and another one copies; in the controls one of them fences, the one that copies is told of something else, or st.async reads in the way of a thread.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @a_role_stores(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c32 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
    // expected-note @+1 {{let the threads that store here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c1] parity(%even) : !bars
    // expected-warning @+1 {{'tile.copy_async' op reads a source that was stored to, with no fence for the async proxy after the store}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @the_storing_role_fences(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c32 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
    memref.store %x, %src[%t] : !tile
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @the_copying_role_fences(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c32 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c1] parity(%even) : !bars
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @told_of_something_else(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c32 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c0] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @copied_by_stores(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c32 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.if %first { tile.expect %bars[%c0] for %dst : !bars, !tile }
    memref.store %x, %src[%t] : !tile
    %token = nvgpu.mbarrier.arrive %bars[%c1] : !bars -> !nvgpu.mbarrier.token
  } else {
    tile.wait %bars[%c1] parity(%even) : !bars
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) issue(warp) {variant = "st_async"} : !tile to !tile, !bars
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}

// -----

// A peer may copy over what was loaded; in the controls one side fences, what was loaded is no destination, the kernel does without such fences, or there are peers that are not told.
#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 2>

gpu.module @kernels {

gpu.func @loaded_and_copied_over(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      // expected-note @+1 {{let the threads that load here execute nvvm.fence.proxy after it, or give the kernel tile.insert_sync}}
      %y = memref.load %dst[%t] : !tile
      // expected-warning @+1 {{'tile.arrive' op lets a peer copy over what was loaded, with no fence for the async proxy after the load}}
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @loaded_and_fenced(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      %y = memref.load %dst[%t] : !tile
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @fenced_before_the_copy(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      %y = memref.load %dst[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @another_is_loaded(%rank: i32, %x: f32, %uniform: i1, %n: index)
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      %y = memref.load %src[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @without_these_fences(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {tile.insert_sync = {war_fences = false}, known_block_size = array<i32: 1, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      %y = memref.load %dst[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

gpu.func @among_three(%rank: i32, %x: f32, %uniform: i1, %n: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_block_size = array<i32: 1, 1, 1>, known_cluster_size = array<i32: 3, 1, 1>} {
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
    nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
    nvvm.fence.mbarrier.init
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  scf.if %low {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.wait %bars[%c1] parity(%p) : !bars
      tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) {variant = "bulk"} : !tile to !tile, !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  } else {
    scf.for %i = %c0 to %c2 step %c1 iter_args(%p = %even) -> (i1) {
      tile.expect %bars[%c0] for %dst : !bars, !tile
      tile.wait %bars[%c0] parity(%p) : !bars
      %y = memref.load %dst[%t] : !tile
      tile.arrive %bars[%c1] cta(%rank) : !bars
      %q = arith.xori %p, %uniform : i1
      scf.yield %q : i1
    }
  }
  nvvm.cluster.arrive
  nvvm.cluster.wait
  gpu.return
}

}
