// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which instructions a target lacks: LLVM ends the process on those.
#ifndef TILE_TRANSFORMS_INSTRUCTIONS_H
#define TILE_TRANSFORMS_INSTRUCTIONS_H

#include "mlir/IR/Operation.h"

namespace llvm {
class Instruction;
} // namespace llvm

namespace tile {

/// Whether an op of a kernel may become an instruction that only some targets
/// have, or inline assembly.
bool mayNeedTarget(mlir::Operation *op);

/// Refuses `instruction`, which `op` was translated to, where a target of the
/// `gpu.module` around it lacks it.
mlir::LogicalResult checkInstruction(mlir::Operation *op,
                                     const llvm::Instruction &instruction);

} // namespace tile

#endif // TILE_TRANSFORMS_INSTRUCTIONS_H
