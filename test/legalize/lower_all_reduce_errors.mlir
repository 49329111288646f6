// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is refused of a reduction, each beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -tile-lower-all-reduce -verify-diagnostics -o %t

// A thread's number decides.
gpu.module @kernels {

gpu.func @thread_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %n0 = arith.cmpi eq, %n, %c0 : index
  scf.if %n0 {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @thread(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %t0 = arith.cmpi eq, %t, %c0 : index
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %t0 {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A CTA's rank decides; the cluster's number is the same in all of them.
gpu.module @kernels {

gpu.func @rank_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %k0 = arith.cmpi eq, %cluster, %c0 : index
  scf.if %k0 {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @rank(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  // expected-note @+1 {{'gpu.cluster_block_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %k0 = arith.cmpi eq, %rank, %c0 : index
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %k0 {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A block's number, divided by the extent of the cluster or not.
gpu.module @kernels {

gpu.func @block_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %half = arith.divui %block, %c2 : index
  %k0 = arith.cmpi eq, %half, %c0 : index
  scf.if %k0 {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @block(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  // expected-note @+1 {{'gpu.block_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %half = arith.divui %block, %c1 : index
  %k0 = arith.cmpi eq, %half, %c0 : index
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %k0 {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A trip count that depends on the thread.
gpu.module @kernels {

gpu.func @trips_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  scf.for %i = %c0 to %n step %c1 {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @trips(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  // expected-note @+1 {{'scf.for' decides here}}
  scf.for %i = %t to %n step %c1 {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// What is loaded from a thread's own place; from one place it is the same.
gpu.module @kernels {

gpu.func @loaded_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %flag = memref.load %flags[%n] : memref<64xi1>
  scf.if %flag {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @loaded(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %flag = memref.load %flags[%t] : memref<64xi1>
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %flag {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A value that a branch chose by the thread.
gpu.module @kernels {

gpu.func @chosen_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %n0 = arith.cmpi eq, %n, %c0 : index
  %flag = scf.if %n0 -> i1 {
    scf.yield %n0 : i1
  } else {
    %other = arith.cmpi eq, %n, %c1 : index
    scf.yield %other : i1
  }
  scf.if %flag {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @chosen(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %n0 = arith.cmpi eq, %t, %c0 : index
  %flag = scf.if %n0 -> i1 {
    %yes = arith.constant true
    scf.yield %yes : i1
  } else {
    %no = arith.constant false
    scf.yield %no : i1
  }
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %flag {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A number that a loop carries.
gpu.module @kernels {

gpu.func @carried_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %true = arith.constant true
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %true) -> (i1) {
    %y = arith.xori %x, %true : i1
    scf.yield %y : i1
  }
  scf.if %last {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @carried(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %true = arith.constant true
  %t0 = arith.cmpi eq, %t, %c0 : index
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t0) -> (i1) {
    %y = arith.xori %x, %true : i1
    scf.yield %y : i1
  }
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %last {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A result of a reduction is the same everywhere, what it was made of is not.
gpu.module @kernels {

gpu.func @reduced_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %all = tile.all_reduce add %f : f32
  %less = arith.cmpf olt, %all, %g : f32
  scf.if %less {
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}

gpu.func @reduced(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %ti = arith.index_cast %t : index to i32
  %tf = arith.sitofp %ti : i32 to f32
  %less = arith.cmpf olt, %tf, %g : f32
  // expected-note @+1 {{'scf.if' decides here}}
  scf.if %less {
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
  }
  gpu.return
}
}

// -----

// A loop whose condition depends on the thread.
gpu.module @kernels {

gpu.func @while_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  scf.while (%i = %c0) : (index) -> index {
    %go = arith.cmpi ult, %i, %n : index
    scf.condition(%go) %i : index
  } do {
  ^bb0(%i: index):
    %r = tile.all_reduce add %f : f32
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  gpu.return
}

gpu.func @while(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  // expected-note @+1 {{'scf.while' decides here}}
  scf.while (%i = %c0) : (index) -> index {
    %go = arith.cmpi ult, %i, %t : index
    scf.condition(%go) %i : index
  } do {
  ^bb0(%i: index):
    // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
    %r = tile.all_reduce add %f : f32
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  gpu.return
}
}

// -----

// Blocks: threads that leave before.
gpu.module @kernels {

gpu.func @blocks_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %stop = arith.cmpi eq, %n, %c0 : index
  cf.cond_br %stop, ^end, ^go
^go:
  %r = tile.all_reduce add %f : f32
  cf.br ^end
^end:
  gpu.return
}

gpu.func @blocks(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %stop = arith.cmpi eq, %t, %c0 : index
  // expected-note @+1 {{'cf.cond_br' decides here}}
  cf.cond_br %stop, ^end, ^go
^go:
  // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
  %r = tile.all_reduce add %f : f32
  cf.br ^end
^end:
  gpu.return
}
}

// -----

// Blocks: a loop that goes on by the thread.
gpu.module @kernels {

gpu.func @rounds_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  cf.br ^body(%c0 : index)
^body(%i: index):
  %r = tile.all_reduce add %f : f32
  %next = arith.addi %i, %c1 : index
  %again = arith.cmpi ult, %next, %n : index
  cf.cond_br %again, ^body(%next : index), ^end
^end:
  gpu.return
}

gpu.func @rounds(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  cf.br ^body(%c0 : index)
^body(%i: index):
  // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
  %r = tile.all_reduce add %f : f32
  %next = arith.addi %i, %c1 : index
  %again = arith.cmpi ult, %next, %t : index
  // expected-note @+1 {{'cf.cond_br' decides here}}
  cf.cond_br %again, ^body(%next : index), ^end
^end:
  gpu.return
}
}

// -----

// Blocks: threads that met again are together; what they bring is not the same.
gpu.module @kernels {

gpu.func @met_control(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %t0 = arith.cmpi eq, %t, %c0 : index
  cf.cond_br %t0, ^one, ^other
^one:
  cf.br ^met
^other:
  cf.br ^met
^met:
  %which = arith.cmpi eq, %n, %c0 : index
  cf.cond_br %which, ^go, ^end
^go:
  %r = tile.all_reduce add %f : f32
  cf.br ^end
^end:
  gpu.return
}

gpu.func @met(%n: index, %f: f32, %g: f32, %flags: memref<64xi1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: let all execute the op, and choose among values with arith.select}}
  %t = gpu.thread_id x
  %rank = gpu.cluster_block_id x
  %block = gpu.block_id x
  %cluster = gpu.cluster_id x
  %t0 = arith.cmpi eq, %t, %c0 : index
  %true = arith.constant true
  %false = arith.constant false
  cf.cond_br %t0, ^one, ^other
^one:
  cf.br ^met(%true : i1)
^other:
  cf.br ^met(%false : i1)
^met(%which: i1):
  // expected-note @+1 {{'cf.cond_br' decides here}}
  cf.cond_br %which, ^go, ^end
^go:
  // expected-error @+1 {{'tile.all_reduce' op must be executed by all threads of the cluster, got a branch or a loop around it that depends on the thread or the CTA}}
  %r = tile.all_reduce add %f : f32
  cf.br ^end
^end:
  gpu.return
}
}

// -----

// A block of whole warps.
gpu.module @kernels {

gpu.func @whole_warps(%f: f32) kernel attributes {known_block_size = array<i32: 16, 6, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  gpu.return
}

gpu.func @partial_warp(%f: f32) kernel attributes {known_block_size = array<i32: 80, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  // expected-error @+2 {{'tile.all_reduce' op must be in a block whose size is known to be a multiple of 32 of at most 1024, got 80 threads}}
  // expected-note @+1 {{give the gpu.func known_block_size = array<i32: x, y, z> with x * y * z a multiple of 32}}
  %r = tile.all_reduce add %f : f32
  gpu.return
}
}

// -----

// A block of a known size.
gpu.module @kernels {

gpu.func @known(%f: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  gpu.return
}

gpu.func @unknown(%f: f32) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
  // expected-error @+2 {{'tile.all_reduce' op must be in a block whose size is known to be a multiple of 32 of at most 1024, got a size that is not known}}
  // expected-note @+1 {{give the gpu.func known_block_size = array<i32: x, y, z> with x * y * z a multiple of 32}}
  %r = tile.all_reduce add %f : f32
  gpu.return
}
}

// -----

// A function that kernels call.
gpu.module @kernels {

gpu.func @in_a_kernel(%f: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r = tile.all_reduce add %f : f32
  gpu.return
}

func.func @in_a_function(%f: f32) {
  // expected-error @+2 {{'tile.all_reduce' op must be in a kernel itself, got a function that kernels call}}
  // expected-note @+1 {{write its body into the kernel}}
  %r = tile.all_reduce add %f : f32
  return
}
}

// -----

// Neither on the host.
func.func @on_the_host(%f: f32) {
  // expected-error @+2 {{'tile.all_reduce' op must be in device code, got a host function}}
  // expected-note @+1 {{move it into a gpu.func}}
  %r = tile.all_reduce add %f : f32
  return
}

// -----

// A launch that is not outlined yet has no kernel to lower it in.
func.func @launched(%f: f32, %n: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%x = %n, %y = %n, %z = %n) {
    // expected-error @+2 {{'tile.all_reduce' op must be in a gpu.func, got a gpu.launch}}
    // expected-note @+1 {{run gpu-kernel-outlining first}}
    %r = tile.all_reduce add %f : f32
    gpu.terminator
  }
  return
}

// -----

// What the region takes from outside is the same in all threads.
gpu.module @kernels {

gpu.func @captured_control(%f: f32, %g: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  %r = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    %w = arith.mulf %z, %g : f32
    tile.yield %w : f32
  } : f32
  gpu.return
}

gpu.func @captured(%f: f32, %g: f32) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
  // expected-note @+1 {{'gpu.thread_id' tells threads or CTAs apart: pass the value as an operand}}
  %t = gpu.thread_id x
  %ti = arith.index_cast %t : index to i32
  %tf = arith.sitofp %ti : i32 to f32
  // expected-error @+1 {{'tile.all_reduce' op region must combine in the same way in all threads, got a value from outside that depends on the thread or the CTA}}
  %r = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    %w = arith.mulf %z, %tf : f32
    tile.yield %w : f32
  } : f32
  gpu.return
}
}
