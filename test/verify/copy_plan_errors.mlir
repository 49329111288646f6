// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan is sound in itself. Each one below differs from @control in what its name says.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

func.func private @control() attributes {
  plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @unknown_variant() attributes {
  // expected-error @+1 {{plan variant must be one of bulk, st_async, got 'bulkk'}}
  plan = #tile.copy_plan<bulkk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @negative_chunk() attributes {
  // expected-error @+1 {{plan chunk and count must not be negative, got -64 and 8}}
  plan = #tile.copy_plan<bulk, chunk = -64, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @negative_count() attributes {
  // expected-error @+1 {{plan chunk and count must not be negative, got 64 and -8}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = -8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @another_count_than_the_loops() attributes {
  // expected-error @+1 {{plan count must be the product of its loops, 8, got 7}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 7, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @loop_of_one() attributes {
  // expected-error @+1 {{plan loops must be extents of 2 or more whose product fits 64 bits, got 1}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 1, loops = [1], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @loops_beyond_64_bits() attributes {
  // expected-error @+1 {{plan loops must be extents of 2 or more whose product fits 64 bits, got 4294967296}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [4294967296, 4294967296], src = <start = 0, steps = [64, 64]>, dst = <start = 0, steps = [64, 64]>>}

// -----

func.func private @bytes_beyond_64_bits() attributes {
  // expected-error @+1 {{plan must copy fewer than 2^63 bytes, got chunk 4611686018427387904 and count 8}}
  plan = #tile.copy_plan<bulk, chunk = 4611686018427387904, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @source_step_missing() attributes {
  // expected-error @+1 {{plan must have one src step for each loop, got 0 steps and 1 loops}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = []>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @destination_step_too_many() attributes {
  // expected-error @+1 {{plan must have one dst step for each loop, got 2 steps and 1 loops}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64, 64]>>}

// -----

func.func private @parts_that_do_not_divide() attributes {
  // expected-error @+1 {{plan src gather must be [bytes, step], then pairs of a count and a step, with bytes and counts that divide the chunk of 16}}
  plan = #tile.copy_plan<st_async, chunk = 16, count = 8, loops = [8], src = <start = 0, steps = [64], gather = [3, 64]>, dst = <start = 0, steps = [64]>, threads = 32, cycles = 1>}

// -----

func.func private @negative_cycles() attributes {
  // expected-error @+1 {{plan threads and cycles must not be negative, got 32 and -1}}
  plan = #tile.copy_plan<st_async, chunk = 16, count = 8, loops = [8], src = <start = 0, steps = [64]>, dst = <start = 0, steps = [64]>, threads = 32, cycles = -1>}

// -----

// Addresses of shared memory have 32 bits.
func.func private @beyond_addresses_control() attributes {
  plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2], src = <start = 0, steps = [2147483647]>, dst = <start = 0, steps = [-2147483648]>>}
func.func private @beyond_addresses() attributes {
  // expected-error @+1 {{plan src must stay within 2^31 bytes of its start}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2], src = <start = 0, steps = [2147483648]>, dst = <start = 0, steps = [64]>>}

// -----

func.func private @beyond_addresses_below() attributes {
  // expected-error @+1 {{plan dst must stay within 2^31 bytes of its start}}
  plan = #tile.copy_plan<bulk, chunk = 64, count = 2, loops = [2], src = <start = 0, steps = [64]>, dst = <start = -64, steps = [-2147483648]>>}
