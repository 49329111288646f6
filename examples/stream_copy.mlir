// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies a matrix of any shape from 16x64 elements on through shared memory, tile by tile: while one
// buffer is written out, the next tile comes into the other one. Tiles at the edges begin early enough
// to be whole, so that they overlap their neighbours.
//
//   tile-run examples/stream_copy.mlir --entry main \
//     --arg iota:70x200xf32 --arg zeros:70x200xf32 --expect 1=0

!matrix = memref<?x?xf32>
!part = memref<16x64xf32, strided<[?, 1], offset: ?>>
!tiles = memref<2x16x64xf32, #gpu.address_space<workgroup>>
!tile = memref<16x64xf32, strided<[64, 1], offset: ?>, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Every row begins at a multiple of 4 elements, 16 bytes; a launch that breaks this is refused.
    gpu.func @stream_copy(%x: !matrix {llvm.align = 16 : i64, tile.multiple_of = array<i64: 4, 1>},
                          %y: !matrix {llvm.align = 16 : i64, tile.multiple_of = array<i64: 4, 1>})
        workgroup(%buffers: !tiles)
        kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c16 = arith.constant 16 : index
      %c64 = arith.constant 64 : index
      %rows = memref.dim %x, %c0 : !matrix
      %n = memref.dim %x, %c1 : !matrix
      // What the stride of a matrix without padding promises holds for its columns.
      %columns = tile.assume_multiple %n, 4 : index
      %last_row = arith.subi %rows, %c16 : index
      %last_column = arith.subi %columns, %c64 : index
      %down = arith.ceildivui %rows, %c16 : index
      %across = arith.ceildivui %columns, %c64 : index
      %count = arith.muli %down, %across : index

      %thread = gpu.thread_id x
      %is_first = arith.cmpi eq, %thread, %c0 : index
      %full = nvgpu.mbarrier.create -> !barriers
      scf.if %is_first {
        nvgpu.mbarrier.init %full[%c0], %c1 : !barriers
        nvgpu.mbarrier.init %full[%c1], %c1 : !barriers
        nvvm.fence.mbarrier.init
      }
      gpu.barrier

      // The tiles first, first + step, ... are this CTA's. Each round loads one and writes out the one
      // before.
      %first = gpu.block_id x
      %step = gpu.grid_dim x
      %ahead = arith.addi %step, %count : index
      %beyond = arith.subi %ahead, %first : index
      %minus = arith.subi %beyond, %c1 : index
      %mine = arith.divui %minus, %step : index
      %rounds = arith.addi %mine, %c1 : index
      scf.for %round = %c0 to %rounds step %c1 {
        %is_there = arith.cmpi ult, %round, %mine : index
        scf.if %is_there {
          %stage = arith.remui %round, %c2 : index
          %into = memref.subview %buffers[%stage, 0, 0] [1, 16, 64] [1, 1, 1] : !tiles to !tile
          // The last round wrote from this buffer, and has to have read it.
          nvvm.cp.async.bulk.wait_group 0 {read}
          scf.if %is_first {
            tile.expect %full[%stage] for %into : !barriers, !tile
          }
          %number = arith.muli %round, %step : index
          %which = arith.addi %number, %first : index
          %i = arith.divui %which, %across : index
          %j = arith.remui %which, %across : index
          %row16 = arith.muli %i, %c16 : index
          %column64 = arith.muli %j, %c64 : index
          %row = arith.minui %row16, %last_row : index
          %column = arith.minui %column64, %last_column : index
          %from = memref.subview %x[%row, %column] [16, 64] [1, 1] : !matrix to !part
          tile.copy_async %from to %into mbarrier(%full[%stage]) issue(warp) : !part to !tile, !barriers
        }
        %is_behind = arith.cmpi ugt, %round, %c0 : index
        scf.if %is_behind {
          %done = arith.subi %round, %c1 : index
          %stage = arith.remui %done, %c2 : index
          %turn = arith.divui %done, %c2 : index
          %parity_index = arith.remui %turn, %c2 : index
          %parity = arith.index_cast %parity_index : index to i1
          %loaded = memref.subview %buffers[%stage, 0, 0] [1, 16, 64] [1, 1, 1] : !tiles to !tile
          tile.wait %full[%stage] parity(%parity) : !barriers
          %number = arith.muli %done, %step : index
          %which = arith.addi %number, %first : index
          %i = arith.divui %which, %across : index
          %j = arith.remui %which, %across : index
          %row16 = arith.muli %i, %c16 : index
          %column64 = arith.muli %j, %c64 : index
          %row = arith.minui %row16, %last_row : index
          %column = arith.minui %column64, %last_column : index
          %to = memref.subview %y[%row, %column] [16, 64] [1, 1] : !matrix to !part
          tile.copy_async %loaded to %to issue(warp) : !tile to !part
          nvvm.cp.async.bulk.commit.group
        }
      }
      nvvm.cp.async.bulk.wait_group 0
      gpu.return
    }
  }

  func.func @main(%x: !matrix, %y: !matrix) attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %rows = memref.dim %x, %c0 : !matrix
    %columns = memref.dim %x, %c1 : !matrix
    %start = gpu.wait async
    %device_x, %t0 = gpu.alloc async [%start] (%rows, %columns) : !matrix
    %device_y, %t1 = gpu.alloc async [%t0] (%rows, %columns) : !matrix
    %t2 = gpu.memcpy async [%t1] %device_x, %x : !matrix, !matrix
    %t3 = gpu.launch_func async [%t2] @kernels::@stream_copy
        blocks in (%c4, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%device_x : !matrix, %device_y : !matrix)
    %t4 = gpu.memcpy async [%t3] %y, %device_y : !matrix, !matrix
    %t5 = gpu.dealloc async [%t4] %device_x : !matrix
    %t6 = gpu.dealloc async [%t5] %device_y : !matrix
    gpu.wait [%t6]
    return
  }
}
