// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What single ops mean to the protocol around copies, whatever dialect they are
// of.
#ifndef TILE_ANALYSIS_SYNC_OPS_H
#define TILE_ANALYSIS_SYNC_OPS_H

#include "dialect/TileDialect.h"
#include "lib/Analysis/Origins.h"

namespace tile {

/// Ops that reach into another CTA.
bool reachesIntoPeer(mlir::Operation *op);
bool isClusterArrive(mlir::Operation *op);
bool isClusterWait(mlir::Operation *op);
bool isInitFence(mlir::Operation *op);
bool isAsyncProxyFence(mlir::Operation *op);
/// Ops by which a thread tells others of its CTA that it has come this far.
bool signalsThreads(mlir::Operation *op);

/// The barrier group or the pointer whose barrier `op` initialises; nothing
/// where it initialises none, or one that only assembly names.
mlir::Value initialisedBy(mlir::Operation *op);
bool initialisesBarrier(mlir::Operation *op);

/// Ops that wait for a phase of a barrier, or ask whether it has completed.
bool waitsForBarrier(mlir::Operation *op);

/// The buffers and pointers through which `op` stores in the way of a thread,
/// and those through which it loads.
llvm::SmallVector<mlir::Value> storeAddresses(mlir::Operation *op);
llvm::SmallVector<mlir::Value> loadAddresses(mlir::Operation *op);

/// The shared memory that `op` may write by ordinary stores; copies, barriers
/// and fences do not.
Origins storedBy(mlir::Operation *op);

} // namespace tile

#endif // TILE_ANALYSIS_SYNC_OPS_H
