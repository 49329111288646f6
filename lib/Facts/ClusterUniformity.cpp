// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Facts/ClusterUniformity.h"
#include "dialect/TileDialect.h"
#include "lib/Facts/KernelSizes.h"
#include "lib/Facts/Origins.h"
#include "lib/Facts/ValueFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tile;

/// Special registers that differ between threads, warps or CTAs of a cluster;
/// of the block's number see `isUniformBlock`.
static bool tellsApart(Operation *op) {
  if (isa<gpu::ThreadIdOp, gpu::LaneIdOp, gpu::SubgroupIdOp, gpu::GlobalIdOp,
          gpu::ClusterBlockIdOp, gpu::BlockIdOp>(op))
    return true;
  StringRef name = op->getName().getStringRef();
  if (name == "nvvm.elect.sync")
    return true;
  if (!name.consume_front("nvvm.read.ptx.sreg."))
    return false;
  return name.starts_with("tid.") || name.starts_with("ctaid.") ||
         name.starts_with("cluster.ctaid.") || name == "cluster.ctarank" ||
         name == "laneid" || name == "warpid" || name == "smid" ||
         name.starts_with("lanemask") || name.starts_with("clock") ||
         name.starts_with("globaltimer");
}

/// The extent of a cluster along a dimension, where the kernel says it.
static std::optional<int64_t> clusterExtent(Operation *kernel,
                                            gpu::Dimension dimension) {
  auto extents = promisedSizes(kernel).cluster;
  if (!extents)
    return std::nullopt;
  return (*extents)[static_cast<size_t>(dimension)];
}

/// Whether `op` divides the block's number by a multiple of the cluster's
/// extent, or the extent is 1: the CTAs of a cluster are neighbours.
static bool dividesByCluster(Operation *op, Operation *kernel) {
  Value number = op->getNumOperands() == 2 ? op->getOperand(0) : Value();
  while (number && number.getDefiningOp() &&
         isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
             arith::ExtUIOp, arith::ExtSIOp>(number.getDefiningOp()))
    number = number.getDefiningOp()->getOperand(0);
  auto block = number ? number.getDefiningOp<gpu::BlockIdOp>() : nullptr;
  if (!block)
    return false;
  std::optional<int64_t> extent = clusterExtent(kernel, block.getDimension());
  std::optional<int64_t> by = constantOf(op->getOperand(1));
  if (!extent || !by)
    return false;
  if (isa<arith::ShRUIOp, arith::ShRSIOp>(op) && *by >= 0 && *by < 31)
    by = int64_t(1) << *by;
  else if (!isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op))
    return false;
  return *by > 0 && *by % *extent == 0;
}

void ClusterUniformity::push(Value value) {
  if (value && seen.insert(value).second)
    open.push_back(value);
}

void ClusterUniformity::push(ValueRange values) {
  for (Value value : values)
    push(value);
}

Operation *ClusterUniformity::search() {
  while (!open.empty())
    if (Operation *source = step(open.pop_back_val())) {
      open.clear();
      seen.clear();
      return source;
    }
  return nullptr;
}

Operation *ClusterUniformity::sourceOf(Value value) {
  push(value);
  return search();
}

Operation *ClusterUniformity::step(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    pushArgument(argument);
    return nullptr;
  }
  Operation *op = value.getDefiningOp();
  if (auto block = dyn_cast<gpu::BlockIdOp>(op);
      block && clusterExtent(kernel, block.getDimension()) == 1)
    return nullptr;
  if (tellsApart(op))
    return op;
  if (isa<AllReduceOp>(op) || dividesByCluster(op, kernel))
    return nullptr;
  std::optional<SmallVector<Value>> incoming = incomingOf(value);
  if (incoming)
    push(*incoming);
  if (op->getNumRegions() > 0)
    pushBranch(op);
  if (!incoming || op->getNumRegions() == 0)
    push(op->getOperands());
  return nullptr;
}

void ClusterUniformity::pushArgument(BlockArgument argument) {
  Block *block = argument.getOwner();
  Operation *around = block->getParentOp();
  if (block->isEntryBlock()) {
    // An induction variable, or what a loop carries.
    if (around != kernel && isa<LoopLikeOpInterface>(around))
      pushBranch(around);
  } else {
    // Threads meet here that went different ways.
    DominanceInfoNode *node = dominance.getNode(block);
    Block *parted =
        node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    for (Block &other : *block->getParent())
      if (other.getNumSuccessors() > 1 && parted &&
          dominance.dominates(parted, &other) &&
          reachedFrom(&other).contains(block))
        pushBranch(other.getTerminator());
  }
  if (std::optional<SmallVector<Value>> incoming = incomingOf(argument))
    push(*incoming);
}

void ClusterUniformity::pushBranch(Operation *op) {
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    push(loop.getConditionOp().getCondition());
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    for (auto bounds : {loop.getLoopLowerBounds(), loop.getLoopUpperBounds(),
                        loop.getLoopSteps()})
      if (bounds)
        for (OpFoldResult bound : *bounds)
          push(dyn_cast<Value>(bound));
  } else if ((op->getNumRegions() > 1 || op->getNumSuccessors() > 1) &&
             op->getNumOperands() > 0) {
    // A condition comes first; what a terminator forwards does not decide.
    push(op->getOperand(0));
  }
}

const llvm::DenseSet<Block *> &ClusterUniformity::reachedFrom(Block *block) {
  auto [found, isNew] = reached.try_emplace(block);
  if (!isNew)
    return found->second;
  llvm::DenseSet<Block *> all;
  SmallVector<Block *> open{block};
  while (!open.empty())
    for (Block *next : open.pop_back_val()->getSuccessors())
      if (all.insert(next).second)
        open.push_back(next);
  return reached[block] = std::move(all);
}

/// The blocks whose terminators decide whether `block` comes.
SmallVector<Block *> ClusterUniformity::decidingBlocks(Block *block) {
  SmallVector<Block *> deciding, open{block};
  llvm::DenseSet<Block *> met;
  while (!open.empty()) {
    Block *dependent = open.pop_back_val();
    for (Block &other : *block->getParent()) {
      if (other.getNumSuccessors() < 2 ||
          postDominance.properlyPostDominates(dependent, &other) ||
          llvm::none_of(other.getSuccessors(), [&](Block *next) {
            return postDominance.postDominates(dependent, next);
          }))
        continue;
      if (met.insert(&other).second) {
        deciding.push_back(&other);
        open.push_back(&other);
      }
    }
  }
  return deciding;
}

std::optional<ClusterUniformity::Divergence>
ClusterUniformity::divergenceAround(Operation *op) {
  for (; op != kernel; op = op->getParentOp()) {
    for (Block *block : decidingBlocks(op->getBlock())) {
      pushBranch(block->getTerminator());
      if (Operation *source = search())
        return Divergence{block->getTerminator(), source};
    }
    Operation *around = op->getParentOp();
    if (around == kernel)
      break;
    pushBranch(around);
    if (Operation *source = search())
      return Divergence{around, source};
  }
  return std::nullopt;
}
