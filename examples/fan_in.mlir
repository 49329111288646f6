// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of four CTAs of 64 threads. Ranks 1 to 3 copy a tile each into the shared memory of rank 0, which
// waits for all of them on one barrier and writes their sum.
//
//   tile-run examples/fan_in.mlir --entry main --arg iota:4x128xi32 --arg zeros:128xi32 --save 1=b.npy

!tile = memref<128xi32, #gpu.address_space<workgroup>>
!slot = memref<128xi32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!slots = memref<3x128xi32, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fan_in(%a: memref<4x128xi32>, %b: memref<128xi32>)
        workgroup(%src: !tile, %dst: !slots)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                           known_cluster_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %first = arith.constant false
      %receiver = arith.constant 0 : i32
      %thread = gpu.thread_id x
      %column = arith.muli %thread, %c2 : index
      %is_first_thread = arith.cmpi eq, %thread, %c0 : index
      %rank = gpu.cluster_block_id x
      %is_receiver = arith.cmpi eq, %rank, %c0 : index

      %full = nvgpu.mbarrier.create -> !barriers
      scf.if %is_first_thread {
        nvgpu.mbarrier.init %full[%c0], %c1 : !barriers
        nvvm.fence.mbarrier.init
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait

      scf.if %is_receiver {
        scf.if %is_first_thread {
          tile.expect %full[%c0] for %dst : !barriers, !slots
        }
        tile.wait %full[%c0] parity(%first) : !barriers
        %x = vector.load %dst[%c0, %column] : !slots, vector<2xi32>
        %y = vector.load %dst[%c1, %column] : !slots, vector<2xi32>
        %z = vector.load %dst[%c2, %column] : !slots, vector<2xi32>
        %xy = arith.addi %x, %y : vector<2xi32>
        %sum = arith.addi %xy, %z : vector<2xi32>
        vector.store %sum, %b[%column] : memref<128xi32>, vector<2xi32>
      } else {
        %values = vector.load %a[%rank, %column] : memref<4x128xi32>, vector<2xi32>
        vector.store %values, %src[%column] : !tile, vector<2xi32>
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        gpu.barrier
        scf.if %is_first_thread {
          %place = arith.subi %rank, %c1 : index
          %slot = memref.subview %dst[%place, 0] [1, 128] [1, 1] : !slots to !slot
          tile.copy_async %src to %slot cta(%receiver) mbarrier(%full[%c0]) : !tile to !slot, !barriers
        }
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      gpu.return
    }
  }

  func.func @main(%a: memref<4x128xi32>, %b: memref<128xi32>) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : memref<4x128xi32>
    %device_b, %t1 = gpu.alloc async [%t0] () : memref<128xi32>
    %t2 = gpu.memcpy async [%t1] %device_a, %a : memref<4x128xi32>, memref<4x128xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@fan_in
        clusters in (%c4, %c1, %c1) blocks in (%c4, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%device_a : memref<4x128xi32>, %device_b : memref<128xi32>)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : memref<128xi32>, memref<128xi32>
    %t5 = gpu.dealloc async [%t4] %device_a : memref<4x128xi32>
    %t6 = gpu.dealloc async [%t5] %device_b : memref<128xi32>
    gpu.wait [%t6]
    return
  }
}
