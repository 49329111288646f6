// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cannot be placed, each beside a control case that differs in one thing and passes.

// RUN: tile-opt %s --split-input-file --verify-diagnostics --tile-place-shared-memory -o /dev/null

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must have a static size, got 'memref<?xf32, 3>'}}
  // expected-note @below {{give it static extents and strides, or view gpu.dynamic_shared_memory}}
  gpu.func @dynamic_extent() workgroup(%a: memref<?xf32, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @dynamic_extent_control() workgroup(%a: memref<4xf32, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 1 must have a static size, got 'memref<4x4xf32, strided<[?, 1]>, 3>'}}
  // expected-note @below {{give it static extents and strides}}
  gpu.func @dynamic_stride()
      workgroup(%a: memref<4xf32, 3>, %b: memref<4x4xf32, strided<[?, 1]>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @dynamic_stride_control()
      workgroup(%a: memref<4xf32, 3>, %b: memref<4x4xf32, strided<[9, 1]>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must have strides, got 'memref<4x4xf32, affine_map<(d0, d1) -> (d0, d1 mod 2)>, 3>'}}
  // expected-note @below {{give the buffer a strided layout}}
  gpu.func @no_strides() workgroup(%a: memref<4x4xf32, affine_map<(i, j) -> (i, j mod 2)>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_strides_control() workgroup(%a: memref<4x4xf32, affine_map<(i, j) -> (i, j)>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must not reach before its start, got a stride of -1}}
  // expected-note @below {{declare a larger buffer and view it with memref.reinterpret_cast}}
  gpu.func @negative_stride() workgroup(%a: memref<4xf32, strided<[-1], offset: 3>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @negative_stride_control() workgroup(%a: memref<4xf32, strided<[1], offset: 3>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must have elements of a known size, got 'memref<4xmemref<4xf32>, 3>'}}
  // expected-note @below {{use integers, floats or vectors of them}}
  gpu.func @element_size() workgroup(%a: memref<4xmemref<4xf32>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @element_size_control() workgroup(%a: memref<4xvector<4xf32>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must be aligned to a power of two of at most 1024 bytes, got 2048}}
  // expected-note @below {{shared memory begins at a multiple of 1024 bytes: ask for that, and round the address up}}
  gpu.func @alignment() workgroup(%a: memref<4xf32, 3> {llvm.align = 2048 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @alignment_control() workgroup(%a: memref<4xf32, 3> {llvm.align = 1024 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @dynamic_alignment() kernel {
    // expected-error @below {{'gpu.dynamic_shared_memory' op memory must be aligned to a power of two of at most 1024 bytes, got 48}}
    // expected-note @below {{shared memory begins at a multiple of 1024 bytes}}
    %dynamic = gpu.dynamic_shared_memory {tile.alignment = 48 : i64} : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @dynamic_alignment_control() kernel {
    %dynamic = gpu.dynamic_shared_memory {tile.alignment = 64 : i64} : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'memref.global' op in workgroup memory must be uninitialized, got an initial value}}
  // expected-note @below {{store the value in the kernel}}
  memref.global "private" @initialized : memref<2xf32, 3> = dense<0.0>
}

// -----

gpu.module @kernels {
  memref.global "private" @initialized_control : memref<2xf32, 3> = uninitialized
}

// -----

// 227 KiB are 232448 bytes. All buffers move, so the control fills them to the last byte.

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op shared memory must be at most 232448 bytes, got 232464: 232464 of buffers and 0 of dynamic memory}}
  // expected-note @below {{make the buffers, or the dynamic_shared_memory_size of the launch, smaller by 16 bytes}}
  gpu.func @total() workgroup(%a: memref<232449xi8, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @total_control() workgroup(%a: memref<232448xi8, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op shared memory must be at most 232448 bytes, got}}
  // expected-note @below {{make the buffers}}
  gpu.func @huge() workgroup(%a: memref<1152921504606846976x4xf64, strided<[1152921504606846976, 1]>, 3>) kernel {
    gpu.return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // expected-error @below {{'gpu.func' op shared memory must be at most 232448 bytes, got 232449: 102400 of buffers and 130049 of dynamic memory}}
    // expected-note @below {{make the buffers, or the dynamic_shared_memory_size of the launch, smaller by 1 bytes}}
    gpu.func @with_dynamic() workgroup(%a: memref<102400xi8, 3>) kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %small = arith.constant 16 : i32
    %bytes = arith.constant 130049 : i32
    gpu.launch_func @kernels::@with_dynamic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes
    gpu.launch_func @kernels::@with_dynamic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %small
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @with_dynamic_control() workgroup(%a: memref<102400xi8, 3>) kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 130048 : i32
    gpu.launch_func @kernels::@with_dynamic_control blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        dynamic_shared_memory_size %bytes
    return
  }
}

// -----

gpu.module @kernels {
  gpu.func @device_function() workgroup(%a: memref<49153xi8, 3>) {
    gpu.return
  }
  // expected-error @below {{'gpu.func' op static shared memory of device functions must be at most 49152 bytes, got 49153}}
  // expected-note @below {{declare the buffers in the kernel and hand them to the functions}}
  gpu.func @pinned() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @device_function() workgroup(%a: memref<49152xi8, 3>) {
    gpu.return
  }
  gpu.func @pinned_control() kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-note @below {{use gpu.dynamic_shared_memory instead of this}}
  memref.global @by_hand : memref<0xi8, 3>
  // expected-error @below {{'gpu.func' op static shared memory must be at most 49152 bytes, got 49153, and the module declares dynamic memory by hand}}
  gpu.func @by_hand_and_too_much() workgroup(%a: memref<49153xi8, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  memref.global @by_hand : memref<0xi8, 3>
  gpu.func @by_hand_control() workgroup(%a: memref<49152xi8, 3>) kernel {
    gpu.return
  }
}

// -----

func.func @not_outlined() {
  %c1 = arith.constant 1 : index
  // expected-error @below {{'gpu.launch' op must be outlined before its shared memory is placed}}
  // expected-note @below {{run gpu-kernel-outlining first}}
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must not reach before its start, got an offset of -8}}
  // expected-note @below {{declare the buffer from its first element on}}
  gpu.func @offset_before() workgroup(%a: memref<8xf32, strided<[1], offset: -8>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op shared memory must be at most 232448 bytes, got}}
  // expected-note @below {{make the buffers}}
  gpu.func @offset_far() workgroup(%a: memref<8xf32, strided<[1], offset: 9223372036854775800>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @offset_control() workgroup(%a: memref<8xf32, strided<[1], offset: 8>, 3>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must be aligned to a power of two of at most 1024 bytes, got 9223372036854775807}}
  // expected-note @below {{shared memory begins at a multiple of 1024 bytes}}
  gpu.func @alignment_of_many_bits()
      workgroup(%a: memref<4xi32, 3> {llvm.align = 1267650600228229401496703205376 : i256}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @alignment_of_many_bits_control()
      workgroup(%a: memref<4xi32, 3> {llvm.align = 1024 : i256}, %b: memref<4xi32, 3> {llvm.align = 16 : ui32}) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{'gpu.func' op workgroup buffer 0 must have elements of a known size, got 'memref<4xi0, 3>'}}
  // expected-note @below {{use integers, floats or vectors of them}}
  gpu.func @no_bits() workgroup(%a: memref<4xi0, 3>) kernel {
    gpu.return
  }
}
