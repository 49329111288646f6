// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One op of the protocol in a kernel that has what it may name.
!tile = memref<128x64xf16, #gpu.address_space<workgroup>>
!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels {
  gpu.func @kernel(%rank: i32, %i: index, %parity: i1) workgroup(%src: !tile, %dst: !tile)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %bars = nvgpu.mbarrier.create -> !barriers
// BLOCK
    gpu.return
  }
}
