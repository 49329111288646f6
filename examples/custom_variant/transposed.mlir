// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each of two CTAs copies its rows into the columns of the other's buffer. Only neighbours in one
// dimension lie side by side on one side, so that no run is longer than an element.
!matrix = memref<2x8x16xf32>
!flat = memref<2x128xf32>
!group = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
!rows = memref<8x16xf32, #gpu.address_space<workgroup>>
!columns = memref<8x16xf32, #tile.layout<(8, 16) : (1, 8)>, #gpu.address_space<workgroup>>
!buffer = memref<128xf32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @transpose(%a: !matrix, %b: !flat) workgroup(%src: !rows, %buffer: !buffer) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>,
                    tile.insert_sync} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %first = arith.constant false
      %thread = gpu.thread_id x
      %rank = gpu.cluster_block_id x
      %peer = arith.subi %c1, %rank : index
      %peer_i32 = arith.index_cast %peer : index to i32
      %row = arith.divui %thread, %c16 : index
      %column = arith.remui %thread, %c16 : index
      %is_first = arith.cmpi eq, %thread, %c0 : index
      %dst = tile.view %buffer[0] : !buffer to !columns
      %full = nvgpu.mbarrier.create -> !group
      scf.if %is_first {
        nvgpu.mbarrier.init %full[%c0], %c1 : !group
      }
      %value = memref.load %a[%rank, %row, %column] : !matrix
      memref.store %value, %src[%row, %column] : !rows
      gpu.barrier
      scf.if %is_first {
        tile.expect %full[%c0] for %dst : !group, !columns
        tile.copy_async %src to %dst cta(%peer_i32) mbarrier(%full[%c0]) : !rows to !columns, !group
      }
      tile.wait %full[%c0] parity(%first) : !group
      %received = memref.load %buffer[%thread] : !buffer
      memref.store %received, %b[%rank, %thread] : !flat
      gpu.return
    }
  }

  func.func @main(%a: !matrix, %b: !flat) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : !matrix
    %device_b, %t1 = gpu.alloc async [%t0] () : !flat
    %t2 = gpu.memcpy async [%t1] %device_a, %a : !matrix, !matrix
    %t3 = gpu.launch_func async [%t2] @kernels::@transpose clusters in (%c2, %c1, %c1)
        blocks in (%c2, %c1, %c1) threads in (%c128, %c1, %c1) args(%device_a : !matrix, %device_b : !flat)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : !flat, !flat
    %t5 = gpu.dealloc async [%t4] %device_a : !matrix
    %t6 = gpu.dealloc async [%t5] %device_b : !flat
    gpu.wait [%t6]
    return
  }
}
