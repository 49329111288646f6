// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A gpu.module is compiled for the target that it carries, and for that of the command line where it
// carries none.

// RUN: tile-compile %s --to nvvm --chip sm_90a --features +ptx83 --opt-level 1 | FileCheck %s
// RUN: tile-compile %s --to ptx --chip sm_90a --features +ptx83 | FileCheck %s --check-prefix=PTX
// RUN: tile-opt %s --pass-pipeline='builtin.module(tile-attach-target{chip=sm_90a features=+ptx83 O=1})' \
// RUN:   | FileCheck %s

// CHECK: gpu.module @without_target [#nvvm.target<O = 1, chip = "sm_90a", features = "+ptx83">]
// PTX:      // gpu.module 'without_target'
// PTX:      .version 8.3
// PTX-NEXT: .target sm_90a
gpu.module @without_target {
  gpu.func @first() kernel {
    gpu.return
  }
}

// CHECK: gpu.module @with_target [#nvvm.target<chip = "sm_100", features = "+ptx86">]
// PTX:      // gpu.module 'with_target'
// PTX:      .version 8.6
// PTX-NEXT: .target sm_100
gpu.module @with_target [#nvvm.target<chip = "sm_100", features = "+ptx86">] {
  gpu.func @second() kernel {
    gpu.return
  }
}
