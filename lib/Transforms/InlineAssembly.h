// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_TRANSFORMS_INLINEASSEMBLY_H
#define TILE_TRANSFORMS_INLINEASSEMBLY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tile {

/// Refuses inline assembly on which LLVM ends the process: constraints that it
/// cannot read, and text that names operands that are not there.
mlir::LogicalResult checkInlineAssembly(mlir::LLVM::InlineAsmOp op);

} // namespace tile

#endif // TILE_TRANSFORMS_INLINEASSEMBLY_H
