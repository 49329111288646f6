// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_TRANSFORMS_CHECK_TYPES_H
#define TILE_TRANSFORMS_CHECK_TYPES_H

#include "mlir/IR/Operation.h"

namespace tile {

/// Refuses, with an error at the op, types whose elements do not count in 64
/// bits. Upstream's verifiers end the process on them, or count wrongly, so
/// `root` need not be verified.
mlir::LogicalResult checkElementCounts(mlir::Operation *root);

} // namespace tile

#endif // TILE_TRANSFORMS_CHECK_TYPES_H
