// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/ProxyFlow.h"
#include "lib/Sync/SyncFlow.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/ScopeExit.h"

namespace tile {
#define GEN_PASS_DEF_TILEINSERTSYNC
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

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

/// `op`, or the outermost loop around it in its branch: one fence after a loop
/// does for all rounds.
static Operation *outsideLoops(Operation *op, Region &body) {
  Operation *result = op;
  while (result->getParentRegion() != &body &&
         isa<LoopLikeOpInterface>(result->getParentOp()))
    result = result->getParentOp();
  return result;
}

/// After the last initialisation of each block, by the threads that
/// initialise.
static void insertInitFences(Operation *kernel) {
  SyncFlow flow(kernel, /*allLeave=*/false);
  llvm::BitVector missing = flow.unfencedGroups();
  llvm::MapVector<Block *, Operation *> last;
  for (Operation *init : flow.inits) {
    if (!missing.anyCommon(flow.groupsOf(init)))
      continue;
    Operation *anchor = outsideLoops(init, kernel->getRegion(0));
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

/// Whether `builder` could be moved after the initialisations, and what else
/// comes `earlier`, in `block`, or to its start.
static bool setPointIn(OpBuilder &builder, Block *block,
                       ArrayRef<Operation *> inits,
                       ArrayRef<Operation *> earlier = {}) {
  Operation *last = nullptr;
  auto moveAfter = [&](Operation *anchor) {
    if (!last || last->isBeforeInBlock(anchor))
      last = anchor;
  };
  for (Operation *init : inits)
    if (Operation *anchor = block->findAncestorOpInBlock(*init))
      moveAfter(anchor);
  for (Operation *op : earlier)
    if (Operation *anchor = block->findAncestorOpInBlock(*op);
        anchor && !holdsDependence(anchor))
      moveAfter(anchor);
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

static Operation *findTooEarly(Operation *kernel) {
  SyncFlow flow(kernel, /*allLeave=*/false);
  auto found = llvm::find_if(flow.remotes, [&](Operation *remote) {
    return flow.comesTooEarly(remote);
  });
  return found == flow.remotes.end() ? nullptr : *found;
}

/// Builds a cluster barrier after `inits` and `earlier`, if every use of a
/// peer then follows it.
static bool buildStartAfter(Operation *kernel, Region &region,
                            ArrayRef<Operation *> inits,
                            ArrayRef<Operation *> earlier) {
  OpBuilder builder(kernel->getContext());
  SmallVector<Operation *> all(inits);
  llvm::append_range(all, earlier);
  for (Block *block : blocksAfter(all, kernel, region)) {
    if (!setPointIn(builder, block, inits, earlier))
      continue;
    buildClusterBarrier(builder, kernel->getLoc());
    if (!findTooEarly(kernel))
      return true;
    // Not on the way to every use: take it back.
    Operation *after = &*builder.getInsertionPoint();
    after->getPrevNode()->erase();
    after->getPrevNode()->erase();
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
  if ((!here.empty() && buildStartAfter(kernel, region, inits, here)) ||
      buildStartAfter(kernel, region, inits, {}))
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
  // Threads that leave whom the others must not wait for take no part.
  SyncFlow flow(kernel, /*allLeave=*/false);
  bool leaves = llvm::any_of(flow.leavers, [&](const Leavers &leavers) {
    return leavers.branch.op == branches &&
           flow.isLeaving(leavers.branch.arms[leavers.arm]);
  });
  if (!leaves) {
    if (other->empty()) {
      builder.createBlock(other);
      scf::YieldOp::create(builder, branches.getLoc());
    }
    builder.setInsertionPointToStart(&other->front());
    buildClusterBarrier(builder, kernel->getLoc());
  }
  return buildStart(kernel, *initialises, inits, earlier);
}

/// The cluster barrier before the first op that reaches into a peer.
static LogicalResult insertStart(Operation *kernel) {
  SyncFlow flow(kernel, /*allLeave=*/false);
  auto remote = llvm::find_if(flow.remotes, [&](Operation *remote) {
    return flow.comesTooEarly(remote);
  });
  if (remote == flow.remotes.end() ||
      buildStart(kernel, kernel->getRegion(0), flow.inits, flow.earlyUses))
    return success();
  InFlightDiagnostic diag = (*remote)->emitOpError(
      "must follow a cluster barrier, and there is no place for one that every "
      "thread passes after the barrier's initialisation and before this use");
  diag.attachNote() << "initialise barriers at the top of the kernel, outside "
                       "the loops that use them";
  return diag;
}

/// Where threads that owe a fence next tell others how far they have come, and
/// before copies.
static void insertProxyFences(Operation *kernel, bool fencesReads) {
  SyncFlow flow(kernel, /*allLeave=*/false);
  for (Operation *op : missingProxyFences(flow, fencesReads)) {
    OpBuilder builder(op);
    buildProxyFence(builder, op->getLoc());
  }
}

/// Refuses kernels in which threads leave early whom a barrier of the others
/// would wait for, if they waited for a cluster barrier.
static LogicalResult checkLeavers(const SyncFlow &flow) {
  for (const Leavers &leavers : flow.leavers) {
    const SyncState &state = flow.at(leavers.branch.arms[leavers.arm]);
    if (leavers.someStay || state.unreached || state.finish == Pending::Done)
      continue;
    InFlightDiagnostic diag = leavers.barrier->emitOpError(
        "waits for all threads of the CTA that have not left, so that those "
        "which leave early cannot wait for a cluster barrier, and a CTA of "
        "which all leave must");
    diag.attachNote(leavers.branch.op->getLoc())
        << "decide here by gpu.thread_id and constants, such that some thread "
           "of each CTA stays, in a kernel with known_block_size; or let all "
           "threads come to the barrier";
    return diag;
  }
  return success();
}

/// Where a branch of which some threads leave is done for those that stay.
static SmallVector<Operation *> endsOfStaying(const SyncFlow &flow,
                                              Operation *exit) {
  SmallVector<Operation *> ends;
  for (const Leavers &leavers : flow.leavers)
    for (auto [number, arm] : llvm::enumerate(leavers.branch.arms)) {
      Operation *op = leavers.branch.op;
      if (flow.isLeaving(arm) || op->getNumRegions() == 0 ||
          op->getRegion(number).empty())
        continue;
      Operation *end = op->getRegion(number).back().getTerminator();
      if (exit->getParentRegion()->isAncestor(end->getParentRegion()))
        ends.push_back(end);
    }
  if (!ends.empty() || flow.leavers.empty())
    return ends;
  // In blocks: where the ways of those that stay meet that of those that left.
  for (Block *before : exit->getBlock()->getPredecessors()) {
    Operation *end = before->getTerminator();
    bool comesFromBranch =
        llvm::any_of(flow.leavers, [&](const Leavers &leavers) {
          return leavers.branch.op == end;
        });
    if (!comesFromBranch && end->getNumSuccessors() == 1)
      ends.push_back(end);
  }
  return ends;
}

/// Whether threads that left come to `exit`, too.
static bool isSharedWithLeavers(const SyncFlow &flow, Operation *exit) {
  std::vector<bool> leads = flow.points().leadsTo(
      [&](const SyncPoint &point) { return point.op == exit; });
  return llvm::any_of(flow.leavers, [&](const Leavers &leavers) {
    return llvm::any_of(leavers.branch.arms, [&](unsigned arm) {
      return flow.isLeaving(arm) && leads[arm];
    });
  });
}

/// The cluster barrier before each end of the kernel. A thread that leaves
/// before the first one takes part in that, too, or its arrival would be
/// counted for it; unless others of its CTA stay who must not wait for it.
static LogicalResult insertFinish(Operation *kernel) {
  SyncFlow flow(kernel, /*allLeave=*/false);
  if (failed(checkLeavers(flow)))
    return failure();
  for (Operation *exit : flow.exits) {
    const SyncState &state = flow.before(exit);
    if (state.unreached || state.finish == Pending::Done)
      continue;
    SmallVector<Operation *> places{exit};
    if (isSharedWithLeavers(flow, exit))
      places = endsOfStaying(flow, exit);
    for (Operation *place : places) {
      OpBuilder builder(place);
      if (state.finish == Pending::Arrived) {
        NVVM::ClusterWaitOp::create(builder, exit->getLoc(), nullptr);
        continue;
      }
      if (state.start != Pending::Done) {
        if (state.startedOnSomePath) {
          InFlightDiagnostic diag = exit->emitOpError(
              "must be reached either before or after the first cluster "
              "barrier, got paths of both kinds");
          diag.attachNote()
              << "initialise barriers before the branch that leaves "
                 "early, or give it a return of its own";
          return diag;
        }
        buildClusterBarrier(builder, exit->getLoc());
      }
      buildClusterBarrier(builder, exit->getLoc());
    }
  }
  SyncFlow done(kernel, /*allLeave=*/false);
  for (Operation *exit : done.exits) {
    const SyncState &state = done.before(exit);
    if (state.unreached || state.finish == Pending::Done)
      continue;
    InFlightDiagnostic diag = exit->emitOpError(
        "must follow a final cluster barrier, and there is no place for one "
        "that the threads which stay pass and those which leave early do not");
    diag.attachNote() << "give those that leave early a return of their own";
    return diag;
  }
  return success();
}

static LogicalResult insertSync(Operation *kernel, bool fencesReads) {
  if (kernel->getRegion(0).empty())
    return success();
  SyncFlow flow(kernel, /*allLeave=*/false);
  if (flow.remotes.empty()) {
    // Copies between the CTA's own memory and global memory need no peer.
    if (!flow.copies.empty()) {
      insertInitFences(kernel);
      insertProxyFences(kernel, fencesReads);
    }
    return success();
  }
  insertInitFences(kernel);
  if (failed(insertStart(kernel)))
    return failure();
  // Where a cluster barrier was missing altogether, no arrive showed the
  // missing fence.
  insertInitFences(kernel);
  insertProxyFences(kernel, fencesReads);
  return insertFinish(kernel);
}

namespace {
struct InsertSync : tile::impl::TileInsertSyncBase<InsertSync> {
  using TileInsertSyncBase::TileInsertSyncBase;

  void runOnOperation() override {
    unsigned long visitedBefore = SyncGraph::visits();
    llvm::scope_exit count(
        [&] { visits += SyncGraph::visits() - visitedBefore; });
    SmallVector<Operation *> kernels;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (!op->hasAttr(kInsertSyncName))
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
      if (failed(insertSync(kernel, warFences && fencesReads(kernel))))
        return signalPassFailure();
  }
};
} // namespace
