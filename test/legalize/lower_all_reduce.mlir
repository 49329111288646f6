// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction becomes shuffles, one CTA barrier, a message to each CTA and a wait.
// RUN: tile-opt %s -tile-lower-all-reduce -canonicalize | FileCheck %s

gpu.module @kernels {

// CHECK-LABEL: gpu.func @in_a_loop(
// CHECK-SAME: workgroup(%[[PARTS:[a-z0-9]+]] : memref<16xi32, #gpu.address_space<workgroup>>, %[[SLOTS:[a-z0-9]+]] : memref<8xi32, #gpu.address_space<workgroup>>)
// CHECK: %[[ROUNDS:.*]] = memref.alloca() : memref<i32>
// CHECK: memref.store %c0_i32, %[[ROUNDS]][]
// CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank
// CHECK: %[[BARS:.*]] = nvgpu.mbarrier.create -> <memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
// CHECK: nvgpu.mbarrier.init %[[BARS]][%c0], %c1
// CHECK: nvgpu.mbarrier.init %[[BARS]][%c1], %c1
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.cluster.arrive.relaxed
// CHECK: nvvm.cluster.wait
// CHECK: scf.for
// CHECK-NOT: nvvm.cluster
// CHECK: %[[ROUND:.*]] = memref.load %[[ROUNDS]][]
// CHECK: arith.addi %[[ROUND]], %c1_i32
// CHECK: %[[SET:.*]] = arith.andi %[[ROUND]], %c1_i32
// Thread 224 begins the last of 8 warps, and 4 CTAs send 4 bytes each.
// CHECK: %[[ARMS:.*]] = arith.cmpi eq, %{{.*}}, %c224_i32
// CHECK: nvgpu.mbarrier.arrive.expect_tx %[[BARS]][%{{.*}}], %c16, predicate = %[[ARMS]]
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK: vector.store %{{.*}}, %[[PARTS]][%{{.*}}] {alignment = 4 : i64} : memref<16xi32, #gpu.address_space<workgroup>>, vector<1xi32>
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-2: vector.load %[[PARTS]][%{{.*}}] {alignment = 16 : i64} : memref<16xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK-COUNT-7: arith.addf
// CHECK: scf.if
// CHECK: tile.store_async %{{.*}} to %[[SLOTS]][%{{.*}}] cta(%{{.*}}) mbarrier(%[[BARS]][%{{.*}}]) {aligned} : i32
// CHECK: nvgpu.mbarrier.try_wait.parity %[[BARS]]
// CHECK: vector.load %[[SLOTS]][%{{.*}}] {alignment = 16 : i64} : memref<8xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK-COUNT-3: arith.addf
// CHECK-NOT: arith.addf
// CHECK: scf.yield
// CHECK-NOT: nvvm.cluster
// CHECK: gpu.return
gpu.func @in_a_loop(%n: index, %f: f32, %out: memref<f32>) kernel
    attributes {known_block_size = array<i32: 256, 1, 1>, known_cluster_size = array<i32: 4, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %f) -> f32 {
    %r = tile.all_reduce add %x : f32
    scf.yield %r : f32
  }
  memref.store %last, %out[] : memref<f32>
  gpu.return
}

// In a cluster of one CTA nothing is sent, and nothing waited for.
// CHECK-LABEL: gpu.func @alone(
// CHECK-SAME: workgroup(%{{.*}} : memref<8xi32, #gpu.address_space<workgroup>>) kernel
// CHECK-NOT: mbarrier
// CHECK-NOT: store_async
// CHECK-NOT: nvvm.cluster
// CHECK-COUNT-5: nvvm.shfl.sync down
// CHECK: gpu.barrier
// CHECK: vector.load %{{.*}} {alignment = 8 : i64} : memref<8xi32, #gpu.address_space<workgroup>>, vector<2xi32>
// CHECK-NOT: mbarrier
// CHECK-NOT: store_async
// CHECK: gpu.return
gpu.func @alone(%f: f32, %out: memref<f32>) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 1, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  memref.store %r, %out[] : memref<f32>
  gpu.return
}

// One warp meets at no CTA barrier and needs no parts.
// CHECK-LABEL: gpu.func @one_warp(
// CHECK-SAME: workgroup(%{{.*}} : memref<8xi32, #gpu.address_space<workgroup>>) kernel
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.shfl.sync idx
// CHECK: tile.store_async
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
gpu.func @one_warp(%f: f32, %out: memref<f32>) kernel
    attributes {known_block_size = array<i32: 32, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  memref.store %r, %out[] : memref<f32>
  gpu.return
}

