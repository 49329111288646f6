// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read is printed again: from text, from the generic form, and from bytecode.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s | tile-opt | FileCheck %s
// RUN: tile-opt %s --mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s --emit-bytecode -o %t.bc && tile-opt %t.bc | FileCheck %s

!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

// CHECK-LABEL: func @by_one_thread(
// CHECK-SAME: %[[SRC:.*]]: memref<8x64xf16, #gpu.address_space<workgroup>>, %[[DST:[^:]*]]: {{.*}}, %[[RANK:.*]]: i32, %[[BARS:[^:]*]]: {{.*}}, %[[I:.*]]: index)
// CHECK-NEXT: tile.copy_async %[[SRC]] to %[[DST]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) : memref<8x64xf16, #gpu.address_space<workgroup>> to memref<8x64xf16, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>{{$}}
func.func @by_one_thread(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}
