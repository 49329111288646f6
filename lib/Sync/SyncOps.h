// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What single ops mean to the protocol around copies, whatever dialect they are
// of.
#ifndef TILE_SYNC_SYNC_OPS_H
#define TILE_SYNC_SYNC_OPS_H

#include "dialect/TileDialect.h"
#include "lib/Facts/Origins.h"

#include <optional>

namespace tile {

/// Whether `kernel` has fences between ordinary reads and the copies that write
/// over what they read: it may say otherwise in `tile.insert_sync`.
bool fencesReads(mlir::Operation *kernel);

/// Ops that reach into another CTA.
bool reachesIntoPeer(mlir::Operation *op);
/// The group of the peer's barrier on which such an op completes bytes or
/// arrives; null where it does neither.
mlir::Value remoteBarriersOf(mlir::Operation *op);
/// The group of the barrier on which `op` completes bytes, whichever CTA's;
/// null where it completes none.
mlir::Value completedBy(mlir::Operation *op);

/// The side of a copy in shared memory that is read, and the one that is
/// written; null where that side is in global memory.
mlir::Value sharedSource(CopyAsyncOp copy);
mlir::Value sharedDestination(CopyAsyncOp copy);

/// Ops that commit the thread's bulk copies to a group, and that wait for
/// groups.
bool commitsGroup(mlir::Operation *op);
bool waitsForGroup(mlir::Operation *op);
/// The same where it may leave no group; of assembly that is not known.
bool waitsForAllGroups(mlir::Operation *op);

bool isClusterArrive(mlir::Operation *op);
bool isClusterWait(mlir::Operation *op);
bool isInitFence(mlir::Operation *op);
bool isAsyncProxyFence(mlir::Operation *op);
/// Whether a fence covers the shared memory of other CTAs as well.
bool isPeerProxyFence(mlir::Operation *op);

/// What threads meet at, to tell each other how far they have come.
enum class Channel {
  None,
  /// An mbarrier of the thread's CTA, and one of a peer's or its own.
  MBarrier,
  PeerMBarrier,
  /// A barrier of the CTA, by number.
  CtaBarrier,
  WarpBarrier,
  ClusterBarrier
};

/// What `op` does there.
struct Meeting {
  Channel channel = Channel::None;
  /// Whether it lets others know what came before, and learns that of others.
  bool tells = false, hears = false;
  /// The group or the pointer of an mbarrier, and the place in the group; null
  /// where it is not known.
  mlir::Value barriers, index;
  /// The number of a CTA barrier, where it is known.
  std::optional<int64_t> number;
  /// Whether it waits for all threads of the CTA that have not left.
  bool countsAll = false;
};
Meeting meetingOf(mlir::Operation *op);

/// Whether `copy` may read its source and write its destination through the
/// async proxy, or in the way of a thread; both, until it is planned.
bool mayUseAsyncProxy(CopyAsyncOp copy);
bool mayUseGenericProxy(CopyAsyncOp copy);

/// The place in its group of the barrier that `op` uses.
mlir::Value barrierIndexOf(mlir::Operation *op);

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

/// Whether `op` is assembly that may store to shared memory, or load from it,
/// in the way of a thread.
bool mayStoreInAssembly(mlir::Operation *op);
bool mayLoadInAssembly(mlir::Operation *op);

} // namespace tile

#endif // TILE_SYNC_SYNC_OPS_H