// Three values of 4, 8 and 2 bytes are four words, one message of 16 bytes to each of 2 CTAs.
// CHECK-LABEL: gpu.func @several(
// CHECK-SAME: workgroup(%[[PARTS:[a-z0-9]+]] : memref<16xi32, #gpu.address_space<workgroup>>, %[[SLOTS:[a-z0-9]+]] : memref<16xi32, #gpu.address_space<workgroup>>)
// CHECK: nvgpu.mbarrier.arrive.expect_tx %{{.*}}[%{{.*}}], %c32, predicate
// CHECK-COUNT-20: nvvm.shfl.sync down
// CHECK: vector.store %{{.*}}, %[[PARTS]][%{{.*}}] {alignment = 16 : i64} : memref<16xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK: tile.store_async %{{.*}} to %[[SLOTS]][%{{.*}}] {{.*}} {aligned} : vector<4xi32>
// CHECK-NOT: tile.store_async
// CHECK: gpu.return
gpu.func @several(%f: f32, %l: i64, %h: bf16, %out: memref<i64>) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r:3 = tile.all_reduce %f, %l, %h {
  ^bb0(%a: f32, %b: i64, %c: bf16, %x: f32, %y: i64, %z: bf16):
    %less = arith.cmpf olt, %a, %x : f32
    %d = arith.select %less, %x, %a : f32
    %e = arith.select %less, %y, %b : i64
    %g = arith.select %less, %z, %c : bf16
    tile.yield %d, %e, %g : f32, i64, bf16
  } : f32, i64, bf16
  memref.store %r#1, %out[] : memref<i64>
  gpu.return
}

// Four values of 8 CTAs are 32 words: each lane loads a quarter of the rows and combines these two,
// and two steps bring together what the four groups of lanes have.
// CHECK-LABEL: gpu.func @a_quarter_of_the_rows(
// CHECK-COUNT-20: nvvm.shfl.sync down
// CHECK: gpu.barrier
// CHECK: tile.store_async %{{.*}} {aligned} : vector<4xi32>
// CHECK-NOT: tile.store_async
// CHECK: nvgpu.mbarrier.try_wait.parity
// CHECK: %[[GROUP:.*]] = arith.shrui %{{.*}}, %c3_i32
// CHECK: arith.muli %[[GROUP]], %c8_i32
// CHECK-COUNT-2: vector.load
// CHECK-NOT: vector.load
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
// CHECK-COUNT-4: nvvm.shfl.sync bfly %{{.*}}, %c8_i32
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
// CHECK-COUNT-4: nvvm.shfl.sync bfly %{{.*}}, %c16_i32
// CHECK-NOT: nvvm.shfl.sync
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
// CHECK: gpu.return
gpu.func @a_quarter_of_the_rows(%f: f32, %g: f32, %h: f32, %i: f32, %out: memref<4xf32>) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 8, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %r:4 = tile.all_reduce %f, %g, %h, %i {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %w: f32, %x: f32, %y: f32, %z: f32):
    %j = arith.addf %a, %w : f32
    %k = arith.addf %b, %x : f32
    %l = arith.addf %c, %y : f32
    %m = arith.addf %d, %z : f32
    tile.yield %j, %k, %l, %m : f32, f32, f32, f32
  } : f32, f32, f32, f32
  memref.store %r#0, %out[%c0] : memref<4xf32>
  memref.store %r#1, %out[%c1] : memref<4xf32>
  memref.store %r#2, %out[%c2] : memref<4xf32>
  memref.store %r#3, %out[%c3] : memref<4xf32>
  gpu.return
}

// A cluster whose size only the launch knows has 16 slots, and may be of one CTA.
// CHECK-LABEL: gpu.func @any_cluster(
// CHECK-SAME: workgroup(%{{.*}} : memref<8xi32, #gpu.address_space<workgroup>>, %{{.*}} : memref<32xi32, #gpu.address_space<workgroup>>)
// CHECK: %[[SIZE:.*]] = nvvm.read.ptx.sreg.cluster.nctarank
// CHECK: %[[SENDS:.*]] = arith.cmpi ugt, %[[SIZE]], %c1_i32
// CHECK: arith.muli %[[SIZE]], %c4_i32
// CHECK: scf.if %[[SENDS]]
// CHECK: tile.store_async
// CHECK: else
// CHECK: gpu.return
gpu.func @any_cluster(%f: f32, %out: memref<f32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  memref.store %r, %out[] : memref<f32>
  gpu.return
}

// A cluster barrier that comes before the first reduction announces the mbarriers as well.
// CHECK-LABEL: gpu.func @after_a_barrier(
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NOT: nvvm.cluster
// CHECK: memref.load
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NOT: nvvm.cluster
// CHECK: gpu.return
gpu.func @after_a_barrier(%in: memref<f32>, %out: memref<f32>) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %f = memref.load %in[] : memref<f32>
  nvvm.cluster.arrive
  nvvm.cluster.wait
  %r = tile.all_reduce add %f : f32
  memref.store %r, %out[] : memref<f32>
  gpu.return
}

// One that comes after it does not: the pass waits for its own before threads arrive there.
// CHECK-LABEL: gpu.func @before_a_barrier(
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.cluster.arrive
// CHECK: memref.load
// CHECK: nvvm.cluster.wait
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK: tile.store_async
// CHECK: nvvm.cluster.wait
// CHECK: gpu.return
gpu.func @before_a_barrier(%in: memref<f32>, %out: memref<f32>) kernel
    attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %f = memref.load %in[] : memref<f32>
  nvvm.cluster.arrive
  %r = tile.all_reduce add %f : f32
  memref.store %r, %out[] : memref<f32>
  nvvm.cluster.wait
  gpu.return
}
}
