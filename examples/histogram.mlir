// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A cluster of four CTAs of 64 threads counts values of 0 to 255. Each CTA has 64 of the 256 bins in its
// shared memory; whoever finds a value adds to its bin there, by an atomic on a peer's memory.
//
//   tile-run examples/histogram.mlir --entry main --arg iota:4096xi32 --arg zeros:256xi32 --save 1=b.npy

!bins = memref<64xi32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @histogram(%a: memref<4096xi32>, %b: memref<256xi32>) workgroup(%bins: !bins)
        kernel attributes {tile.insert_sync, known_block_size = array<i32: 64, 1, 1>,
                           known_cluster_size = array<i32: 4, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c4096 = arith.constant 4096 : index
      %c256 = arith.constant 256 : index
      %six = arith.constant 6 : i32
      %mask = arith.constant 63 : i32
      %values = arith.constant 255 : i32
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %thread = gpu.thread_id x
      %all = gpu.global_id x
      memref.store %zero, %bins[%thread] : !bins
      // All bins are there and empty.
      nvvm.cluster.arrive
      nvvm.cluster.wait
      scf.for %i = %all to %c4096 step %c256 {
        %given = memref.load %a[%i] : memref<4096xi32>
        %value = arith.andi %given, %values : i32
        %owner = arith.shrui %value, %six : i32
        %place = arith.andi %value, %mask : i32
        %bin = arith.index_cast %place : i32 to index
        %there = tile.peer %bins cta(%owner) : !bins to memref<64xi32, 7>
        %old = memref.atomic_rmw addi %one, %there[%bin] : (i32, memref<64xi32, 7>) -> i32
      }
      // All values are counted.
      nvvm.cluster.arrive
      nvvm.cluster.wait
      %count = memref.load %bins[%thread] : !bins
      memref.store %count, %b[%all] : memref<256xi32>
      gpu.return
    }
  }

  func.func @main(%a: memref<4096xi32>, %b: memref<256xi32>) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %start = gpu.wait async
    %device_a, %t0 = gpu.alloc async [%start] () : memref<4096xi32>
    %device_b, %t1 = gpu.alloc async [%t0] () : memref<256xi32>
    %t2 = gpu.memcpy async [%t1] %device_a, %a : memref<4096xi32>, memref<4096xi32>
    %t3 = gpu.launch_func async [%t2] @kernels::@histogram
        clusters in (%c4, %c1, %c1) blocks in (%c4, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%device_a : memref<4096xi32>, %device_b : memref<256xi32>)
    %t4 = gpu.memcpy async [%t3] %b, %device_b : memref<256xi32>, memref<256xi32>
    %t5 = gpu.dealloc async [%t4] %device_a : memref<4096xi32>
    %t6 = gpu.dealloc async [%t5] %device_b : memref<256xi32>
    gpu.wait [%t6]
    return
  }
}
