// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Targets on which LLVM would abort, each beside a control case that differs in one thing and passes.

// RUN: tile-opt %s --split-input-file --verify-diagnostics --tile-check-target -o /dev/null

// expected-error @below {{gpu.module 'kernels' targets PTX 7.8; tile.copy_async needs 8.0}}
// expected-note @below {{set features to +ptx80}}
gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx78">] {
}

// -----

!tile = memref<8x64xf16, #gpu.address_space<workgroup>>
!group = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx80">] {
  gpu.func @copy(%rank: i32, %bars: !group, %i: index) workgroup(%src: !tile, %dst: !tile) kernel {
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i])
        {plan = #tile.copy_plan<bulk, chunk = 1024, count = 1, loops = [], src = <start = 0, steps = []>, dst = <start = 0, steps = []>>}
        : !tile to !tile, !group
    // expected-error @below {{gpu.module 'kernels' targets PTX 8.0; st_async needs 8.1}}
    // expected-note @below {{set features to +ptx81, or name another variant on the copy}}
    tile.copy_async %src to %dst cta(%rank) mbarrier(%bars[%i]) issue(warp)
        {plan = #tile.copy_plan<st_async, chunk = 16, count = 64, loops = [64], src = <start = 0, steps = [16]>, dst = <start = 0, steps = [16]>, threads = 32, cycles = 50>}
        : !tile to !tile, !group
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90", features = "+ptx80">] {
}

// -----

// Without features, LLVM takes the oldest PTX version that knows the chip.

// expected-error @below {{gpu.module 'kernels' targets PTX 7.8; tile.copy_async needs 8.0}}
// expected-note @below {{set features to +ptx80}}
gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_100">] {
}

// -----

// expected-error @below {{gpu.module 'kernels' targets sm_89, which has no clusters; tile.copy_async needs sm_90}}
// expected-note @below {{set chip to sm_90}}
gpu.module @kernels [#nvvm.target<chip = "sm_89", features = "+ptx80">] {
}

// -----

// expected-error @below {{gpu.module 'kernels' targets PTX 8.5; sm_100a needs 8.6}}
// expected-note @below {{set features to +ptx86}}
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx85">] {
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_100a", features = "+ptx86">] {
}

// -----

// The second of several counts too.

// expected-error @below {{gpu.module 'kernels' targets #rocdl.target, which is not NVVM}}
// expected-note @below {{use #nvvm.target, or drop the target}}
gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">, #rocdl.target] {
}

// -----

module @nested {
  // expected-error @below {{gpu.module 'kernels' targets sm_95, which LLVM does not know}}
  // expected-note @below {{set chip to one of sm_90, sm_90a,}}
  gpu.module @kernels [#nvvm.target<chip = "sm_95", features = "+ptx80">] {
  }
}

// -----

// LLVM knows nothing of what is inline, and st.async is younger than the rest.

gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx80">] {
  gpu.func @store(%address: i32, %word: i32, %barrier: i32) kernel {
    // expected-error @below {{gpu.module 'kernels' targets PTX 8.0; st.async needs 8.1}}
    // expected-note @below {{set features to +ptx81}}
    llvm.inline_asm has_side_effects "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];", "r,r,r,~{memory}" %address, %word, %barrier : (i32, i32, i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels_control [#nvvm.target<chip = "sm_90", features = "+ptx81">] {
  gpu.func @store(%address: i32, %word: i32, %barrier: i32) kernel {
    llvm.inline_asm has_side_effects "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];", "r,r,r,~{memory}" %address, %word, %barrier : (i32, i32, i32) -> ()
    gpu.return
  }
}

// -----

// expected-error @below {{gpu.module 'kernels' targets the triple 'nvptx-nvidia-cuda'; kernels are compiled for nvptx64-nvidia-cuda}}
// expected-note @below {{drop the triple}}
gpu.module @kernels [#nvvm.target<triple = "nvptx-nvidia-cuda", chip = "sm_90", features = "+ptx80">] {
}

// -----

// Upstream's verifier ends the process on it, so this comes before.

// expected-error @below {{gpu.module 'kernels' targets 'ab', which is not of the form sm_90}}
// expected-note @below {{set chip to sm_90}}
gpu.module @kernels [#nvvm.target<chip = "ab">] {
}
