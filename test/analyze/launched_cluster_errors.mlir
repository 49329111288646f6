// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What launches in sight say of a kernel's cluster counts where the kernel says nothing. The control
// is launched with clusters that have the rank.
// RUN: tile-opt %s -tile-analyze-layout -verify-diagnostics -split-input-file -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<16xf32, #wg>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
module attributes {gpu.container_module} {
gpu.module @kernels {
gpu.func @clusters_control() workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %rank = arith.constant 1 : i32
  %bars = nvgpu.mbarrier.create -> !bars
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}
gpu.func @no_clusters() workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %rank = arith.constant 1 : i32
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-error @+2 {{'tile.copy_async' op needs a cluster of more than one CTA, got a cluster known to be of 1}}
  // expected-note @+1 {{launch the kernel with clusters of 2 or more}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}
gpu.func @rank_outside_one_of_two() workgroup(%src: !tile, %dst: !tile) kernel {
  %c0 = arith.constant 0 : index
  %rank = arith.constant 2 : i32
  %bars = nvgpu.mbarrier.create -> !bars
  // expected-error @+2 {{'tile.copy_async' op rank must be in 0 to 1 in a cluster of 2, got 2}}
  // expected-note @+1 {{name a CTA of the cluster, or launch larger clusters}}
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !bars
  gpu.return
}
}
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  gpu.launch_func @kernels::@clusters_control clusters in (%c2, %c1, %c1) blocks in (%c2, %c1, %c1)
      threads in (%c1, %c1, %c1)
  gpu.launch_func @kernels::@no_clusters blocks in (%c2, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu.launch_func @kernels::@rank_outside_one_of_two clusters in (%c4, %c1, %c1)
      blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu.launch_func @kernels::@rank_outside_one_of_two clusters in (%c2, %c1, %c1)
      blocks in (%c2, %c1, %c1) threads in (%c1, %c1, %c1)
  return
}
}

// -----

// A kernel is launched with the sizes that it says.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
module attributes {gpu.container_module} {
gpu.module @kernels {
gpu.func @said() kernel attributes {known_block_size = array<i32: 64, 1, 1>,
                                    known_cluster_size = array<i32: 2, 1, 1>} {
  gpu.return
}
}
func.func @main(%some: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  gpu.launch_func @kernels::@said clusters in (%c2, %c1, %c1) blocks in (%c2, %c1, %c1)
      threads in (%c64, %c1, %c1)
  gpu.launch_func @kernels::@said blocks in (%c2, %c1, %c1) threads in (%some, %c1, %c1)
  // expected-error @+2 {{'gpu.launch_func' op must launch "said" with the size that its known_block_size says, 64 along x, got 32}}
  // expected-note @+1 {{change the launch or the attribute}}
  gpu.launch_func @kernels::@said blocks in (%c2, %c1, %c1) threads in (%c32, %c2, %c1)
  // expected-error @+2 {{'gpu.launch_func' op must launch "said" with the size that its known_block_size says, 1 along y, got 2}}
  // expected-note @+1 {{change the launch or the attribute}}
  gpu.launch_func @kernels::@said blocks in (%c2, %c1, %c1) threads in (%c64, %c2, %c1)
  // expected-error @+2 {{'gpu.launch_func' op must launch "said" with the size that its known_cluster_size says, 2 along x, got 4}}
  // expected-note @+1 {{change the launch or the attribute}}
  gpu.launch_func @kernels::@said clusters in (%c4, %c1, %c1) blocks in (%c4, %c1, %c1)
      threads in (%c64, %c1, %c1)
  return
}
}

// -----

// The protocol's ops stand in device code, too.
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>
func.func @host(%bars: !bars, %i: index, %rank: i32, %parity: i1,
                %tile: memref<16xf32, #gpu.address_space<workgroup>>) {
  // expected-error @+2 {{'tile.arrive' op must be in device code, got a host function}}
  // expected-note @+1 {{move it into a gpu.func or the body of a gpu.launch}}
  tile.arrive %bars[%i] cta(%rank) : !bars
  // expected-error @+2 {{'tile.expect' op must be in device code, got a host function}}
  // expected-note @+1 {{move it into a gpu.func or the body of a gpu.launch}}
  tile.expect %bars[%i] for %tile : !bars, memref<16xf32, #gpu.address_space<workgroup>>
  // expected-error @+2 {{'tile.wait' op must be in device code, got a host function}}
  // expected-note @+1 {{move it into a gpu.func or the body of a gpu.launch}}
  tile.wait %bars[%i] parity(%parity) : !bars
  return
}
