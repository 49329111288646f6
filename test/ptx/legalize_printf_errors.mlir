// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A format and its arguments that do not fit each other are refused; the first function is the control.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-legalize-printf -o /dev/null

func.func @control(%i: i8, %l: i64, %f: f16) {
  gpu.printf "100%% %d %-5.3llx %*d %g\n", %i, %l, %i, %i, %f : i8, i64, i8, i8, f16
  return
}

// -----

func.func @float_as_integer(%f: f32) {
  // expected-error @+2 {{'gpu.printf' op must have an integer of at most 64 bits for %d, got f32}}
  // expected-note @+1 {{write %f for a float}}
  gpu.printf "%d\n", %f : f32
  return
}

// -----

func.func @integer_as_float(%i: i32) {
  // expected-error @+2 {{'gpu.printf' op must have a float for %e, got i32}}
  // expected-note @+1 {{write %d for an integer}}
  gpu.printf "%e\n", %i : i32
  return
}

// -----

func.func @too_few(%i: i32) {
  // expected-error @+2 {{'gpu.printf' op must have as many arguments as its format converts, 2, got 1}}
  // expected-note @+1 {{write a conversion for each argument}}
  gpu.printf "%d %d\n", %i : i32
  return
}

// -----

func.func @too_many(%i: i32) {
  // expected-error @+2 {{'gpu.printf' op must have as many arguments as its format converts, 1, got 2}}
  // expected-note @+1 {{write a conversion for each argument}}
  gpu.printf "%d%%\n", %i, %i : i32, i32
  return
}

// -----

func.func @text(%i: i64) {
  // expected-error @+2 {{'gpu.printf' op must convert by one of diouxXcfFeEgGaA, got %s}}
  // expected-note @+1 {{print a number, or write %% for the character itself}}
  gpu.printf "%s\n", %i : i64
  return
}

// -----

func.func @wide_star(%i: i64) {
  // expected-error @+2 {{'gpu.printf' op must have an integer of at most 32 bits for '*'}}
  // expected-note @+1 {{truncate the width or precision to i32}}
  gpu.printf "%*d\n", %i, %i : i64, i64
  return
}
