// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes of the dialect on ops of others: what is misspelt or of another kind is refused.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

gpu.module @kernels {
  gpu.func @control() kernel attributes {tile.insert_sync, tile.dynamic_shared_memory_front = 64 : i64} {
    %memory = gpu.dynamic_shared_memory {tile.alignment = 256 : i64} : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
func.func @launch_control() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
      threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
    gpu.terminator
  } {tile.insert_sync}
  return
}
gpu.module @without_fences_of_reads {
  gpu.func @control() kernel attributes {tile.insert_sync = {war_fences = false}} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op 'tile.insert_sync' must be a unit attribute or {war_fences = false}, got {fences = false}}}
  gpu.func @unknown_word() kernel attributes {tile.insert_sync = {fences = false}} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+2 {{'gpu.func' op has the attribute 'tile.insert_snyc', which is not known}}
  // expected-note @+1 {{known are tile.insert_sync, tile.alignment, tile.dynamic_shared_memory_front, tile.shared_names and tile.kernels}}
  gpu.func @misspelt() kernel attributes {tile.insert_snyc} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'gpu.func' op 'tile.insert_sync' must be a unit attribute or {war_fences = false}, got false}}
  gpu.func @no_unit() kernel attributes {tile.insert_sync = false} {
    gpu.return
  }
}

// -----

func.func @elsewhere(%x: f32) -> f32 {
  // expected-error @+1 {{'arith.addf' op must be a kernel or a gpu.launch to have 'tile.insert_sync'}}
  %y = arith.addf %x, %x {tile.insert_sync} : f32
  return %y : f32
}

// -----

gpu.module @kernels {
  gpu.func @alignment() kernel {
    // expected-error @+1 {{'gpu.dynamic_shared_memory' op 'tile.alignment' must be a number of bytes, got "256"}}
    %memory = gpu.dynamic_shared_memory {tile.alignment = "256"} : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
