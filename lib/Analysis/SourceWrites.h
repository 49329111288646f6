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

/// Whether a copy that `wait` surely waits for stores to what `copy` reads
/// through the async proxy: both variants are known.
bool surelyReceivesSource(mlir::Operation *wait, CopyAsyncOp copy,
                          llvm::ArrayRef<CopyAsyncOp> copies);

} // namespace tile

#endif // TILE_ANALYSIS_SOURCE_WRITES_H
