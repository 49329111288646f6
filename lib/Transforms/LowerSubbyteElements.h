// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_TRANSFORMS_LOWER_SUBBYTE_ELEMENTS_H
#define TILE_TRANSFORMS_LOWER_SUBBYTE_ELEMENTS_H

#include "mlir/IR/Operation.h"

namespace tile {

/// Refuses, with an error at `op`, accesses to elements that memory and vectors
/// do not keep alike: those of less than a byte but for bools, and vectors of
/// those that are padded.
mlir::LogicalResult checkElementAccess(mlir::Operation *op);

} // namespace tile

#endif // TILE_TRANSFORMS_LOWER_SUBBYTE_ELEMENTS_H
