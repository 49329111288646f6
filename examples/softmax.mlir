// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of eight CTAs of 256 threads computes the softmax of one row, four elements a thread. The row
// passes through registers once: its largest element and its sum are reductions over the cluster.
//
//   tile-run examples/softmax.mlir --entry main --arg random:8192xf32 --arg zeros:8192xf32 --save 1=b.npy

!row = memref<8192xf32>
!four = vector<4xf32>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @softmax(%a: !row, %b: !row)
        kernel attributes {known_block_size = array<i32: 256, 1, 1>,
                           known_cluster_size = array<i32: 8, 1, 1>} {
      %c4 = arith.constant 4 : index
      %log2e = arith.constant 1.44269504 : f32
      %zero = arith.constant 0.0 : f32
      %thread = gpu.global_id x
      %place = arith.muli %thread, %c4 : index
      %x = vector.load %a[%place] {alignment = 16 : i64} : !row, !four
      %largest = vector.reduction <maxnumf>, %x : !four into f32
      %max = tile.all_reduce maxnumf %largest : f32
      // exp(x - max)
      %maxima = vector.broadcast %max : f32 to !four
      %scale = vector.broadcast %log2e : f32 to !four
      %below = arith.subf %x, %maxima : !four
      %scaled = arith.mulf %below, %scale : !four
      %powers = math.exp2 %scaled : !four
      %own = vector.reduction <add>, %powers, %zero : !four into f32
      %sum = tile.all_reduce add %own : f32
      %sums = vector.broadcast %sum : f32 to !four
      %y = arith.divf %powers, %sums : !four
      vector.store %y, %b[%place] {alignment = 16 : i64} : !row, !four
      gpu.return
    }
  }

  func.func @main(%a: !row, %b: !row) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c256 = arith.constant 256 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : !row
    %device_b, %t1 = gpu.alloc async [%t0] () : !row
    %t2 = gpu.memcpy async [%t1] %device_a, %a : !row, !row
    %t3 = gpu.launch_func async [%t2] @kernels::@softmax
        clusters in (%c8, %c1, %c1) blocks in (%c8, %c1, %c1) threads in (%c256, %c1, %c1)
        args(%device_a : !row, %device_b : !row)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : !row, !row
    %t5 = gpu.dealloc async [%t4] %device_a : !row
    %t6 = gpu.dealloc async [%t5] %device_b : !row
    gpu.wait [%t6]
    return
  }
}
