// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans are read and printed again: from text, from the generic form, and from bytecode.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s --mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s --emit-bytecode -o %t.bc && tile-opt %t.bc | FileCheck %s

// CHECK-LABEL: func private @one_copy()
// CHECK-SAME: plan = #tile.copy_plan<bulk, chunk = 16384, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
func.func private @one_copy() attributes {
  plan = #tile.copy_plan<bulk, chunk = 16384, count = 1, loops = [],
                         src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}

// CHECK-LABEL: func private @two_loops()
// CHECK-SAME: plan = #tile.copy_plan<bulk, chunk = 128, count = 16, loops = [2, 8], src = <start = 16, steps = [2048, 256]>, dst = <start = 896, steps = [2048, -128]>>
func.func private @two_loops() attributes {
  plan = #tile.copy_plan<bulk, chunk = 128, count = 16, loops = [2, 8],
                         src = <start = 16, steps = [2048, 256]>,
                         dst = <start = 896, steps = [2048, -128]>>}

// CHECK-LABEL: func private @no_copy()
// CHECK-SAME: plan = #tile.copy_plan<bulk, chunk = 0, count = 0, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>
func.func private @no_copy() attributes {
  plan = #tile.copy_plan<bulk, chunk = 0, count = 0, loops = [],
                         src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}

// CHECK-LABEL: func private @gathered()
// CHECK-SAME: plan = #tile.copy_plan<st_async, chunk = 16, count = 4, loops = [4], src = <start = 0, steps = [4], swizzle = [3, 4, 3], gather = [4, 256]>, dst = <start = 0, steps = [256]>, threads = 32, cycles = 40>
func.func private @gathered() attributes {
  plan = #tile.copy_plan<st_async, chunk = 16, count = 4, loops = [4],
                         src = <start = 0, steps = [4], swizzle = [3, 4, 3], gather = [4, 256]>,
                         dst = <start = 0, steps = [256]>, threads = 32, cycles = 40>}
