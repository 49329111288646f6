// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the bytes that a kernel arms its barriers with to the bytes that its
// copies bring.
#ifndef TILE_ANALYSIS_TRANSACTION_BYTES_H
#define TILE_ANALYSIS_TRANSACTION_BYTES_H

#include "mlir/IR/Operation.h"

namespace tile {

/// Warns about each constant `expect_tx` in `function` that no number of
/// planned copies into the same barrier can add up to. Barriers that anything
/// else may complete are left alone.
void warnAboutTransactionBytes(mlir::Operation *function);

} // namespace tile

#endif // TILE_ANALYSIS_TRANSACTION_BYTES_H
