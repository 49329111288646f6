// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch in a loop gives its stack back. One outside of loops need not, and one that is of the known
// size tells nobody.
// RUN: tile-opt %s --pass-pipeline='builtin.module(convert-scf-to-cf,gpu.module(convert-gpu-to-nvvm),gpu-to-llvm,tile-guard-launches)' | FileCheck %s

// CHECK-LABEL: llvm.func @loop
// CHECK:         %[[STACK:.*]] = llvm.intr.stacksave : !llvm.ptr
// CHECK-NEXT:    gpu.launch_func
// CHECK-NEXT:    llvm.intr.stackrestore %[[STACK]] : !llvm.ptr

// CHECK-LABEL: llvm.func @once
// CHECK-NOT:     llvm.intr.stack
// CHECK:         gpu.launch_func  @kernels::@any
// CHECK-NOT:     tile_runtime
// CHECK:         gpu.launch_func  @kernels::@known
// CHECK:         llvm.return

// CHECK-LABEL: llvm.func @other
// CHECK-DAG:     %[[GRID:.*]] = llvm.mlir.constant(4 : i64) : i64
// CHECK-DAG:     %[[BLOCK:.*]] = llvm.mlir.constant(0 : i64) : i64
// CHECK:         llvm.call @mgpuExpectLaunch(%[[GRID]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT:    gpu.launch_func

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @any() kernel {
      gpu.return
    }
    gpu.func @known() kernel attributes {known_grid_size = array<i32: 4, 1, 1>} {
      gpu.return
    }
  }
  func.func @loop(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      gpu.launch_func @kernels::@any blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
    return
  }
  func.func @once() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    gpu.launch_func @kernels::@any blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu.launch_func @kernels::@known blocks in (%c4, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
  func.func @other(%n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@known blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}
