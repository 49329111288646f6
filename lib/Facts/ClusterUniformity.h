// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values are not the same in all threads of a cluster, and what an op's
// execution depends on.
#ifndef TILE_FACTS_CLUSTER_UNIFORMITY_H
#define TILE_FACTS_CLUSTER_UNIFORMITY_H

#include "mlir/IR/Dominance.h"
#include "mlir/IR/ValueRange.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <string>

namespace tile {

/// Follows values of a kernel to what tells threads or CTAs of a cluster apart,
/// through arithmetic, branches and loops. Memory is not followed: a load
/// differs where its address does.
class ClusterUniformity {
public:
  explicit ClusterUniformity(mlir::Operation *kernel) : kernel(kernel) {}

  /// What tells `value` apart in threads of one cluster, as an op that gives a
  /// thread or a CTA its number; null where none is seen.
  mlir::Operation *sourceOf(mlir::Value value);

  /// A branch or a loop on which it depends whether, or how often, a thread
  /// executes an op, and what makes threads differ in it.
  struct Divergence {
    mlir::Operation *branch;
    mlir::Operation *source;
  };
  std::optional<Divergence> divergenceAround(mlir::Operation *op);

private:
  void push(mlir::Value value);
  void push(mlir::ValueRange values);
  /// Goes on with what decides which way threads go at `op`, an op with regions
  /// or a terminator.
  void pushBranch(mlir::Operation *op);
  void pushArgument(mlir::BlockArgument argument);
  /// What tells `value` itself apart; goes on with what it is made of.
  mlir::Operation *step(mlir::Value value);
  mlir::Operation *search();
  llvm::SmallVector<mlir::Block *> decidingBlocks(mlir::Block *block);
  /// The blocks that are reached from `block` by one branch or more.
  const llvm::DenseSet<mlir::Block *> &reachedFrom(mlir::Block *block);

  mlir::Operation *kernel;
  mlir::DominanceInfo dominance;
  mlir::PostDominanceInfo postDominance;
  llvm::SmallVector<mlir::Value> open;
  /// Values that were looked at and are the same everywhere, as far as seen.
  llvm::DenseSet<mlir::Value> seen;
  llvm::DenseMap<mlir::Block *, llvm::DenseSet<mlir::Block *>> reached;
};

} // namespace tile

#endif // TILE_FACTS_CLUSTER_UNIFORMITY_H
