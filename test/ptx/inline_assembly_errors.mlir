// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline assembly that does not fit its operands is refused at its place: LLVM ends the process on it, or
// prints without a place.
// RUN: tile-opt %s -split-input-file -verify-diagnostics -tile-to-binary -o /dev/null

gpu.module @kernels {
  gpu.func @control(%a: i32) kernel {
    llvm.inline_asm has_side_effects "prefetch.global.L1 [$0]; // $$5 ${0}", "r,~{memory}" %a : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @number(%a: i32) kernel {
    llvm.inline_asm has_side_effects "mov.u32 %r9, $0;", "r" %a : (i32) -> ()
    // expected-error @+2 {{'llvm.inline_asm' op must name one of its operands, 1 in all, after '$', got $1}}
    // expected-note @+1 {{count the results first, then the operands, from $0}}
    llvm.inline_asm has_side_effects "mov.u32 %r9, $1;", "r" %a : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @brace(%a: i32) kernel {
    // expected-error @+2 {{'llvm.inline_asm' op must close '${' after the operand's number or its modifier}}
    // expected-note @+1 {{count the results first, then the operands, from $0}}
    llvm.inline_asm has_side_effects "mov.u32 %r9, ${0;", "r" %a : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @no_number(%a: i32) kernel {
    // expected-error @+2 {{'llvm.inline_asm' op must name an operand by its number after '$' (write '$$' for the character itself)}}
    // expected-note @+1 {{count the results first, then the operands, from $0}}
    llvm.inline_asm has_side_effects "mov.u32 %r9, $a;", "r" %a : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @too_many(%a: i32) kernel {
    // expected-error @+2 {{'llvm.inline_asm' op has constraints "r,r" that do not fit its operands: number of input constraints does not match number of parameters}}
    // expected-note @+1 {{write one constraint for each result, as "=r", and each operand, as "r"}}
    llvm.inline_asm has_side_effects "mov.u32 %r9, $0;", "r,r" %a : (i32) -> ()
    gpu.return
  }
}

// -----

// What only the backend knows comes from LLVM itself.

gpu.module @kernels {
  gpu.func @letter(%a: i32) kernel {
    // expected-error @+1 {{inline assembly: unknown asm constraint 'Q'}}
    llvm.inline_asm has_side_effects "mov.u32 %r9, $0;", "Q" %a : (i32) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @address(%a: !llvm.ptr) kernel {
    // expected-error @+2 {{'llvm.inline_asm' op has constraint "p", which GPUs have no operands for}}
    // expected-note @+1 {{hand over a pointer in a register, as "l"}}
    llvm.inline_asm has_side_effects "prefetch.global.L1 [$0];", "p" %a : (!llvm.ptr) -> ()
    gpu.return
  }
}
