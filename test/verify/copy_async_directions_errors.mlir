// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The directions of tile.copy_async, and what each of them refuses: each constraint is broken once; the function
// before it keeps it and differs in nothing else.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -o %t

// c11: one side is in workgroup memory.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c11_from_global(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %global to %tile mbarrier(%bars[%i]) : !global to !tile, !bars
  return
}

func.func @c11_from_global_to_global(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must have a side in workgroup memory, got 'memref<8x16xi32>' and 'memref<8x16xi32>'}}
  // expected-note @+1 {{copy through a workgroup buffer: the hardware copies nothing from global to global memory}}
  tile.copy_async %global to %out : !global to !global
  return
}

// -----

// c12: a tile of workgroup memory goes to CTAs that are named.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c12_to_a_rank(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

func.func @c12_to_a_mask(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %other ctas(%mask) mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

func.func @c12_to_nobody(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must say which CTA receives a tile from workgroup memory}}
  // expected-note @+1 {{write cta(%rank) or ctas(%mask); within a CTA, copy with loads and stores}}
  tile.copy_async %tile to %other mbarrier(%bars[%i]) : !tile to !tile, !bars
  return
}

// -----

// c12: to one CTA or to several, not both.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c12_multicast(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %global to %tile ctas(%mask) mbarrier(%bars[%i]) : !global to !tile, !bars
  return
}

func.func @c12_both(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op must have cta(%rank) or ctas(%mask), got both}}
  tile.copy_async %global to %tile cta(%rank) ctas(%mask) mbarrier(%bars[%i]) : !global to !tile, !bars
  return
}

// -----

// c13: what comes into workgroup memory completes on a barrier.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c13_barrier(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %global to %tile mbarrier(%bars[%i]) : !global to !tile, !bars
  return
}

func.func @c13_no_barrier(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must name the barrier that completes a copy into workgroup memory}}
  // expected-note @+1 {{write mbarrier(%barriers[%index])}}
  tile.copy_async %global to %tile : !global to !tile
  return
}

// -----

// c14: what goes to global memory completes in a bulk group.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c14_store(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out : !tile to !global
  return
}

func.func @c14_barrier(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op must have no barrier to global memory}}
  // expected-note @+1 {{it completes in a bulk group: execute nvvm.cp.async.bulk.commit.group, then wait_group}}
  tile.copy_async %tile to %out mbarrier(%bars[%i]) : !tile to !global, !bars
  return
}

// -----

// c14: and has no receiver.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c14_store_alone(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out : !tile to !global
  return
}

func.func @c14_receiver(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op destination must be in workgroup memory for a CTA to receive it, got 'memref<8x16xi32>'}}
  tile.copy_async %tile to %out cta(%rank) : !tile to !global
  return
}

// -----

// c15: what is combined comes from workgroup memory.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c15_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(minsi) : !tile to !tile, !bars
  return
}

func.func @c15_into_global(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(inc) : !tile to !global
  return
}

func.func @c15_from_global(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op source must be in workgroup memory to be reduced, got 'memref<8x16xi32>'}}
  // expected-note @+1 {{load it into a buffer of its own, and combine there}}
  tile.copy_async %global to %tile mbarrier(%bars[%i]) reduce(add) : !global to !tile, !bars
  return
}

// -----

// c15: by what the hardware has for the type.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c15_add(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(add) : !tile to !global
  return
}

func.func @c15_mul(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'i32' by mul in global memory}}
  // expected-note @+1 {{the hardware has add of i32, i64, f16, bf16, f32 and f64; min and max of i32 and i64, and as minnumf and maxnumf of f16 and bf16; and, or, xor of i32 and i64; inc and dec of i32; use memref.atomic_rmw for others}}
  tile.copy_async %tile to %out reduce(mul) : !tile to !global
  return
}

func.func @c15_mul_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'i32' by mul into a peer}}
  // expected-note @+1 {{the hardware has add of i32 and i64, and min, max, and, or, xor, inc and dec of i32; combine others over the cluster with tile.all_reduce, or in one place with memref.atomic_rmw on a tile.peer}}
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(mul) : !tile to !tile, !bars
  return
}

// -----

// c16: the L2 cache is told of global memory.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c16_load(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %global to %tile mbarrier(%bars[%i]) cache_hint(evict_first) : !global to !tile, !bars
  return
}

func.func @c16_store(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out cache_hint(%policy) : !tile to !global
  return
}

func.func @c16_between_ctas(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+1 {{'tile.copy_async' op must have a side in global memory for a cache hint, got 'memref<8x16xi32, #gpu.address_space<workgroup>>' and 'memref<8x16xi32, #gpu.address_space<workgroup>>'}}
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) cache_hint(evict_first) : !tile to !tile, !bars
  return
}

// -----

// c16: by a name that exists.
!tile = memref<8x16xi32, #gpu.address_space<workgroup>>
!global = memref<8x16xi32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c16_evict_last(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %global to %tile mbarrier(%bars[%i]) cache_hint(evict_last) : !global to !tile, !bars
  return
}

func.func @c16_evict_never(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+1 {{cache_hint must be a value, evict_first, evict_last or evict_normal, got 'evict_never'}}
  tile.copy_async %global to %tile mbarrier(%bars[%i]) cache_hint(evict_never) : !global to !tile, !bars
  return
}

// -----

// c15: what the hardware combines of f32.
!tile = memref<8x16xf32, #gpu.address_space<workgroup>>
!global = memref<8x16xf32>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c15_add_of_f32_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'f32' by add into a peer}}
  // expected-note @+1 {{the hardware has add}}
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(add) : !tile to !tile, !bars
  return
}

func.func @c15_add_of_f32_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(add) : !tile to !global
  return
}

func.func @c15_minnumf_of_f32_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'f32' by minnumf in global memory}}
  // expected-note @+1 {{the hardware has add}}
  tile.copy_async %tile to %out reduce(minnumf) : !tile to !global
  return
}

// -----

// c15: what the hardware combines of f16.
!tile = memref<8x16xf16, #gpu.address_space<workgroup>>
!global = memref<8x16xf16>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c15_add_of_f16_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(add) : !tile to !global
  return
}

func.func @c15_minnumf_of_f16_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(minnumf) : !tile to !global
  return
}

func.func @c15_add_of_f16_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'f16' by add into a peer}}
  // expected-note @+1 {{the hardware has add}}
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(add) : !tile to !tile, !bars
  return
}

// -----

// c15: what the hardware combines of i64.
!tile = memref<8x16xi64, #gpu.address_space<workgroup>>
!global = memref<8x16xi64>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @c15_add_of_i64_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(add) : !tile to !tile, !bars
  return
}

func.func @c15_minsi_of_i64_into_a_peer(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'i64' by minsi into a peer}}
  // expected-note @+1 {{the hardware has add}}
  tile.copy_async %tile to %other cta(%rank) mbarrier(%bars[%i]) reduce(minsi) : !tile to !tile, !bars
  return
}

func.func @c15_maxui_of_i64_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  tile.copy_async %tile to %out reduce(maxui) : !tile to !global
  return
}

func.func @c15_inc_of_i64_in_global_memory(%tile: !tile, %other: !tile, %global: !global, %out: !global, %rank: i32, %mask: i16, %policy: i64, %bars: !bars, %i: index) {
  // expected-error @+2 {{'tile.copy_async' op cannot reduce 'i64' by inc in global memory}}
  // expected-note @+1 {{the hardware has add}}
  tile.copy_async %tile to %out reduce(inc) : !tile to !global
  return
}
