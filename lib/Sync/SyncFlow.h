// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel has synchronised when it comes to an op: which cluster barriers
// and fences of initialisations come before it on every path, and which threads
// leave before the others are done. Decides nothing.
#ifndef TILE_SYNC_SYNC_FLOW_H
#define TILE_SYNC_SYNC_FLOW_H

#include "lib/Sync/BarrierUses.h"
#include "lib/Sync/SharedPlaces.h"
#include "lib/Sync/SyncGraph.h"

#include "llvm/ADT/DenseSet.h"

namespace tile {

/// How far a cluster barrier has come; the later the worse.
enum class Pending : uint8_t { Done, Arrived, Open };

/// The worst of all paths to a point.
struct SyncState {
  /// No path leads here.
  bool unreached = true;
  /// A cluster barrier since the kernel began: only then do all CTAs run.
  Pending start = Pending::Done;
  /// Whether `start` is done on some path, although the worst one may lack it.
  bool startedOnSomePath = false;
  /// A cluster barrier after which no CTA reaches into another one any more.
  Pending finish = Pending::Done;
  /// Barrier groups with no cluster barrier since their initialisation, and
  /// with half of one; the last place is for groups of which nothing is known.
  llvm::BitVector open, arrived;
  /// Groups whose initialisation no fence follows.
  llvm::BitVector unfenced;

  /// Takes the worse of both, and returns whether that changed anything.
  bool join(const SyncState &other);
};

/// Ops after which a peer may be ahead: uses of peers, waits for barriers, and
/// calls of either.
bool dependsOnPeers(mlir::Operation *op);

/// Whether the body of what `op` calls holds an op of that kind, as far as it
/// is known.
bool calls(mlir::Operation *op,
           llvm::function_ref<bool(mlir::Operation *)> isOne);
/// Whether `op` calls what synchronises in a way that is not followed.
bool callsSynchronisation(mlir::Operation *op);

/// The threads of a CTA, by linear number, that come to `op`, as far as the
/// thread decides; nothing where that is not known.
std::optional<llvm::BitVector> threadsAt(mlir::Operation *op,
                                         mlir::Operation *kernel);

/// Which blocks of a kernel not all come to.
class Divergence {
public:
  /// Whether threads of one CTA may differ in whether, or how often, they
  /// execute `block`.
  bool isDivergent(mlir::Block *block) { return of(block).first; }
  /// Whether CTAs may.
  bool isConditional(mlir::Block *block) { return of(block).second; }

private:
  std::pair<bool, bool> of(mlir::Block *block);
  llvm::DenseMap<mlir::Block *, std::pair<bool, bool>> known;
  llvm::DenseMap<mlir::Region *, std::pair<bool, bool>> branching;
};

/// Threads that leave the kernel while others of their CTA go on: nothing that
/// synchronises comes before their end, and nobody has to wait for them.
struct Leavers {
  SyncBranch branch;
  unsigned arm;
  /// A barrier that the others execute, and that all threads of the CTA must
  /// reach which have not left; null where there is none.
  mlir::Operation *barrier;
  /// Whether at least one thread of each CTA is known to go on.
  bool someStay;
};

class SyncFlow {
public:
  /// With `allLeave`, who leaves early owes no cluster barrier. Without it,
  /// only those do not whom a barrier of the others could not do without, if
  /// they waited for a cluster barrier.
  SyncFlow(mlir::Operation *kernel, bool allLeave);

  const SyncState &before(mlir::Operation *op) const;
  const SyncState &at(unsigned point) const { return states[point]; }
  /// The barrier groups that `op` may use or initialise, as places in
  /// `SyncState::open`.
  llvm::BitVector groupsOf(mlir::Operation *op) const;
  /// Whether a remote use has neither peers that run nor a barrier that they
  /// know.
  bool comesTooEarly(mlir::Operation *remote) const;
  /// Whether the CTA may reach into a peer after `op`.
  bool reachesPeersAfter(mlir::Operation *op) const;
  /// The groups whose initialisation lacks a fence where that matters.
  llvm::BitVector unfencedGroups() const;

  const SyncGraph &points() const { return graph; }
  /// Whether who takes that arm of a branch owes no cluster barrier.
  bool isLeaving(unsigned arm) const { return leaving.contains(arm); }

  /// Ops that reach into a peer, ops that may initialise a barrier which is
  /// used that way, and the ops that end the kernel; in the order of the text.
  llvm::SmallVector<mlir::Operation *> remotes, inits, exits;
  llvm::SmallVector<CopyAsyncOp> copies;
  llvm::SmallVector<StoreAsyncOp> stores;
  /// Ops that use destinations of these in the way of a thread before any peer
  /// can be ahead.
  llvm::SmallVector<mlir::Operation *> earlyUses;
  llvm::SmallVector<Leavers> leavers;

private:
  void findGroups(llvm::ArrayRef<mlir::Operation *> users,
                  llvm::ArrayRef<mlir::Operation *> allInits);
  void findEarlyUses();
  void findLeavers(mlir::Operation *kernel, bool allLeave, bool sharingReturns);
  void run();
  void transfer(mlir::Operation *op, SyncState &state) const;

  mlir::Region &body;
  SyncGraph graph;
  SharedPlaces places;
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> groupsByOp;
  llvm::DenseSet<unsigned> leaving;
  std::vector<bool> remoteAhead;
  std::vector<SyncState> states;
};

} // namespace tile

#endif // TILE_SYNC_SYNC_FLOW_H
