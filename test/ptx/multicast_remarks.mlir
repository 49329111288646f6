// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PTX says that a multicast is slow on sm_90; a chip with features of its own, another direction and one receiver draw no
// remark.
// RUN: tile-opt %s -tile-check-target -verify-diagnostics -o %t

#wg = #gpu.address_space<workgroup>
!tile = memref<64xf32, #wg>
!global = memref<64xf32>
!bars = !nvgpu.mbarrier.group<memorySpace = #wg, num_barriers = 1>

gpu.module @on_sm_90 [#nvvm.target<chip = "sm_90", features = "+ptx81">] {
  gpu.func @multicast(%x: !global, %mask: i16, %bars: !bars, %i: index) workgroup(%tile: !tile, %other: !tile) kernel {
    // expected-remark @+2 {{'tile.copy_async' op may be slow on sm_90: it is sent to several CTAs by the hardware}}
    // expected-note @+1 {{set chip to sm_90a}}
    tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) : !global to !tile, !bars
    tile.copy_async %x to %tile mbarrier(%bars[%i]) : !global to !tile, !bars
    tile.copy_async %tile to %other ctas(%mask) mbarrier(%bars[%i]) : !tile to !tile, !bars
    gpu.return
  }
}

gpu.module @on_sm_90a [#nvvm.target<chip = "sm_90a", features = "+ptx81">] {
  gpu.func @multicast(%x: !global, %mask: i16, %bars: !bars, %i: index) workgroup(%tile: !tile) kernel {
    tile.copy_async %x to %tile ctas(%mask) mbarrier(%bars[%i]) : !global to !tile, !bars
    gpu.return
  }
}
