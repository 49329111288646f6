// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which shared memory threads use in their own way, through the generic proxy,
// before copies use it through the async proxy, and where a fence between them
// belongs. What a thread has done is followed along its own way; what is asked
// of it, by copies that may come later, along the ways of all threads and from
// those that wait back to those that tell them.
#ifndef TILE_SYNC_PROXY_FLOW_H
#define TILE_SYNC_PROXY_FLOW_H

#include "lib/Sync/SyncFlow.h"

namespace tile {

/// What copies that may come later do through the async proxy to each buffer,
/// in the shared memory of the thread's own CTA and of other ones.
struct ProxyDemand {
  llvm::BitVector readHere, writtenHere, readThere, writtenThere;

  bool add(const ProxyDemand &other);
  /// The same, as the threads of any CTA see it.
  ProxyDemand ofAllCtas() const;
};

/// What a thread has done to each buffer since its last proxy fence.
struct ProxyDebt {
  bool unreached = true;
  llvm::BitVector written, read;
  /// What a copy may have brought by stores, once the thread has waited for it.
  llvm::BitVector received;

  bool join(const ProxyDebt &other);
};

/// The ops before which a proxy fence is missing, in the order of the text:
/// those by which a thread that owes one tells others how far it has come, and
/// copies. With `fencesReads`, a copy into what ordinary loads have read needs
/// one, too.
llvm::SmallVector<mlir::Operation *> missingProxyFences(const SyncFlow &flow,
                                                        bool fencesReads);

} // namespace tile

#endif // TILE_SYNC_PROXY_FLOW_H
