// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The alignment of a buffer that the kernel declares is raised to what the copies need, and to a line
// of shared memory, 128 bytes, where tiles are that long. One that is handed in must be known.
// RUN: tile-opt %s -tile-analyze-layout | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

// CHECK-LABEL: gpu.module @kernels
gpu.module @kernels {

// CHECK: memref.global "private" @global : memref<32xf32, #gpu.address_space<workgroup>> {alignment = 128 : i64}
memref.global "private" @global : memref<32xf32, #wg>
// CHECK: memref.global "private" @global_of_short_chunks : memref<16xf32, #gpu.address_space<workgroup>> {alignment = 16 : i64}
memref.global "private" @global_of_short_chunks : memref<16xf32, #wg>
// CHECK: memref.global "private" @aligned_global : memref<32xf32, #gpu.address_space<workgroup>> {alignment = 1024 : i64}
memref.global "private" @aligned_global : memref<32xf32, #wg> {alignment = 1024}
// CHECK: memref.global "private" @global_of_no_copy : memref<32xf32, #gpu.address_space<workgroup>>{{$}}
memref.global "private" @global_of_no_copy : memref<32xf32, #wg>

// CHECK-LABEL: gpu.func @attributions_of_128_byte_chunks(
// CHECK-SAME: workgroup(%{{.*}} : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64}, %{{.*}} : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64})
gpu.func @attributions_of_128_byte_chunks(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<32xf32, #wg>, %dst: memref<32xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<32xf32, #wg> to memref<32xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @attributions_of_112_byte_chunks(
// CHECK-SAME: workgroup(%{{.*}} : memref<28xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %{{.*}} : memref<28xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
gpu.func @attributions_of_112_byte_chunks(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<28xf32, #wg>, %dst: memref<28xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<28xf32, #wg> to memref<28xf32, #wg>, !bars
  gpu.return
}

// What is aligned better stays so, and what no copy touches stays as it is.
// CHECK-LABEL: gpu.func @attributions_that_say_their_own(
// CHECK-SAME: workgroup(%{{.*}} : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 64 : i64}, %{{.*}} : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %{{.*}} : memref<16xf32, #gpu.address_space<workgroup>>)
gpu.func @attributions_that_say_their_own(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<16xf32, #wg> {llvm.align = 64 : i64},
              %dst: memref<16xf32, #wg> {llvm.align = 4 : i64}, %other: memref<16xf32, #wg>) kernel {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// The buffer behind the views is aligned.
// CHECK-LABEL: gpu.func @attribution_behind_views(
// CHECK-SAME: workgroup(%{{.*}} : memref<256xi8, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}
gpu.func @attribution_behind_views(%rank: i32, %bars: !bars, %i: index)
    workgroup(%bytes: memref<256xi8, #wg>, %dst: memref<16xf32, #wg>) kernel {
  %shift = arith.constant 16 : index
  %view = memref.view %bytes[%shift][] : memref<256xi8, #wg> to memref<32xf32, #wg>
  %src = memref.subview %view[4] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 4>, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 4>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @globals(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 128,
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64,
gpu.func @globals(%rank: i32, %bars: !bars, %i: index) workgroup(%to: memref<16xf32, #wg>) kernel {
  %src = memref.get_global @global : memref<32xf32, #wg>
  %dst = memref.get_global @aligned_global : memref<32xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<32xf32, #wg> to memref<32xf32, #wg>, !bars
  %from = memref.get_global @global_of_short_chunks : memref<16xf32, #wg>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Dynamic shared memory is aligned where it begins, and its views by their shifts.
// CHECK-LABEL: gpu.func @dynamic_shared_memory(
// CHECK: gpu.dynamic_shared_memory {tile.alignment = 128 : i64}
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 512, count = 1,
gpu.func @dynamic_shared_memory(%rank: i32, %bars: !bars, %i: index) kernel {
  %c0 = arith.constant 0 : index
  %c512 = arith.constant 512 : index
  %bytes = gpu.dynamic_shared_memory : memref<?xi8, #wg>
  %src = memref.view %bytes[%c0][] : memref<?xi8, #wg> to memref<8x16xf32, #wg>
  %dst = memref.view %bytes[%c512][] : memref<?xi8, #wg> to memref<8x16xf32, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x16xf32, #wg> to memref<8x16xf32, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @argument_with_alignment(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
gpu.func @argument_with_alignment(%src: memref<16xf32, #wg> {llvm.align = 16 : i64}, %rank: i32,
                                  %bars: !bars, %i: index)
    workgroup(%dst: memref<16xf32, #wg>) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// A device function is a func.func in a gpu.module, too.
// CHECK-LABEL: func.func @device_function(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1,
func.func @device_function(%src: memref<16xf32, #wg> {llvm.align = 16 : i64},
                           %dst: memref<16xf32, #wg> {llvm.align = 16 : i64}, %rank: i32,
                           %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, #wg> to memref<16xf32, #wg>, !bars
  return
}

// CHECK-LABEL: gpu.func @assumed_alignment(
// CHECK: tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [], src = <start = 16,
gpu.func @assumed_alignment(%buffer: memref<20xf32, #wg>, %rank: i32, %bars: !bars, %i: index)
    workgroup(%dst: memref<16xf32, #wg>) {
  %aligned = memref.assume_alignment %buffer, 16 : memref<20xf32, #wg>
  %src = memref.subview %aligned[4] [16] [1]
      : memref<20xf32, #wg> to memref<16xf32, strided<[1], offset: 4>, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: 4>, #wg> to memref<16xf32, #wg>, !bars
  gpu.return
}

// Two stages that change places in each round: both are aligned.
// CHECK-LABEL: gpu.func @ping_pong(
// CHECK-SAME: workgroup(%{{.*}} : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %{{.*}} : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %{{.*}} : memref<16xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64})
gpu.func @ping_pong(%rank: i32, %bars: !bars, %i: index, %n: index)
    workgroup(%a: memref<16xf32, #wg>,
              %b: memref<16xf32, #gpu.address_space<workgroup>>,
              %dst: memref<16xf32, #gpu.address_space<workgroup>>) kernel {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x, %y = scf.for %round = %c0 to %n step %c1 iter_args(%now = %a, %next = %b)
      -> (memref<16xf32, #gpu.address_space<workgroup>>, memref<16xf32, #gpu.address_space<workgroup>>) {
    tile.copy_async %now to %dst cta(%rank) mbarrier(%bars[%i])
        : memref<16xf32, #gpu.address_space<workgroup>> to memref<16xf32, #gpu.address_space<workgroup>>, !bars
    scf.yield %next, %now
        : memref<16xf32, #gpu.address_space<workgroup>>, memref<16xf32, #gpu.address_space<workgroup>>
  }
  gpu.return
}

// A part of one of two buffers, at a run-time offset that only its descriptor knows: rows of 64 bytes.
// CHECK-LABEL: gpu.func @part_of_a_choice(
// CHECK-COUNT-3: llvm.align = 16 : i64
// CHECK: #tile.copy_plan<bulk, chunk = 64, count = 1
gpu.func @part_of_a_choice(%rank: i32, %bars: !bars, %i: index, %which: i1)
    workgroup(%a: memref<8x16xf32, #wg>,
              %b: memref<8x16xf32, #gpu.address_space<workgroup>>,
              %dst: memref<16xf32, #gpu.address_space<workgroup>>) kernel {
  %x = memref.subview %a[%i, 0] [1, 16] [1, 1] : memref<8x16xf32, #gpu.address_space<workgroup>>
      to memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %y = memref.subview %b[2, 0] [1, 16] [1, 1] : memref<8x16xf32, #gpu.address_space<workgroup>>
      to memref<16xf32, strided<[1], offset: 32>, #gpu.address_space<workgroup>>
  %z = memref.cast %y : memref<16xf32, strided<[1], offset: 32>, #gpu.address_space<workgroup>>
      to memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  %src = arith.select %which, %x, %z : memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
        to memref<16xf32, #gpu.address_space<workgroup>>, !bars
  gpu.return
}

// Both sides transposed are one piece.
// CHECK-LABEL: gpu.func @transposed(
// CHECK-COUNT-2: llvm.align = 128 : i64
// CHECK: #tile.copy_plan<bulk, chunk = 512, count = 1
gpu.func @transposed(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: memref<8x16xf32, #gpu.address_space<workgroup>>,
              %dst: memref<8x16xf32, #gpu.address_space<workgroup>>) kernel {
  %from = memref.transpose %src (i, j) -> (j, i) : memref<8x16xf32, #gpu.address_space<workgroup>>
      to memref<16x8xf32, strided<[1, 16]>, #gpu.address_space<workgroup>>
  %to = memref.transpose %dst (i, j) -> (j, i) : memref<8x16xf32, #gpu.address_space<workgroup>>
      to memref<16x8xf32, strided<[1, 16]>, #gpu.address_space<workgroup>>
  tile.copy_async %from to %to cta(%rank) mbarrier(%bars[%i])
      : memref<16x8xf32, strided<[1, 16]>, #gpu.address_space<workgroup>>
        to memref<16x8xf32, strided<[1, 16]>, #gpu.address_space<workgroup>>, !bars
  gpu.return
}

}
