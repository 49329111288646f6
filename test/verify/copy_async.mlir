// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read is printed again: from text, from the generic form, and from bytecode.
// RUN: tile-opt %s | FileCheck %s
// RUN: tile-opt %s --mlir-print-op-generic | tile-opt | FileCheck %s
// RUN: tile-opt %s --emit-bytecode -o %t.bc && tile-opt %t.bc | FileCheck %s

!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

// CHECK-LABEL: func @by_one_thread(
// CHECK-SAME: %[[SRC:.*]]: memref<8x64xf16, #gpu.address_space<workgroup>>, %[[DST:[^:]*]]: {{.*}}, %[[RANK:[^:]*]]: i32, %[[BARS:[^:]*]]: {{.*}}, %[[I:[^:]*]]: index)
// CHECK-NEXT: tile.copy_async %[[SRC]] to %[[DST]] cta(%[[RANK]]) mbarrier(%[[BARS]][%[[I]]]) : memref<8x64xf16, #gpu.address_space<workgroup>> to memref<8x64xf16, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>{{$}}
func.func @by_one_thread(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

// The default is not printed.
// CHECK-LABEL: func @by_one_thread_in_words(
// CHECK-NEXT: tile.copy_async {{.*}}mbarrier(%{{.*}}[%{{.*}}]) : memref
func.func @by_one_thread_in_words(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(thread) : !tile to !tile, !bars
  return
}

// CHECK-LABEL: func @by_a_warp(
// CHECK-NEXT: tile.copy_async {{.*}}mbarrier(%{{.*}}[%{{.*}}]) issue(warp) : memref
func.func @by_a_warp(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp) : !tile to !tile, !bars
  return
}

// CHECK-LABEL: func @by_a_cta_in_one_variant(
// CHECK-NEXT: tile.copy_async {{.*}}mbarrier(%{{.*}}[%{{.*}}]) issue(cta) {variant = "bulk"} : memref
func.func @by_a_cta_in_one_variant(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(cta) {variant = "bulk"}
      : !tile to !tile, !bars
  return
}

// CHECK-LABEL: func @planned(
// CHECK-NEXT: tile.copy_async {{.*}} {plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [8], src = <start = 0, steps = [128]>, dst = <start = 16, steps = [-128]>>} : memref
func.func @planned(%src: !tile, %dst: !tile, %rank: i32, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      {plan = #tile.copy_plan<bulk, chunk = 128, count = 8, loops = [8],
                              src = <start = 0, steps = [128]>, dst = <start = 16, steps = [-128]>>}
      : !tile to !tile, !bars
  return
}

// CHECK-LABEL: func @in_space_3(
// CHECK-NEXT: tile.copy_async {{.*}} : memref<8x64xf16, strided<[?, 1], offset: ?>, 3> to memref<8x64xf16, 3>, !nvgpu.mbarrier.group<memorySpace = 3 : i64>{{$}}
func.func @in_space_3(%src: memref<8x64xf16, strided<[?, 1], offset: ?>, 3>, %dst: memref<8x64xf16, 3>,
                      %rank: i32, %bars: !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 1>,
                      %i: index) {
  tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
      : memref<8x64xf16, strided<[?, 1], offset: ?>, 3> to memref<8x64xf16, 3>,
        !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 1>
  return
}

!global = memref<8x64xf16>

// CHECK-LABEL: func @from_global(
// CHECK-NEXT: tile.copy_async %{{.*}} to %{{.*}} mbarrier(%{{.*}}[%{{.*}}]) cache_hint(evict_first) issue(warp) : memref<8x64xf16> to
func.func @from_global(%src: !global, %dst: !tile, %bars: !bars, %i: index) {
  tile.copy_async %src to %dst mbarrier(%bars[%i]) cache_hint(evict_first) issue(warp) : !global to !tile, !bars
  return
}

// CHECK-LABEL: func @to_several(
// CHECK-SAME: %[[MASK:[^:]*]]: i16
// CHECK-NEXT: tile.copy_async %{{.*}} to %{{.*}} ctas(%[[MASK]]) mbarrier(%{{.*}}[%{{.*}}]) : memref<8x64xf16> to
func.func @to_several(%src: !global, %dst: !tile, %bars: !bars, %i: index, %mask: i16) {
  tile.copy_async %src to %dst ctas(%mask) mbarrier(%bars[%i]) : !global to !tile, !bars
  return
}

// CHECK-LABEL: func @to_global(
// CHECK-SAME: %[[POLICY:[^:]*]]: i64
// CHECK-NEXT: tile.copy_async %{{.*}} to %{{.*}} reduce(add) cache_hint(%[[POLICY]]) issue(cta) : memref<8x64xf16, #gpu.address_space<workgroup>> to memref<8x64xf16>{{$}}
func.func @to_global(%src: !tile, %dst: !global, %policy: i64) {
  tile.copy_async %src to %dst reduce(add) cache_hint(%policy) issue(cta) : !tile to !global
  return
}
