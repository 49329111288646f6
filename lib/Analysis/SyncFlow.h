// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel has synchronised when it comes to an op: which cluster barriers
// and fences lie behind it on every path. Follows structured control flow and
// blocks alike, and decides nothing.
#ifndef TILE_ANALYSIS_SYNC_FLOW_H
#define TILE_ANALYSIS_SYNC_FLOW_H

#include "lib/Analysis/SyncOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tile {

/// How far a cluster barrier has come; the later the worse.
enum class Pending : uint8_t { Done, Arrived, Open };

/// The worst of all paths to an op.
struct SyncState {
  /// No path leads here.
  bool unreached = true;
  /// A cluster barrier since the kernel began: only then do all CTAs run.
  Pending start = Pending::Done;
  /// Whether `start` is done on some path, although the worst one may lack it.
  bool startedOnSomePath = false;
  /// A cluster barrier behind which no CTA reaches into another one any more.
  Pending finish = Pending::Done;
  /// A cluster barrier since the initialisation of each barrier group; the last
  /// place is for groups of which nothing is known.
  llvm::SmallVector<Pending> groups;
  /// Groups whose initialisation no fence follows.
  llvm::SmallBitVector unfenced;
  /// Sources that ordinary stores wrote, or a copy from a peer that was waited
  /// for, and no proxy fence follows; the last place is for any shared memory.
  llvm::SmallBitVector written;

  /// Whether ordinary stores wrote a destination and no proxy fence follows.
  bool overwritten = false;

  /// Takes the worse of both, and returns whether that changed anything.
  bool join(const SyncState &other);
};

/// Ops behind which a peer may be ahead: uses of peers, waits for barriers, and
/// calls of either.
bool dependsOnPeers(mlir::Operation *op);

/// Whether `later` can run after `first` in one thread of the kernel with this
/// `body`.
bool mayFollow(mlir::Operation *first, mlir::Operation *later,
               mlir::Region &body);

class SyncFlow {
public:
  /// With `copiesFence`, a copy is taken to fence its source itself.
  explicit SyncFlow(mlir::Region &body, bool copiesFence = false);

  const SyncState &before(mlir::Operation *op) const;
  /// The barrier groups that `op` may use or initialise, as places in
  /// `SyncState::groups`.
  llvm::SmallBitVector groupsOf(mlir::Operation *op) const;
  /// What `copy` may read, as places in `SyncState::written`.
  llvm::SmallBitVector sourcesOf(CopyAsyncOp copy) const;
  /// What `op` may write by ordinary stores, as places in `SyncState::written`.
  llvm::SmallBitVector writtenBy(mlir::Operation *op) const;
  /// What a copy may have brought from a peer once `op` has waited for it, as
  /// places in `SyncState::written`. Nobody on this side knows whether its
  /// variant stores or goes through the async proxy.
  llvm::SmallBitVector receivedBy(mlir::Operation *op) const;
  /// Whether the source of `copy` may be written and not fenced when control is
  /// before `before`.
  bool needsProxyFence(CopyAsyncOp copy, mlir::Operation *before) const;
  /// Whether `op` tells peers that this CTA is ready for copies, or is done
  /// with earlier ones.
  bool announces(mlir::Operation *op) const;
  /// Whether a remote use has neither peers that run nor a barrier that they
  /// know.
  bool comesTooEarly(mlir::Operation *remote) const;

  /// Ops that reach into a peer, ops that may initialise a barrier which is
  /// used that way, and the ops that end the kernel; in the order of the text.
  llvm::SmallVector<mlir::Operation *> remotes, inits, exits;
  llvm::SmallVector<CopyAsyncOp> copies;
  /// Ops that load from or store to destinations of copies in the way of a
  /// thread, and those of them that surely store.
  llvm::SmallVector<mlir::Operation *> destinationUses;
  llvm::SmallPtrSet<mlir::Operation *, 4> destinationStores;

private:
  void findGroups(llvm::ArrayRef<mlir::Operation *> allInits);
  void findSources();
  void findReceived();
  void findDestinationUses();
  SyncState run(mlir::Region &region, const SyncState &in);
  void visit(mlir::Operation *op, SyncState &state);
  void visitRegions(mlir::Operation *op, SyncState &state);
  void transfer(mlir::Operation *op, SyncState &state);

  mlir::Region &body;
  bool copiesFence;
  /// Declarations, in the order of their places.
  llvm::SmallVector<mlir::Value> groups, sources;
  llvm::DenseMap<mlir::Operation *, llvm::SmallBitVector> groupsByOp,
      sourcesByCopy, writtenByOp, receivedByOp;
  llvm::DenseMap<mlir::Operation *, SyncState> states;
};

} // namespace tile

#endif // TILE_ANALYSIS_SYNC_FLOW_H
