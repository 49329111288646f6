// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of eight CTAs of 64 threads. Every CTA copies its tile into the shared memory of the seven
// others, waits for theirs on one barrier, and writes all eight.
//
//   tile-run examples/all_gather.mlir --entry main --arg iota:8x128xi32 --arg zeros:8x8x128xi32 --save 1=b.npy

!tile = memref<128xi32, #gpu.address_space<workgroup>>
!slot = memref<128xi32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!slots = memref<7x128xi32, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @all_gather(%a: memref<8x128xi32>, %b: memref<8x8x128xi32>)
        workgroup(%mine: !tile, %theirs: !slots)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                           known_cluster_size = array<i32: 8, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c8 = arith.constant 8 : index
      %first = arith.constant false
      %thread = gpu.thread_id x
      %column = arith.muli %thread, %c2 : index
      %is_first_thread = arith.cmpi eq, %thread, %c0 : index
      %rank = gpu.cluster_block_id x

      %full = nvgpu.mbarrier.create -> !barriers
      scf.if %is_first_thread {
        nvgpu.mbarrier.init %full[%c0], %c1 : !barriers
        nvvm.fence.mbarrier.init
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait

      %values = vector.load %a[%rank, %column] : memref<8x128xi32>, vector<2xi32>
      vector.store %values, %mine[%column] : !tile, vector<2xi32>
      vector.store %values, %b[%rank, %rank, %column] : memref<8x8x128xi32>, vector<2xi32>
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      gpu.barrier
      scf.if %is_first_thread {
        tile.expect %full[%c0] for %theirs : !barriers, !slots
        // The slot says how many ranks behind its receiver the sender is.
        scf.for %distance = %c1 to %c8 step %c1 {
          %place = arith.subi %distance, %c1 : index
          %slot = memref.subview %theirs[%place, 0] [1, 128] [1, 1] : !slots to !slot
          %ahead = arith.addi %rank, %distance : index
          %to = arith.remui %ahead, %c8 : index
          %receiver = arith.index_cast %to : index to i32
          tile.copy_async %mine to %slot cta(%receiver) mbarrier(%full[%c0]) : !tile to !slot, !barriers
        }
      }

      tile.wait %full[%c0] parity(%first) : !barriers
      scf.for %distance = %c1 to %c8 step %c1 {
        %place = arith.subi %distance, %c1 : index
        %received = vector.load %theirs[%place, %column] : !slots, vector<2xi32>
        %ahead = arith.addi %rank, %c8 : index
        %behind = arith.subi %ahead, %distance : index
        %sender = arith.remui %behind, %c8 : index
        vector.store %received, %b[%rank, %sender, %column] : memref<8x8x128xi32>, vector<2xi32>
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      gpu.return
    }
  }

  func.func @main(%a: memref<8x128xi32>, %b: memref<8x8x128xi32>)
      attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : memref<8x128xi32>
    %device_b, %t1 = gpu.alloc async [%t0] () : memref<8x8x128xi32>
    %t2 = gpu.memcpy async [%t1] %device_a, %a : memref<8x128xi32>, memref<8x128xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@all_gather
        clusters in (%c8, %c1, %c1) blocks in (%c8, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%device_a : memref<8x128xi32>, %device_b : memref<8x8x128xi32>)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : memref<8x8x128xi32>, memref<8x8x128xi32>
    %t5 = gpu.dealloc async [%t4] %device_a : memref<8x128xi32>
    %t6 = gpu.dealloc async [%t5] %device_b : memref<8x8x128xi32>
    gpu.wait [%t6]
    return
  }
}
