// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bulk groups in which copies to global memory complete: who commits them,
// and who waits.
#ifndef TILE_SYNC_BULK_GROUPS_H
#define TILE_SYNC_BULK_GROUPS_H

#include "lib/Sync/SyncFlow.h"

namespace tile {

/// A copy to global memory whose group is surely not right.
struct LooseStore {
  enum Kind {
    /// Nothing commits it, or some thread that may issue it does not.
    NotCommitted,
    CommittedByFewer,
    /// Nothing waits until all groups are done, or not every such thread does.
    NotWaitedFor,
    WaitedForByFewer
  } kind;
  CopyAsyncOp copy;
  /// What fewer threads execute; null where nothing is there.
  mlir::Operation *by = nullptr;
};

llvm::SmallVector<LooseStore> looseStores(mlir::Operation *kernel,
                                          const SyncFlow &flow);

} // namespace tile

#endif // TILE_SYNC_BULK_GROUPS_H
