// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a store and a copy surely meet: what a warning needs, where the flow
// only tells that they may.
#ifndef TILE_ANALYSIS_SOURCE_WRITES_H
#define TILE_ANALYSIS_SOURCE_WRITES_H

#include "dialect/TileDialect.h"

namespace tile {

/// Whether `write` stores to what `copy` reads, on some path that nothing in
/// the kernel rules out.
bool surelyWritesSource(mlir::Operation *write, CopyAsyncOp copy);

} // namespace tile

#endif // TILE_ANALYSIS_SOURCE_WRITES_H
