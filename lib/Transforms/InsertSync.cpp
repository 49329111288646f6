// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/SyncFlow.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tile {
#define GEN_PASS_DEF_TILEINSERTSYNC
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// The attribute by which a kernel asks for this pass.
static constexpr StringLiteral kInsertSyncAttrName = "tile.insert_sync";

/// Nothing is known about which threads of a warp come here, so no `aligned`
/// form.
static void buildClusterBarrier(OpBuilder &builder, Location loc) {
  NVVM::ClusterArriveOp::create(builder, loc, nullptr);
  NVVM::ClusterWaitOp::create(builder, loc, nullptr);
}

static void buildProxyFence(OpBuilder &builder, Location loc) {
  MLIRContext *context = builder.getContext();
  NVVM::FenceProxyOp::create(
      builder, loc,
      NVVM::ProxyKindAttr::get(context, NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(context, NVVM::SharedSpace::shared_cta));
}

/// `op`, or the outermost loop around it in its branch: one fence behind a loop
/// does for all rounds.
static Operation *outsideLoops(Operation *op, Region &body) {
  Operation *result = op;
  while (result->getParentRegion() != &body &&
         isa<LoopLikeOpInterface>(result->getParentOp()))
    result = result->getParentOp();
  return result;
}

/// Behind the last initialisation of each block, by the threads that
/// initialise.
static void insertInitFences(Region &body) {
  SyncFlow flow(body);
  llvm::SmallBitVector missing;
  body.walk([&](Operation *op) {
    if (isClusterArrive(op) || reachesIntoPeer(op))
      missing |= flow.before(op).unfenced;
  });
  llvm::MapVector<Block *, Operation *> last;
  for (Operation *init : flow.inits) {
    if (!missing.anyCommon(flow.groupsOf(init)))
      continue;
    Operation *anchor = outsideLoops(init, body);
    Operation *&known = last[anchor->getBlock()];
    if (!known || known->isBeforeInBlock(anchor))
      known = anchor;
  }
  for (auto [block, anchor] : last) {
    OpBuilder builder(anchor->getContext());
    builder.setInsertionPointAfter(anchor);
    NVVM::FenceMbarrierInitOp::create(builder, anchor->getLoc());
  }
}

/// Whether `op` holds one that a peer may be ahead of.
static bool holdsDependence(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return dependsOnPeers(inner) ? WalkResult::interrupt()
                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `builder` could be moved behind the initialisations, and what else
/// comes `earlier`, in `block`, or to its start.
static bool setPointIn(OpBuilder &builder, Block *block,
                       ArrayRef<Operation *> inits,
                       ArrayRef<Operation *> earlier = {}) {
  Operation *last = nullptr;
  auto moveBehind = [&](Operation *anchor) {
    if (!last || last->isBeforeInBlock(anchor))
      last = anchor;
  };
  for (Operation *init : inits)
    if (Operation *anchor = block->findAncestorOpInBlock(*init))
      moveBehind(anchor);
  for (Operation *op : earlier)
    if (Operation *anchor = block->findAncestorOpInBlock(*op);
        anchor && !holdsDependence(anchor))
      moveBehind(anchor);
  if (!last) {
    builder.setInsertionPointToStart(block);
    return true;
  }
  while (last->getNextNode() && isInitFence(last->getNextNode()))
    last = last->getNextNode();
  if (last->hasTrait<OpTrait::IsTerminator>())
    return false;
  builder.setInsertionPointAfter(last);
  return true;
}

/// The blocks that every thread passes once it has initialised, the earliest
/// first.
static SmallVector<Block *> blocksAfter(ArrayRef<Operation *> inits,
                                        Operation *kernel, Region &body) {
  if (inits.empty() || body.hasOneBlock())
    return {&body.front()};
  PostDominanceInfo postDominance(kernel);
  Block *common = body.findAncestorBlockInRegion(*inits.front()->getBlock());
  for (Operation *init : inits)
    if (common)
      common = postDominance.findNearestCommonDominator(
          common, body.findAncestorBlockInRegion(*init->getBlock()));
  SmallVector<Block *> blocks;
  if (!common)
    return blocks;
  for (DominanceInfoNode *node = postDominance.getNode(common);
       node && node->getBlock(); node = node->getIDom())
    blocks.push_back(node->getBlock());
  return blocks;
}

static Operation *findTooEarly(Region &body) {
  SyncFlow flow(body);
  auto found = llvm::find_if(flow.remotes, [&](Operation *remote) {
    return flow.comesTooEarly(remote);
  });
  return found == flow.remotes.end() ? nullptr : *found;
}

/// Builds a cluster barrier behind `inits` and `earlier`, if every use of a
/// peer then follows it.
static bool buildStartBehind(Operation *kernel, Region &region,
                             ArrayRef<Operation *> inits,
                             ArrayRef<Operation *> earlier) {
  OpBuilder builder(kernel->getContext());
  SmallVector<Operation *> all(inits);
  llvm::append_range(all, earlier);
  for (Block *block : blocksAfter(all, kernel, region)) {
    if (!setPointIn(builder, block, inits, earlier))
      continue;
    buildClusterBarrier(builder, kernel->getLoc());
    if (!findTooEarly(kernel->getRegion(0)))
      return true;
    // Not on the way to every use: take it back.
    Operation *behind = &*builder.getInsertionPoint();
    behind->getPrevNode()->erase();
    behind->getPrevNode()->erase();
  }
  return false;
}

/// Builds the first cluster barrier in `region`, and reports whether every use
/// then follows it. Where only one branch of an `scf.if` initialises and uses
/// barriers, the other one takes part as well.
static bool buildStart(Operation *kernel, Region &region,
                       ArrayRef<Operation *> inits,
                       ArrayRef<Operation *> earlier) {
  OpBuilder builder(kernel->getContext());
  SmallVector<Operation *> here;
  for (Operation *op : earlier)
    if (region.isAncestor(op->getParentRegion()))
      here.push_back(op);
  if ((!here.empty() && buildStartBehind(kernel, region, inits, here)) ||
      buildStartBehind(kernel, region, inits, {}))
    return true;
  if (inits.empty())
    return false;
  auto branches =
      dyn_cast<scf::IfOp>(region.findAncestorOpInRegion(*inits.front()));
  if (!branches)
    return false;
  Region *initialises = nullptr, *other = nullptr;
  for (Region &branch : branches->getRegions()) {
    bool holdsAll = llvm::all_of(inits, [&](Operation *init) {
      return branch.isAncestor(init->getParentRegion());
    });
    (holdsAll ? initialises : other) = &branch;
  }
  if (!initialises)
    return false;
  if (other->empty()) {
    builder.createBlock(other);
    scf::YieldOp::create(builder, branches.getLoc());
  }
  builder.setInsertionPointToStart(&other->front());
  buildClusterBarrier(builder, kernel->getLoc());
  return buildStart(kernel, *initialises, inits, earlier);
}

/// What uses destinations of copies before any peer can be ahead: a peer may
/// copy into them once it has passed the first cluster barrier.
static SmallVector<Operation *> findEarlyUses(const SyncFlow &flow,
                                              Region &body) {
  SmallVector<Operation *> dependences;
  body.walk([&](Operation *op) {
    if (dependsOnPeers(op))
      dependences.push_back(op);
  });
  return llvm::filter_to_vector(flow.destinationUses, [&](Operation *use) {
    return llvm::none_of(
        dependences, [&](Operation *op) { return mayFollow(op, use, body); });
  });
}

/// The cluster barrier before the first op that reaches into a peer.
static LogicalResult insertStart(Operation *kernel, Region &body) {
  Operation *remote = findTooEarly(body);
  if (!remote)
    return success();
  SyncFlow flow(body);
  if (buildStart(kernel, body, flow.inits, findEarlyUses(flow, body)))
    return success();
  InFlightDiagnostic diag = remote->emitOpError(
      "must follow a cluster barrier, and there is no place for one that every "
      "thread passes after the barrier's initialisation and before this use");
  diag.attachNote() << "initialise barriers at the top of the kernel, outside "
                       "the loops that use them";
  return diag;
}

/// Where the threads that wrote a source next tell others of it, and before the
/// copy itself.
static void insertProxyFences(Region &body) {
  auto insertBefore = [&](bool copiesFence, auto isNeeded) {
    // One fence changes what the ops behind it need: look again after each.
    for (bool changed = true; changed;) {
      SyncFlow flow(body, copiesFence);
      changed = body.walk([&](Operation *op) {
                      if (!isNeeded(op, flow))
                        return WalkResult::advance();
                      OpBuilder builder(op);
                      buildProxyFence(builder, op->getLoc());
                      return WalkResult::interrupt();
                    })
                    .wasInterrupted();
    }
  };
  // Where the store and the copy are neighbours, the copy gets the fence,
  // below.
  insertBefore(true, [&](Operation *op, const SyncFlow &flow) {
    return signalsThreads(op) &&
           llvm::any_of(flow.copies, [&](CopyAsyncOp copy) {
             return flow.needsProxyFence(copy, op) && mayFollow(op, copy, body);
           });
  });
  // Likewise destinations, before peers hear that they may be copied into.
  insertBefore(false, [&](Operation *op, const SyncFlow &flow) {
    if (!signalsThreads(op) || !flow.before(op).overwritten)
      return false;
    return body
        .walk([&](Operation *other) {
          bool isHeard = flow.announces(other) &&
                         (op == other || mayFollow(op, other, body));
          return isHeard ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  });
  insertBefore(false, [&](Operation *op, const SyncFlow &flow) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    return copy && flow.needsProxyFence(copy, op);
  });
}

/// The cluster barrier before each end of the kernel. A thread that leaves
/// before the first one takes part in that, too, or its arrival would be
/// counted for it.
static LogicalResult insertFinish(Region &body) {
  SyncFlow flow(body);
  for (Operation *exit : flow.exits) {
    const SyncState &state = flow.before(exit);
    if (state.unreached || state.finish == Pending::Done)
      continue;
    OpBuilder builder(exit);
    if (state.finish == Pending::Arrived) {
      NVVM::ClusterWaitOp::create(builder, exit->getLoc(), nullptr);
      continue;
    }
    if (state.start != Pending::Done) {
      if (state.startedOnSomePath) {
        InFlightDiagnostic diag = exit->emitOpError(
            "must be reached either before or after the first cluster barrier, "
            "got paths of both kinds");
        diag.attachNote()
            << "initialise barriers before the branch that leaves "
               "early, or give it a return of its own";
        return diag;
      }
      buildClusterBarrier(builder, exit->getLoc());
    }
    buildClusterBarrier(builder, exit->getLoc());
  }
  return success();
}

static LogicalResult insertSync(Operation *kernel) {
  Region &body = kernel->getRegion(0);
  if (body.empty() || SyncFlow(body).remotes.empty())
    return success();
  insertInitFences(body);
  if (failed(insertStart(kernel, body)))
    return failure();
  // Where a cluster barrier was missing altogether, no arrive showed the
  // missing fence.
  insertInitFences(body);
  insertProxyFences(body);
  return insertFinish(body);
}

namespace {
struct InsertSync : tile::impl::TileInsertSyncBase<InsertSync> {
  void runOnOperation() override {
    SmallVector<Operation *> kernels;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (!op->hasAttr(kInsertSyncAttrName))
        return WalkResult::advance();
      auto func = dyn_cast<gpu::GPUFuncOp>(op);
      if ((func && func.isKernel()) || isa<gpu::LaunchOp>(op)) {
        kernels.push_back(op);
        return WalkResult::advance();
      }
      op->emitOpError("has the attribute 'tile.insert_sync', which is for "
                      "kernels only")
              .attachNote()
          << "put it on the gpu.func of the kernel or on the gpu.launch";
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (Operation *kernel : kernels)
      if (failed(insertSync(kernel)))
        return signalPassFailure();
  }
};
} // namespace
