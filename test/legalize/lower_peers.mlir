// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A store to a peer is one instruction, and a view of a peer a descriptor with mapped pointers.
// RUN: tile-opt %s -tile-analyze-layout -tile-expand-layout -tile-lower-peers -canonicalize | FileCheck %s

#wg = #gpu.address_space<workgroup>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>
!swizzled = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, #wg>
!swizzled_there = memref<8x64xf16, #tile.layout<(8, 64) : (64, 1), swizzle = <3, 3, 3>>, 7>

gpu.module @kernels {

// CHECK-LABEL: gpu.func @scalars(
// CHECK: nvvm.mapa
// CHECK: llvm.inline_asm has_side_effects "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];", "r,r,r,~{memory}" %{{.*}}, %{{.*}}, %{{.*}} : (i32, i32, i32) -> ()
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $1, [$2];", "r,l,r,~{memory}" %{{.*}} : (i32, i64, i32) -> ()
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [$0], $1, [$2];", "r,l,r,~{memory}" %{{.*}} : (i32, i64, i32) -> ()
gpu.func @scalars(%rank: i32, %bars: !bars, %i: index, %f: f32, %d: f64)
    workgroup(%dst: memref<64xf32, #wg>, %doubles: memref<64xf64, #wg>, %places: memref<64xindex, #wg>) kernel {
  %c0 = arith.constant 0 : index
  tile.store_async %f to %dst[%i] cta(%rank) mbarrier(%bars[%c0]) : f32, memref<64xf32, #wg>, !bars
  tile.store_async %d to %doubles[%i] cta(%rank) mbarrier(%bars[%c0]) : f64, memref<64xf64, #wg>, !bars
  tile.store_async %i to %places[%i] cta(%rank) mbarrier(%bars[%c0]) : index, memref<64xindex, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @vectors(
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [$0], {$1, $2, $3, $4}, [$5];", "r,r,r,r,r,r,~{memory}"
// CHECK: vector.bitcast %{{.*}} : vector<4xbf16> to vector<2xi32>
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [$0], {$1, $2}, [$3];", "r,r,r,r,~{memory}"
// CHECK: vector.bitcast %{{.*}} : vector<2xf16> to vector<1xi32>
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];"
gpu.func @vectors(%rank: i32, %bars: !bars, %i: index, %v: vector<4xf32>, %b: vector<4xbf16>, %h: vector<2xf16>)
    workgroup(%dst: memref<8x4xf32, #wg>, %brains: memref<8x4xbf16, #wg>, %halves: memref<8x2xf16, #wg>) kernel {
  %c0 = arith.constant 0 : index
  tile.store_async %v to %dst[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<4xf32>, memref<8x4xf32, #wg>, !bars
  tile.store_async %b to %brains[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<4xbf16>, memref<8x4xbf16, #wg>, !bars
  tile.store_async %h to %halves[%i, %c0] cta(%rank) mbarrier(%bars[%c0]) : vector<2xf16>, memref<8x2xf16, #wg>, !bars
  gpu.return
}

// A row is 128 bytes from the next, and the swizzle is one xor.
// CHECK-LABEL: gpu.func @swizzled(
// CHECK-SAME: %{{.*}}: i32, %{{.*}}: !nvgpu.mbarrier.group{{.*}}, %[[I:.*]]: index, %{{.*}}: vector<8xf16>)
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK: arith.muli %[[I]], %[[C64]] : index
// CHECK: arith.xori
// CHECK: "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32
gpu.func @swizzled(%rank: i32, %bars: !bars, %i: index, %v: vector<8xf16>) workgroup(%dst: !swizzled) kernel {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %column = arith.muli %i, %c8 : index
  tile.store_async %v to %dst[%i, %column] cta(%rank) mbarrier(%bars[%c0]) : vector<8xf16>, !swizzled, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @reductions(
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [$0], $1, [$2];", "r,r,r,~{memory}"
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32
// CHECK: "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [$0], $1, [$2];", "r,l,r,~{memory}"
gpu.func @reductions(%rank: i32, %bars: !bars, %i: index, %x: i32, %y: i64)
    workgroup(%words: memref<64xi32, #wg>, %longs: memref<64xi64, #wg>) kernel {
  %c0 = arith.constant 0 : index
  tile.store_async %x to %words[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(add) : i32, memref<64xi32, #wg>, !bars
  tile.store_async %x to %words[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(minsi) : i32, memref<64xi32, #wg>, !bars
  tile.store_async %x to %words[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(maxui) : i32, memref<64xi32, #wg>, !bars
  tile.store_async %x to %words[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(xor) : i32, memref<64xi32, #wg>, !bars
  tile.store_async %x to %words[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(inc) : i32, memref<64xi32, #wg>, !bars
  tile.store_async %y to %longs[%i] cta(%rank) mbarrier(%bars[%c0]) reduce(add) : i64, memref<64xi64, #wg>, !bars
  gpu.return
}

// CHECK-LABEL: gpu.func @peer(
// CHECK: %[[MAPPED:.*]] = nvvm.mapa %{{.*}}, %{{.*}} : !llvm.ptr<3> -> !llvm.ptr<7>
// CHECK: llvm.insertvalue %[[MAPPED]], %{{.*}}[0]
// CHECK: llvm.insertvalue %[[MAPPED]], %{{.*}}[1]
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : !llvm.struct<(ptr<7>, ptr<7>, i64, array<1 x i64>, array<1 x i64>)> to memref<64xf32, 7>
gpu.func @peer(%rank: i32, %i: index, %f: f32) workgroup(%dst: memref<64xf32, #wg>) kernel {
  %there = tile.peer %dst cta(%rank) : memref<64xf32, #wg> to memref<64xf32, 7>
  memref.store %f, %there[%i] : memref<64xf32, 7>
  gpu.return
}

// CHECK-LABEL: gpu.func @peer_with_a_layout(
// CHECK: nvvm.mapa
// CHECK: arith.xori
// CHECK: memref.store %{{.*}} : memref<?xf16, strided<[1], offset: ?>, 7>
gpu.func @peer_with_a_layout(%rank: i32, %i: index, %h: f16) workgroup(%dst: !swizzled) kernel {
  %there = tile.peer %dst cta(%rank) : !swizzled to !swizzled_there
  memref.store %h, %there[%i, %i] : !swizzled_there
  gpu.return
}
}
