// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the hardware combines with memory asynchronously.
#ifndef TILE_DIALECT_REDUCTIONS_H
#define TILE_DIALECT_REDUCTIONS_H

#include "dialect/TileDialect.h"

namespace tile {

/// Whether values of `type` are combined by `kind` in the shared memory of a
/// CTA of the cluster: by `red.async` and `cp.reduce.async.bulk`.
bool reducesInPeer(ReductionKind kind, mlir::Type type);

/// Whether they are in global memory, by `cp.reduce.async.bulk`.
bool reducesInGlobal(ReductionKind kind, mlir::Type type);

} // namespace tile

#endif // TILE_DIALECT_REDUCTIONS_H
