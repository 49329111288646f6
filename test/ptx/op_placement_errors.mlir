// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that are neither in a kernel nor in the host's program where LLVM can compile them are refused at
// their place. The first module is the control: it has the same ops in a kernel, and beside it what a
// module may have.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

gpu.module @kernels {
  memref.global "private" @table : memref<4xf32>
  llvm.module_flags [#llvm.mlir.module_flag<error, "wchar_size", 4 : i32>]
  func.func private @device() {
    return
  }
  gpu.func @k() kernel {
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    nvvm.barrier0
    gpu.barrier
    gpu.printf "a\n"
    func.call @device() : () -> ()
    gpu.return
  }
}
func.func @host() {
  return
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'nvvm.barrier0' op must be in a function, got one in gpu.module 'kernels' itself}}
  // expected-note @+1 {{move it into the gpu.func that needs it}}
  nvvm.barrier0
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.dynamic_shared_memory' op must be in a function, got one in gpu.module 'kernels' itself}}
  // expected-note @+1 {{move it into the gpu.func that needs it}}
  %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
}

// -----

gpu.module @kernels {
  func.func private @device()
  // expected-error @+2 {{'func.call' op must be in a function, got one in gpu.module 'kernels' itself}}
  // expected-note @+1 {{move it into the gpu.func that needs it}}
  func.call @device() : () -> ()
}

// -----

func.func @host() {
  // expected-error @+2 {{'nvvm.barrier0' op must be in a gpu.module: it is an instruction of GPUs, got one in the host's program}}
  // expected-note @+1 {{move it into a kernel}}
  nvvm.barrier0
  return
}

// -----

// What nvgpu becomes on the host is NVVM's, too.

!barriers = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
func.func @host(%bars: !barriers, %count: index) {
  // expected-error @+2 {{'nvvm.mbarrier.init' op must be in a gpu.module: it is an instruction of GPUs}}
  // expected-note @+1 {{move it into a kernel}}
  nvgpu.mbarrier.init %bars[%count], %count : !barriers
  return
}

// -----

// LLVM's own module has only functions and variables.

llvm.func @callee()
// expected-error @+2 {{'llvm.call' op must be in a function, got one in the module itself}}
// expected-note @+1 {{move it into a function}}
llvm.call @callee() : () -> ()
