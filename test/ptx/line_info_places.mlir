// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each op keeps its own file, whatever its function's; of calls, the innermost place counts. Where the
// module is says nothing.

// RUN: tile-compile %s --to ptx --line-info | FileCheck %s
// RUN: tile-compile %s --to nvvm --line-info | FileCheck %s --check-prefix=NVVM

// CHECK:     .visible .entry f
// CHECK-NOT: .loc
// CHECK:     .loc [[KERNEL:[0-9]+]] 10 0
// CHECK:     .loc [[KERNEL]] 10 1
// CHECK:     .loc [[HELPER:[0-9]+]] 77 3
// CHECK-NOT: .loc
// CHECK:     ld.global
// CHECK:     .loc [[DEEP:[0-9]+]] 5 2
// CHECK-NOT: .loc
// CHECK:     st.global
// CHECK:     .loc [[KERNEL]] 12 1
// CHECK-NEXT: ret
// CHECK-DAG: .file [[KERNEL]] "kernel.py"
// CHECK-DAG: .file [[HELPER]] "lib{{.*}}helper.py"
// CHECK-DAG: .file [[DEEP]] "deep.py"

// NVVM: llvm.func @f

gpu.module @k {
  gpu.func @f(%a: memref<64xf32>, %b: memref<64xf32>) kernel {
    %t = gpu.thread_id x loc("kernel.py":10:1)
    %v = memref.load %a[%t] : memref<64xf32> loc(fused["lib/helper.py":77:3, "other.py":1:1])
    memref.store %v, %b[%t] : memref<64xf32> loc(callsite("store"("deep.py":5:2) at callsite("helper.py":78:3 at "kernel.py":11:1)))
    gpu.return loc("kernel.py":12:1)
  } loc(unknown)
} loc(callsite("a.py":1:1 at "b.py":2:2))
