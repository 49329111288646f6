// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies that nobody there can issue, or to a CTA that is not there. The control of each rule keeps it,
// and differs in nothing else.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {

// A cluster has more than one CTA.
gpu.func @cluster_control(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 1, 2, 1>} {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}
gpu.func @cluster_of_1(%rank: i32, %bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 1, 1, 1>} {
  // expected-error @+2 {{'tile.copy_async' op needs a cluster of more than one CTA, got a cluster known to be of 1}}
  // expected-note @+1 {{launch the kernel with clusters of 2 or more}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}

// A constant rank is inside a cluster that is known.
gpu.func @rank_control(%bars: !bars, %i: index) workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 2, 1>} {
  %rank = arith.constant 3 : i32
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}
gpu.func @rank_4_in_a_cluster_of_2_2_1(%bars: !bars, %i: index)
    workgroup(%src: !tile, %dst: !tile) kernel
    attributes {known_cluster_size = array<i32: 2, 2, 1>} {
  %rank = arith.constant 4 : i32
  // expected-error @+2 {{'tile.copy_async' op rank must be in 0 to 3 in a cluster of 4, got 4}}
  // expected-note @+1 {{name a CTA of the cluster, or launch larger clusters}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  gpu.return
}

// A copy to the CTA's own rank does not overlap itself.
gpu.func @own_rank_control(%bars: !bars, %i: index) workgroup(%buffer: memref<32xf32, #wg>) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %id = gpu.cluster_block_id x
  %rank = arith.index_cast %id : index to i32
  %src = memref.subview %buffer[0] [16] [1] : memref<32xf32, #wg> to memref<16xf32, strided<[1]>, #wg>
  %dst = memref.subview %buffer[16] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 16>, #wg>
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1]>, #wg> to memref<16xf32, strided<[1], offset: 16>, #wg>, !bars
  gpu.return
}
gpu.func @own_rank_that_overlaps(%bars: !bars, %i: index) workgroup(%buffer: memref<32xf32, #wg>) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  %id = gpu.cluster_block_id x
  %rank = arith.index_cast %id : index to i32
  %src = memref.subview %buffer[0] [16] [1] : memref<32xf32, #wg> to memref<16xf32, strided<[1]>, #wg>
  %dst = memref.subview %buffer[12] [16] [1]
      : memref<32xf32, #wg> to memref<16xf32, strided<[1], offset: 12>, #wg>
  // expected-error @+2 {{'tile.copy_async' op destination must not overlap the source in a copy to the CTA's own rank, got tiles of one buffer that do}}
  // expected-note @+1 {{copy into another buffer, or to another rank}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<16xf32, strided<[1]>, #wg> to memref<16xf32, strided<[1], offset: 12>, #wg>, !bars
  gpu.return
}
gpu.func @one_place_in_another_rank(%rank: i32, %bars: !bars, %i: index)
    workgroup(%buffer: memref<32xf32, #wg>) kernel
    attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  tile.copy_async %buffer to %buffer cta(%rank) mbarrier(%bars[%i])
      : memref<32xf32, #wg> to memref<32xf32, #wg>, !bars
  gpu.return
}

// Device code is what a GPU runs: a gpu.func, a function in a gpu.module, the body of a gpu.launch.
func.func @device_control(%src: memref<16xf32, #wg> {llvm.align = 16 : i64},
                          %dst: memref<16xf32, #wg> {llvm.align = 16 : i64}, %rank: i32, %bars: !bars,
                          %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

}

func.func @host(%src: memref<16xf32, #wg> {llvm.align = 16 : i64},
                %dst: memref<16xf32, #wg> {llvm.align = 16 : i64}, %rank: i32, %bars: !bars,
                %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must be in device code, got a host function}}
  // expected-note @+1 {{move it into a gpu.func or the body of a gpu.launch}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

memref.global "private" @src : !tile
memref.global "private" @dst : !tile

// A launch that names no clusters has clusters of one CTA.
func.func @launch_control(%rank: i32, %bars: !bars, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %src = memref.get_global @src : !tile
    %dst = memref.get_global @dst : !tile
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}
func.func @launch_without_clusters(%rank: i32, %bars: !bars, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %src = memref.get_global @src : !tile
    %dst = memref.get_global @dst : !tile
    // expected-error @+2 {{'tile.copy_async' op needs a cluster of more than one CTA, got a cluster known to be of 1}}
    // expected-note @+1 {{launch the kernel with clusters of 2 or more}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}

func.func @launch_of_2_and_rank_2(%bars: !bars, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rank = arith.constant 2 : i32
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %src = memref.get_global @src : !tile
    %dst = memref.get_global @dst : !tile
    // expected-error @+2 {{'tile.copy_async' op rank must be in 0 to 1 in a cluster of 2, got 2}}
    // expected-note @+1 {{name a CTA of the cluster, or launch larger clusters}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}

// A gpu.launch cannot say how its attributions are aligned; after outlining, a gpu.func can.
func.func @launch_with_attributions(%rank: i32, %bars: !bars, %i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             workgroup(%src: memref<16xf32, #wg>) {
    %dst = memref.get_global @dst : !tile
    // expected-error @+3 {{'tile.copy_async' op cannot be cut into bulk copies: source buffer must be aligned to 16 bytes, got an alignment of 1 byte}}
    // expected-note @+2 {{run gpu-kernel-outlining first: gpu.launch cannot say how its workgroup buffers are aligned}}
    // expected-note @+1 {{issue(warp) with a known block size would copy it by st_async}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.terminator
  }
  return
}
