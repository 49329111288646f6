// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each constraint of tile.all_reduce, beside a control that differs in one thing only.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// There is a kind or a region.

func.func @r1_kind_and_region_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r1_kind_and_region(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op must have a kind or a region, got both}}
  %0 = "tile.all_reduce"(%f) <{kind = #tile.reduction<add>}> ({
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }) : (f32) -> f32
  return
}

// -----

// One of both is there.

func.func @r1_neither_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r1_neither(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op must have a kind or a region}}
  %0 = "tile.all_reduce"(%f) ({}) : (f32) -> f32
  return
}

// -----

// There is a value.

func.func @r1_no_value_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r1_no_value(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op must combine at least one value}}
  "tile.all_reduce"() ({
    tile.yield
  }) : () -> ()
  return
}

// -----

// A kind combines one value.

func.func @r1_two_values_by_kind_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce add %f : f32
  return
}

func.func @r1_two_values_by_kind(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+2 {{'tile.all_reduce' op must combine one value where it names a kind, got 2}}
  // expected-note @+1 {{combine several values by a region}}
  %0:2 = tile.all_reduce add %f, %g : f32, f32
  return
}

// -----

// Values are of a type that is sent.

func.func @r2_type_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce add %i : i32
  return
}

func.func @r2_type(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op values must be i32, i64, f16, bf16, f32 or f64, got 'i16'}}
  %0 = tile.all_reduce add %s : i16
  return
}

// -----

// Results have the types of the values.

func.func @r2_results_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r2_results(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op results must have the types of the values, got 'f64'}}
  %0 = "tile.all_reduce"(%f) <{kind = #tile.reduction<add>}> ({}) : (f32) -> f64
  return
}

// -----

// The kind takes the value's type.

func.func @r3_kind_of_floats_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce maxnumf %f : f32
  return
}

func.func @r3_kind_of_floats(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op kind must be one that takes 'i32', got maxnumf}}
  %0 = tile.all_reduce maxnumf %i : i32
  return
}

// -----

// What wraps at a value reduces nothing.

func.func @r3_inc_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce xor %i : i32
  return
}

func.func @r3_inc(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op kind must be one that takes 'i32', got inc}}
  %0 = tile.all_reduce inc %i : i32
  return
}

// -----

// The region takes a left and a right value for each.

func.func @r4_arguments_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r4_arguments(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op region must take the left values, then the right ones, ('f32', 'f32'), got ('f32')}}
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32):
    tile.yield %x : f32
  } : f32
  return
}

// -----

// The region has no effects.

func.func @r5_effects_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  } : f32
  return
}

func.func @r5_effects(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{'tile.all_reduce' op region must have no effects}}
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    // expected-note @+1 {{'memref.store' may have some}}
    memref.store %x, %place[] : memref<f32>
    tile.yield %x : f32
  } : f32
  return
}

// -----

// A kind that is none is refused where it is read.

func.func @unknown_kind_control(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  %0 = tile.all_reduce mul %f : f32
  return
}

func.func @unknown_kind(%f: f32, %g: f32, %i: i32, %s: i16, %place: memref<f32>) {
  // expected-error @+1 {{kind must be one of those of gpu.all_reduce, got 'sum'}}
  %0 = tile.all_reduce sum %f : f32
  return
}

// -----

// What the region yields is of the values' types.
func.func @r4_yield_control(%f: f32, %d: f64) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  } : f32
  return
}

func.func @r4_yield(%f: f32, %d: f64) {
  %0 = tile.all_reduce %f {
  ^bb0(%x: f32, %y: f32):
    // expected-error @+1 {{'tile.yield' op must yield one value of each operand's type, 'f32', got 'f64'}}
    tile.yield %d : f64
  } : f32
  return
}
