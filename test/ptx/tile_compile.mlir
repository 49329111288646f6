// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The command line `tile-compile`: its stages, its files, and its ways to fail.

// RUN: tile-compile %s --to analyze | FileCheck %s --check-prefix=ANALYZE
// RUN: tile-compile %s --to legalize | FileCheck %s --check-prefix=LEGALIZE --implicit-check-not=tile.
// RUN: tile-compile %s --to nvvm | FileCheck %s --check-prefix=NVVM
// RUN: tile-compile %s --to ptx | FileCheck %s --check-prefix=PTX

// ANALYZE:  tile.copy_async {{.*}}plan = #tile.copy_plan<bulk, chunk = 512
// LEGALIZE: gpu.launch_func
// LEGALIZE: nvvm.cp.async.bulk.shared.cluster.shared.cta
// NVVM:     gpu.launch_func
// NVVM:     llvm.func @main_kernel
// PTX-NOT:  // gpu.module
// PTX:      .visible .entry main_kernel
// PTX:      cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes

// Standard input, bytecode and -o give the same.

// RUN: tile-compile %s --to ptx -o %t.ptx \
// RUN:   && tile-compile - --to ptx < %s | diff - %t.ptx
// RUN: tile-opt %s --emit-bytecode -o %t.mlirbc \
// RUN:   && tile-compile %t.mlirbc --to ptx | diff - %t.ptx
// RUN: tile-compile --to ptx %t.mlirbc -o - | diff - %t.ptx
// RUN: tile-compile --to ptx %s -o /dev/null | count 0

// On failure the output stays as it was.

// RUN: echo "before" > %t.kept && sed "s/to %b cta/to %nowhere cta/" %s > %t.broken.mlir \
// RUN:   && not tile-compile %t.broken.mlir --to ptx -o %t.kept 2>&1 | FileCheck %s --check-prefix=PLACE
// RUN: FileCheck %s --check-prefix=KEPT < %t.kept
// PLACE:      broken.mlir:[[#@LINE + 44]]:27: error: use of undeclared SSA value name
// PLACE-NEXT: {{^}}    tile.copy_async %a to %nowhere cta
// PLACE-NEXT: {{^}}                          ^
// KEPT: {{^}}before{{$}}

// Wrong input: one error, exit status 1, no traceback.

// RUN: not tile-compile %t.none --to ptx 2>&1 | FileCheck %s --check-prefix=MISSING --implicit-check-not=Traceback
// MISSING: {{^}}error: {{.*}}.none: no such file or directory
// RUN: not tile-compile %S --to ptx 2>&1 | FileCheck %s --check-prefix=FOLDER --implicit-check-not=Traceback
// FOLDER: {{^}}error: {{.*}}: is a directory
// RUN: printf '\377\000\001' > %t.garbage \
// RUN:   && not tile-compile %t.garbage --to ptx 2>&1 | FileCheck %s --check-prefix=GARBAGE --implicit-check-not=Traceback
// RUN: not tile-compile - --to ptx < %t.garbage 2>&1 | FileCheck %s --check-prefix=GARBAGE --implicit-check-not=Traceback
// GARBAGE: error: 
// RUN: head -c 100 %t.mlirbc > %t.cut.mlirbc \
// RUN:   && not tile-compile %t.cut.mlirbc --to ptx 2>&1 | FileCheck %s --check-prefix=CUT --implicit-check-not=Traceback
// CUT: error: 
// RUN: not tile-compile %s --to ptx -o %t.none/out 2>&1 | FileCheck %s --check-prefix=OUTPUT --implicit-check-not=Traceback
// OUTPUT: {{^}}error: {{.*}}.none/out: no such file or directory
// RUN: not tile-compile %s --to ptx -o %S 2>&1 | FileCheck %s --check-prefix=FOLDER --implicit-check-not=Traceback
// RUN: echo "module {}" | not tile-compile - --to ptx 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: -: error: no gpu.module in it to compile to PTX

// Wrong usage: exit status 2.

// RUN: sh -c 'tile-compile %s; echo $?' 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: sh -c 'tile-compile %s --to assembly; echo $?' 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: sh -c 'tile-compile %s --to ptx --opt-level 4; echo $?' 2>&1 | FileCheck %s --check-prefix=USAGE
// USAGE: usage: tile-compile
// USAGE: {{^}}2{{$}}

!tile = memref<256xf16, #gpu.address_space<workgroup>>
!barrier = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>

func.func @main(%rank: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  gpu.launch clusters(%cx, %cy, %cz) in (%nx = %c2, %ny = %c1, %nz = %c1)
             blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             workgroup(%a: !tile, %b: !tile) {
    %bars = nvgpu.mbarrier.create -> !barrier
    tile.copy_async %a to %b cta(%rank) mbarrier(%bars[%c0]) : !tile to !tile, !barrier
    gpu.terminator
  }
  return
}
