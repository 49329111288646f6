// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `--line-info` keeps the places of the source in the PTX, at every optimization level; without it
// there are none.

// RUN: tile-compile %s --to ptx --line-info --opt-level 0 | FileCheck %s
// RUN: tile-compile %s --to ptx --line-info --opt-level 1 | FileCheck %s
// RUN: tile-compile %s --to ptx --line-info --opt-level 2 | FileCheck %s
// RUN: tile-compile %s --to ptx --line-info --opt-level 3 | FileCheck %s
// RUN: tile-compile %s --to ptx --opt-level 0 | FileCheck %s --check-prefix=NONE
// RUN: tile-compile %s --to ptx | FileCheck %s --check-prefix=NONE

// CHECK:      .visible .entry add
// CHECK:      .loc [[FILE:[0-9]+]] [[#@LINE + 13]] 10
// CHECK-NEXT: ld.{{.*}}b32
// CHECK:      .loc [[FILE]] [[#@LINE + 12]] 10
// CHECK-NEXT: add.rn.f32
// CHECK:      .file [[FILE]] "{{.*}}line_info.mlir"

// NONE:     .visible .entry add
// NONE-NOT: .loc
// NONE-NOT: .file

gpu.module @kernels {
  gpu.func @add(%a: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<4xf32>
    %y = arith.addf %x, %x : f32
    memref.store %y, %a[%c0] : memref<4xf32>
    gpu.return
  }
}
