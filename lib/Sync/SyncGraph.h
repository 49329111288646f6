// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of a kernel that matter to synchronisation, as points of a graph:
// structured control flow and blocks look the same to who follows it.
#ifndef TILE_SYNC_SYNC_GRAPH_H
#define TILE_SYNC_SYNC_GRAPH_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace tile {

/// A point of a thread's way: before an op, or where ways part or meet.
struct SyncPoint {
  /// Null where ways part or meet.
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned, 2> next, previous;
};

/// Where ways part: an arm is the first point of a way that no other one leads
/// to.
struct SyncBranch {
  mlir::Operation *op;
  /// What decides; null where that is not one value.
  mlir::Value condition;
  /// In the order of the regions or successors of `op`.
  llvm::SmallVector<unsigned, 2> arms;
};

class SyncGraph {
public:
  /// Ops for which `matters` holds become points, in the order of the text.
  SyncGraph(mlir::Region &body,
            llvm::function_ref<bool(mlir::Operation *)> matters);

  llvm::ArrayRef<SyncPoint> points() const { return all; }
  llvm::ArrayRef<SyncBranch> branches() const { return parted; }
  /// The point of `op`, which matters.
  unsigned at(mlir::Operation *op) const { return numbers.lookup(op); }
  bool holds(mlir::Operation *op) const { return numbers.count(op); }

  /// Whether a point for which `isGoal` holds is at or ahead of each point.
  std::vector<bool>
  leadsTo(llvm::function_ref<bool(const SyncPoint &)> isGoal) const;
  /// Whether such a point comes before each point, itself not counted.
  std::vector<bool>
  comesFrom(llvm::function_ref<bool(const SyncPoint &)> isGoal) const;

  /// Repeats `visit` over all points until it changes nothing any more.
  void forwards(llvm::function_ref<bool(unsigned)> visit) const;
  void backwards(llvm::function_ref<bool(unsigned)> visit) const;
  /// How often `forwards` and `backwards` have visited a point, in all graphs
  /// of this thread: the cost of the analyses.
  static unsigned long visits();

private:
  unsigned add(mlir::Operation *op, llvm::ArrayRef<unsigned> previous);
  void connect(unsigned from, unsigned to);
  void build(mlir::Region &region, unsigned entry,
             llvm::SmallVectorImpl<unsigned> &exits,
             llvm::function_ref<bool(mlir::Operation *)> matters);
  unsigned buildRegions(mlir::Operation *op, unsigned entry,
                        llvm::function_ref<bool(mlir::Operation *)> matters);

  std::vector<SyncPoint> all;
  std::vector<SyncBranch> parted;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
};

} // namespace tile

#endif // TILE_SYNC_SYNC_GRAPH_H
