// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions that a target lacks are refused at the op, with what has them; LLVM ends the process on
// them. The controls compile the same for a target that has them.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx85">] {
  gpu.func @load(%from: !llvm.ptr<1>, %to: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %size: i32) kernel {
    // expected-error @+2 {{'nvvm.cp.async.bulk.shared.cluster.global' op must have PTX 8.6 or newer, got 8.5}}
    // expected-note @+1 {{set features to +ptx86}}
    nvvm.cp.async.bulk.shared.cluster.global %to, %from, %bar, %size : !llvm.ptr<3>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90", features = "+ptx86">] {
  gpu.func @load(%from: !llvm.ptr<1>, %to: !llvm.ptr<3>, %bar: !llvm.ptr<3>, %size: i32) kernel {
    nvvm.cp.async.bulk.shared.cluster.global %to, %from, %bar, %size : !llvm.ptr<3>, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx82">] {
  gpu.func @fence(%map: !llvm.ptr) kernel {
    %size = llvm.mlir.constant(128 : i32) : i32
    // expected-error @+2 {{'nvvm.fence.proxy.acquire' op must have PTX 8.3 or newer, got 8.2}}
    // expected-note @+1 {{set features to +ptx83}}
    nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %map, %size
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90a", features = "+ptx83">] {
  gpu.func @fence(%map: !llvm.ptr) kernel {
    %size = llvm.mlir.constant(128 : i32) : i32
    nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %map, %size
    gpu.return
  }
}

// -----

// A mode of an op that is older without it.

gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx81">] {
  gpu.func @load(%to: !llvm.ptr<3>, %map: !llvm.ptr, %bar: !llvm.ptr<3>, %x: i32) kernel {
    // expected-error @+2 {{'nvvm.cp.async.bulk.tensor.shared.cluster.global' op must have PTX 8.6 or newer, got 8.1}}
    // expected-note @+1 {{set features to +ptx86}}
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%x] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90", features = "+ptx81">] {
  gpu.func @load(%to: !llvm.ptr<7>, %map: !llvm.ptr, %bar: !llvm.ptr<3>, %x: i32) kernel {
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%x] : !llvm.ptr<7>, !llvm.ptr
    gpu.return
  }
}

// -----

// What no PTX version brings to a chip.

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">] {
  gpu.func @prefetch(%map: !llvm.ptr, %x: i32) kernel {
    // expected-error @+2 {{'nvvm.cp.async.bulk.tensor.prefetch' op must have a chip with this instruction, got sm_90a}}
    // expected-note @+1 {{set chip to one of sm_100a, sm_100f,}}
    nvvm.cp.async.bulk.tensor.prefetch %map, box[%x, %x, %x, %x, %x] {mode = #nvvm.tma_load_mode<tile_gather4>} : !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_100a", features = "+ptx88">] {
  gpu.func @prefetch(%map: !llvm.ptr, %x: i32) kernel {
    nvvm.cp.async.bulk.tensor.prefetch %map, box[%x, %x, %x, %x, %x] {mode = #nvvm.tma_load_mode<tile_gather4>} : !llvm.ptr
    gpu.return
  }
}

// -----

// An intrinsic by its name needs what its op does.

gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx80">] {
  gpu.func @size(%to: memref<i32>) kernel {
    // expected-error @+2 {{'llvm.call_intrinsic' op must have PTX 8.1 or newer, got 8.0}}
    // expected-note @+1 {{set features to +ptx81}}
    %bytes = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.aggr_smem_size"() : () -> i32
    memref.store %bytes, %to[] : memref<i32>
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90", features = "+ptx81">] {
  gpu.func @size(%to: memref<i32>) kernel {
    %bytes = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.aggr_smem_size"() : () -> i32
    memref.store %bytes, %to[] : memref<i32>
    gpu.return
  }
}
