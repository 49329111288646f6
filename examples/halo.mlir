// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of four CTAs of 64 threads smooths a ring of 256 elements, an element a thread, for as many steps
// as the host says. In each step the first and the last thread of a CTA send their elements to the
// neighbours, which have a cell for each beside their own; two sets of rows and barriers take turns.
//
//   tile-run examples/halo.mlir --entry main --arg random:256xf32 --arg zeros:256xf32 --arg 5 --save 1=b.npy

!ring = memref<256xf32>
!rows = memref<2x66xf32, #gpu.address_space<workgroup>>
!cell = memref<1xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @smooth(%a: !ring, %b: !ring, %steps: index) workgroup(%rows: !rows)
        kernel attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                           known_cluster_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c63 = arith.constant 63 : index
      %c65 = arith.constant 65 : index
      %quarter = arith.constant 0.25 : f32
      %half = arith.constant 0.5 : f32
      %thread = gpu.thread_id x
      %place = gpu.global_id x
      %middle = arith.addi %thread, %c1 : index
      %right_place = arith.addi %thread, %c2 : index
      %rank = gpu.cluster_block_id x
      %after = arith.addi %rank, %c1 : index
      %before = arith.addi %rank, %c3 : index
      %right_rank = arith.remui %after, %c4 : index
      %left_rank = arith.remui %before, %c4 : index
      %to_right = arith.index_cast %right_rank : index to i32
      %to_left = arith.index_cast %left_rank : index to i32
      %is_first = arith.cmpi eq, %thread, %c0 : index
      %is_last = arith.cmpi eq, %thread, %c63 : index
      %bars = nvgpu.mbarrier.create -> !bars
      scf.if %is_first {
        nvgpu.mbarrier.init %bars[%c0], %c1 : !bars
        nvgpu.mbarrier.init %bars[%c1], %c1 : !bars
      }
      %x = memref.load %a[%place] : !ring
      %smooth = scf.for %step = %c0 to %steps step %c1 iter_args(%own = %x) -> f32 {
        %set = arith.remui %step, %c2 : index
        %round = arith.divui %step, %c2 : index
        %number = arith.index_cast %round : index to i32
        %parity = arith.trunci %number : i32 to i1
        memref.store %own, %rows[%set, %middle] : !rows
        scf.if %is_first {
          %left_cell = memref.subview %rows[%set, 0] [1, 1] [1, 1] : !rows to !cell
          %right_cell = memref.subview %rows[%set, 65] [1, 1] [1, 1] : !rows to !cell
          tile.expect %bars[%set] for %left_cell, %right_cell : !bars, !cell, !cell
          tile.store_async %own to %rows[%set, %c65] cta(%to_left) mbarrier(%bars[%set]) : f32, !rows, !bars
        }
        scf.if %is_last {
          tile.store_async %own to %rows[%set, %c0] cta(%to_right) mbarrier(%bars[%set]) : f32, !rows, !bars
        }
        gpu.barrier
        tile.wait %bars[%set] parity(%parity) : !bars
        %left = memref.load %rows[%set, %thread] : !rows
        %right = memref.load %rows[%set, %right_place] : !rows
        %both = arith.addf %left, %right : f32
        %sides = arith.mulf %both, %quarter : f32
        %kept = arith.mulf %own, %half : f32
        %next = arith.addf %kept, %sides : f32
        scf.yield %next : f32
      }
      memref.store %smooth, %b[%place] : !ring
      gpu.return
    }
  }

  func.func @main(%a: !ring, %b: !ring, %steps: index) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : !ring
    %device_b, %t1 = gpu.alloc async [%t0] () : !ring
    %t2 = gpu.memcpy async [%t1] %device_a, %a : !ring, !ring
    %t3 = gpu.launch_func async [%t2] @kernels::@smooth
        clusters in (%c4, %c1, %c1) blocks in (%c4, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%device_a : !ring, %device_b : !ring, %steps : index)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : !ring, !ring
    %t5 = gpu.dealloc async [%t4] %device_a : !ring
    %t6 = gpu.dealloc async [%t5] %device_b : !ring
    gpu.wait [%t6]
    return
  }
}
