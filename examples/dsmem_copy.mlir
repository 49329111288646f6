// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of two CTAs of 128 threads. CTA 0 loads a tile of 128x64 f16 from global memory into its
// shared memory and copies it into the shared memory of CTA 1, which writes it out.
//
//   tile-run examples/dsmem_copy.mlir --entry main \
//     --arg iota:128x64xf16 --arg zeros:128x64xf16 --expect 1=0

!tile = memref<128x64xf16, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @dsmem_copy(%a: memref<128x64xf16>, %b: memref<128x64xf16>)
        workgroup(%src: !tile, %dst: !tile)
        kernel attributes {known_block_size = array<i32: 128, 1, 1>,
                           known_cluster_size = array<i32: 2, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c128 = arith.constant 128 : index
      %bytes = arith.constant 16384 : index
      %ticks = arith.constant 10000000 : index
      %phase = arith.constant false
      %peer = arith.constant 1 : i32
      %thread = gpu.thread_id x
      %rank = gpu.cluster_block_id x
      // Eight threads take a row, 16 bytes each.
      %first_row = arith.divui %thread, %c8 : index
      %eighth = arith.remui %thread, %c8 : index
      %column = arith.muli %eighth, %c8 : index
      %is_first_thread = arith.cmpi eq, %thread, %c0 : index
      %is_sender = arith.cmpi eq, %rank, %c0 : index

      %bars = nvgpu.mbarrier.create -> !barriers
      scf.if %is_first_thread {
        nvgpu.mbarrier.init %bars[%c0], %c1 : !barriers
        nvvm.fence.mbarrier.init
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait

      scf.if %is_sender {
        scf.for %row = %first_row to %c128 step %c16 {
          %values = vector.load %a[%row, %column] {alignment = 16 : i64} : memref<128x64xf16>, vector<8xf16>
          vector.store %values, %src[%row, %column] {alignment = 16 : i64} : !tile, vector<8xf16>
        }
        nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
        gpu.barrier
        scf.if %is_first_thread {
          tile.copy_async %src to %dst cta(%peer) mbarrier(%bars[%c0]) : !tile to !tile, !barriers
        }
      } else {
        scf.if %is_first_thread {
          nvgpu.mbarrier.arrive.expect_tx %bars[%c0], %bytes : !barriers
        }
        nvgpu.mbarrier.try_wait.parity %bars[%c0], %phase, %ticks : !barriers
        scf.for %row = %first_row to %c128 step %c16 {
          %values = vector.load %dst[%row, %column] {alignment = 16 : i64} : !tile, vector<8xf16>
          vector.store %values, %b[%row, %column] {alignment = 16 : i64} : memref<128x64xf16>, vector<8xf16>
        }
      }
      nvvm.cluster.arrive
      nvvm.cluster.wait
      gpu.return
    }
  }

  func.func @main(%a: memref<128x64xf16>, %b: memref<128x64xf16>)
      attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : memref<128x64xf16>
    %device_b, %t1 = gpu.alloc async [%t0] () : memref<128x64xf16>
    %t2 = gpu.memcpy async [%t1] %device_a, %a : memref<128x64xf16>, memref<128x64xf16>
    %t3 = gpu.launch_func async [%t2] @kernels::@dsmem_copy
        clusters in (%c2, %c1, %c1) blocks in (%c2, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%device_a : memref<128x64xf16>, %device_b : memref<128x64xf16>)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : memref<128x64xf16>, memref<128x64xf16>
    %t5 = gpu.dealloc async [%t4] %device_a : memref<128x64xf16>
    %t6 = gpu.dealloc async [%t5] %device_b : memref<128x64xf16>
    gpu.wait [%t6]
    return
  }
}
