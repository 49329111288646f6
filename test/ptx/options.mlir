// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of `tile-to-binary`, in tile-opt; their defaults; and the same of `tile-compile`.

// RUN: tile-opt %s --pass-pipeline='builtin.module(tile-to-binary)' | FileCheck %s -DCHIP=sm_90 -DPTX=8.1
// RUN: tile-opt %s --tile-to-binary | FileCheck %s -DCHIP=sm_90 -DPTX=8.1
// RUN: tile-opt %s --tile-to-binary='chip=sm_90a features=+ptx80 opt-level=0' \
// RUN:   | FileCheck %s -DCHIP=sm_90a -DPTX=8.0
// RUN: tile-opt %s \
// RUN:   --pass-pipeline='builtin.module(tile-to-binary{chip=sm_100 features=+ptx87 format=isa opt-level=3})' \
// RUN:   | FileCheck %s -DCHIP=sm_100 -DPTX=8.7
// RUN: tile-opt %s --pass-pipeline='builtin.module(tile-to-binary{line-info=true})' \
// RUN:   | FileCheck %s --check-prefix=LINES
// RUN: tile-opt %s --pass-pipeline='builtin.module(tile-to-binary{line-info=false})' \
// RUN:   | FileCheck %s --implicit-check-not=.loc -DCHIP=sm_90 -DPTX=8.1
// RUN: tile-compile %s --to ptx --chip sm_120 --features +ptx87 | FileCheck %s --check-prefix=COMPILE

// CHECK: gpu.binary @kernels
// CHECK: .version [[PTX]]
// CHECK: .target [[CHIP]]\0A
// LINES: .loc
// COMPILE:      .version 8.7
// COMPILE-NEXT: .target sm_120

// RUN: not tile-opt %s --tile-to-binary='opt-level=4' 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: not tile-opt %s --tile-to-binary='opt-level=-1' 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// LEVEL: opt-level must be in 0 to 3, got 4
// NEGATIVE: opt-level must be in 0 to 3, got '-1'

// RUN: not tile-opt %s --tile-to-binary='format=elf' 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: format must be one of isa, bin, fatbin, offload, got 'elf'

// RUN: not tile-opt %s --tile-to-binary='line-info=yes' 2>&1 | FileCheck %s --check-prefix=INFO
// INFO: line-info must be true or false, got 'yes'

// RUN: not tile-opt %s --tile-to-binary='colour=red' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: no such option colour

// RUN: not tile-opt %s --tile-to-binary='features=+ptx78' 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not tile-compile %s --to ptx --features +ptx78 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not tile-compile %s --to analyze --features +ptx78 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: error: the compilation targets PTX 7.8; tile.copy_async needs 8.0: set features to +ptx80

// RUN: not tile-opt %s --tile-to-binary='features=+ptx89' 2>&1 | FileCheck %s --check-prefix=GAP
// GAP: the compilation targets PTX 8.9, which LLVM does not know; it knows 8.0, {{.*}}: set features to +ptx90

// RUN: not tile-compile %s --to ptx --features ptx81 2>&1 | FileCheck %s --check-prefix=PLUS
// PLUS: error: the compilation targets features 'ptx81', which are not one PTX version: set features to +ptx81

// RUN: not tile-compile %s --to ptx --chip sm_80 2>&1 | FileCheck %s --check-prefix=AMPERE
// AMPERE: error: the compilation targets sm_80, which has no clusters; tile.copy_async needs sm_90: set chip to sm_90

// RUN: not tile-compile %s --to ptx --chip sm_90f 2>&1 | FileCheck %s --check-prefix=FAMILY
// FAMILY: error: the compilation targets sm_90f, which LLVM does not know: set chip to one of sm_90, sm_90a,

// RUN: not tile-compile %s --to ptx --chip hopper 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: the compilation targets 'hopper', which is not of the form sm_90: set chip to sm_90

// RUN: not tile-compile %s --to ptx --chip sm_100f --features +ptx87 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: the compilation targets PTX 8.7; sm_100f needs 8.8: set features to +ptx88

gpu.module @kernels {
  gpu.func @store(%a: memref<1xf32>, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    memref.store %x, %a[%c0] : memref<1xf32>
    gpu.return
  }
}
