// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses of shared memory that must meet a copy with no proxy fence between them:
// what a warning needs, where ProxyFlow only tells that they may.
#ifndef TILE_SYNC_UNFENCED_USES_H
#define TILE_SYNC_UNFENCED_USES_H

#include "lib/Sync/SyncFlow.h"

namespace tile {

/// A use of a buffer in the way of a thread that no fence follows.
struct UnfencedUse {
  enum Kind {
    /// A store, and the copy that reads what it stored.
    Stored,
    /// The wait for a tile that comes by stores, and the copy that reads it.
    Received,
    /// A load, and the arrival that tells a peer to copy over what it loaded.
    Loaded
  } kind;
  mlir::Operation *use, *meets;
};

/// One for each op that they meet. Those on which a path without a fence may
/// depend, or another thread's fence may help, are left out; so are loads
/// without `checksLoads`.
llvm::SmallVector<UnfencedUse>
unfencedUses(mlir::Operation *kernel, const SyncFlow &flow, bool checksLoads);

} // namespace tile

#endif // TILE_SYNC_UNFENCED_USES_H
