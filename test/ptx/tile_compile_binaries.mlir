// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `tile-compile` makes for programs without Python, and of one gpu.module of several.

// RUN: tile-compile %s --to object -o %t.o && llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// SYMBOLS-NOT: {{ [A-TV-Z] }}
// SYMBOLS:     T _mlir_ciface_main
// SYMBOLS-NOT: {{ [A-TV-Z] }}
// RUN: tile-compile %s --to object | cmp - %t.o

// RUN: tile-compile %s --to program -o %t.tile \
// RUN:   && tile-run %t.tile --arg zeros:8xf32 --arg 7 --device emulator | count 0

// RUN: tile-compile %s --to header | FileCheck %s --check-prefix=HEADER
// HEADER: typedef struct tile_memref_f32_1d {
// HEADER: void _mlir_ciface_main(tile_memref_f32_1d *arg0, int32_t arg1);
// HEADER: static inline int tile_main(

// RUN: tile-compile %s --to ptx | FileCheck %s --check-prefix=BOTH
// BOTH:      // gpu.module 'one'
// BOTH:      // gpu.module 'two'
// RUN: tile-compile %s --to ptx --module two | FileCheck %s --check-prefix=TWO
// TWO-NOT: // gpu.module
// TWO:     .entry second
// RUN: not tile-compile %s --to ptx --module three 2>&1 | FileCheck %s --check-prefix=THREE
// THREE: error: no gpu.module 'three' in it, have: one, two

// RUN: not tile-compile %s --to nvvm --module two 2>&1 | FileCheck %s --check-prefix=MODULE
// MODULE: error: --module is for ptx, cubin, fatbin, got --to nvvm
// RUN: not tile-compile %s --to header --embed ptx 2>&1 | FileCheck %s --check-prefix=EMBED
// EMBED: error: --embed is for object, got --to header
// RUN: tile-compile %s --to object --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKED --allow-empty
// REMARKED-NOT: error
// RUN: not tile-compile %s --to program --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS: error: --remarks is for analyze, {{.*}}, fatbin, object, got --to program
// RUN: not tile-compile %s --to header --line-info 2>&1 | FileCheck %s --check-prefix=LINES
// LINES: error: --line-info is for analyze, {{.*}}, program, object, got --to header
// RUN: sh -c 'tile-compile %s --to header --chip sm_1; echo $?' 2>&1 | FileCheck %s --check-prefix=NO-CHIP
// NO-CHIP: error: --chip is for {{.*}}, got --to header
// NO-CHIP: {{^}}2{{$}}

// A wrong target is told before a toolkit is looked for.

// RUN: env CUDA_HOME=%t.none not tile-compile %s --to cubin --chip sm_91 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: error: the compilation targets sm_91, which LLVM does not know

// RUN: sed "s/ attributes {llvm.emit_c_interface}//" %s > %t.none.mlir \
// RUN:   && not tile-compile %t.none.mlir --to object 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tile-compile %t.none.mlir --to header 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: the module has no host function to call: give a func.func the attribute llvm.emit_c_interface
// RUN: sed "s/x: i32/x: f16/" %s > %t.half.mlir \
// RUN:   && not tile-compile %t.half.mlir --to header 2>&1 | FileCheck %s --check-prefix=HALF
// HALF: half.mlir:[[#@LINE + 14]]:3: error: argument 1 of @main must be a memref or one of {{.*}}, got f16
// HALF: note: change the type in the function

module attributes {gpu.container_module} {
  gpu.module @one {
    gpu.func @first() kernel {
      gpu.return
    }
  }
  gpu.module @two {
    gpu.func @second() kernel {
      gpu.return
    }
  }
  func.func @main(%a: memref<8xf32>, %x: i32) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    gpu.launch_func @one::@first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu.launch_func @two::@second blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}
