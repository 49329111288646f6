// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM ends the process on, or writes into PTX that no GPU launches, is refused at the kernel. Each
// has its control in the first module.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

gpu.module @kernels {
  gpu.func @block() kernel attributes {known_block_size = array<i32: 16, 1, 64>} {
    gpu.return
  }
  gpu.func @cluster() kernel attributes {known_cluster_size = array<i32: 4, 4, 1>} {
    gpu.return
  }
  gpu.func @a_b$1() kernel {
    gpu.return
  }
  gpu.func @grid() kernel attributes {known_grid_size = array<i32: 65536, 65535, 1>} {
    gpu.return
  }
  gpu.func @own() kernel attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_block_size must be positive and 1024 threads at most, got 2048x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 256 along x}}
  gpu.func @block_of_2048() kernel attributes {known_block_size = array<i32: 2048, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_block_size must be positive and 1024 threads at most, got 0x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 256 along x}}
  gpu.func @block_of_0() kernel attributes {known_block_size = array<i32: 0, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_block_size must have 64 threads along z at most, got 128}}
  // expected-note @+1 {{use x or y}}
  gpu.func @block_of_128_along_z() kernel attributes {known_block_size = array<i32: 1, 1, 128>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_cluster_size must be positive and 16 CTAs at most, got -1x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 4 along x}}
  gpu.func @cluster_of_less_than_0() kernel attributes {known_cluster_size = array<i32: -1, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_cluster_size must be positive and 16 CTAs at most, got 32x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 4 along x}}
  gpu.func @cluster_of_32() kernel attributes {known_cluster_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op nvvm.cluster_dim must be positive and 16 CTAs at most, got 0x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 4 along x}}
  gpu.func @nvvms_own() kernel attributes {nvvm.cluster_dim = array<i32: 0, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op must have one of known_cluster_size and nvvm.cluster_dim}}
  // expected-note @+1 {{drop nvvm.cluster_dim}}
  gpu.func @both() kernel attributes {known_cluster_size = array<i32: 2, 1, 1>,
                                      nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op 'a-b' must have a name that PTX can write}}
  // expected-note @+1 {{take letters, digits, _ and $, and no digit first}}
  gpu.func @"a-b"() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'memref.global' op 'a b' must have a name that PTX can write}}
  // expected-note @+1 {{take letters, digits, _ and $, and no digit first}}
  memref.global "private" @"a b" : memref<4xf32, #gpu.address_space<workgroup>>
  gpu.func @k() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_grid_size must be positive, got 0x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 4 along x}}
  gpu.func @grid_of_0() kernel attributes {known_grid_size = array<i32: 0, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_grid_size must be positive, got -1x1x1}}
  // expected-note @+1 {{choose a size that a GPU can launch, such as 4 along x}}
  gpu.func @grid_of_less_than_0() kernel attributes {known_grid_size = array<i32: -1, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op known_grid_size must have 65535 CTAs along y at most, got 65536}}
  // expected-note @+1 {{use x}}
  gpu.func @grid_along_y() kernel attributes {known_grid_size = array<i32: 1, 65536, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op must have one of known_block_size and nvvm.reqntid}}
  // expected-note @+1 {{drop nvvm.reqntid}}
  gpu.func @both_blocks() kernel attributes {known_block_size = array<i32: 32, 1, 1>,
                                             nvvm.reqntid = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
