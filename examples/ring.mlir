// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ring of four CTAs of 64 threads, with two stages. In each of six steps, every CTA sends a tile to the
// next rank, receives one from the previous rank, and tells that one when it has read it.
//
//   tile-run examples/ring.mlir --entry main --arg iota:4x6x128xi32 --arg zeros:4x6x128xi32 --save 1=b.npy

!tile = memref<128xi32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!stages = memref<2x128xi32, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @ring(%a: memref<4x6x128xi32>, %b: memref<4x6x128xi32>)
        workgroup(%src: !stages, %dst: !stages)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                           known_cluster_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c6 = arith.constant 6 : index
      %false = arith.constant false
      %true = arith.constant true
      %thread = gpu.thread_id x
      %column = arith.muli %thread, %c2 : index
      %is_first_thread = arith.cmpi eq, %thread, %c0 : index
      %rank = gpu.cluster_block_id x
      %after = arith.addi %rank, %c1 : index
      %before = arith.addi %rank, %c3 : index
      %next_rank = arith.remui %after, %c4 : index
      %previous_rank = arith.remui %before, %c4 : index
      %next = arith.index_cast %next_rank : index to i32
      %previous = arith.index_cast %previous_rank : index to i32

      %full = nvgpu.mbarrier.create -> !barriers
      %free = nvgpu.mbarrier.create -> !barriers
      scf.if %is_first_thread {
        nvgpu.mbarrier.init %full[%c0], %c1 : !barriers
        nvgpu.mbarrier.init %full[%c1], %c1 : !barriers
        nvgpu.mbarrier.init %free[%c0], %c1 : !barriers
        nvgpu.mbarrier.init %free[%c1], %c1 : !barriers
        nvvm.fence.mbarrier.init
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait

      // The parity of the phase that brings a tile; the one that frees a stage is a turn behind.
      scf.for %step = %c0 to %c6 step %c1
          iter_args(%stage = %c0, %parity = %false) -> (index, i1) {
        %free_parity = arith.xori %parity, %true : i1
        tile.wait %free[%stage] parity(%free_parity) : !barriers
        %values = vector.load %a[%rank, %step, %column] : memref<4x6x128xi32>, vector<2xi32>
        vector.store %values, %src[%stage, %column] : !stages, vector<2xi32>
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        gpu.barrier
        %mine = memref.subview %src[%stage, 0] [1, 128] [1, 1] : !stages to !tile
        %theirs = memref.subview %dst[%stage, 0] [1, 128] [1, 1] : !stages to !tile
        scf.if %is_first_thread {
          tile.expect %full[%stage] for %theirs : !barriers, !tile
          tile.copy_async %mine to %theirs cta(%next) mbarrier(%full[%stage]) : !tile to !tile, !barriers
        }

        tile.wait %full[%stage] parity(%parity) : !barriers
        %received = vector.load %dst[%stage, %column] : !stages, vector<2xi32>
        vector.store %received, %b[%rank, %step, %column] : memref<4x6x128xi32>, vector<2xi32>
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        gpu.barrier
        scf.if %is_first_thread {
          tile.arrive %free[%stage] cta(%previous) : !barriers
        }
        %following = arith.addi %stage, %c1 : index
        %wraps = arith.cmpi eq, %following, %c2 : index
        %next_stage = arith.select %wraps, %c0, %following : index
        %next_parity = arith.xori %parity, %wraps : i1
        scf.yield %next_stage, %next_parity : index, i1
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      gpu.return
    }
  }

  func.func @main(%a: memref<4x6x128xi32>, %b: memref<4x6x128xi32>)
      attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : memref<4x6x128xi32>
    %device_b, %t1 = gpu.alloc async [%t0] () : memref<4x6x128xi32>
    %t2 = gpu.memcpy async [%t1] %device_a, %a : memref<4x6x128xi32>, memref<4x6x128xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@ring
        clusters in (%c4, %c1, %c1) blocks in (%c4, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%device_a : memref<4x6x128xi32>, %device_b : memref<4x6x128xi32>)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : memref<4x6x128xi32>, memref<4x6x128xi32>
    %t5 = gpu.dealloc async [%t4] %device_a : memref<4x6x128xi32>
    %t6 = gpu.dealloc async [%t5] %device_b : memref<4x6x128xi32>
    gpu.wait [%t6]
    return
  }
}
