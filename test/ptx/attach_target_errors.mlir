// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options that are no target, on which the attribute ends the process. The control is that of targets.mlir.

// RUN: not tile-opt %s --tile-attach-target=chip=x 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tile-opt %s --tile-attach-target=features=x 2>&1 | FileCheck %s --check-prefix=FEATURES
// RUN: not tile-opt %s --tile-attach-target=O=9 2>&1 | FileCheck %s --check-prefix=LEVEL
// CHIP: error: the pass targets 'x', which is not of the form sm_90
// CHIP: note: set chip to sm_90
// FEATURES: error: the pass targets features 'x', which are not one PTX version
// LEVEL: error: The optimization level must be a number between 0 and 3.

gpu.module @kernels {
}
