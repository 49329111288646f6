// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/BarrierCounts.h"
#include "lib/Sync/BarrierInits.h"
#include "lib/Sync/BulkGroups.h"
#include "lib/Sync/SyncFlow.h"
#include "lib/Sync/TransactionBytes.h"
#include "lib/Sync/UnfencedUses.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKSYNC
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// Whether `remote` comes before a cluster barrier whichever of its barrier
/// groups it uses.
static bool mustComeTooEarly(const SyncFlow &flow, Operation *remote,
                             const llvm::BitVector &initialised) {
  if (!flow.comesTooEarly(remote))
    return false;
  const SyncState &state = flow.before(remote);
  if (state.start != Pending::Done)
    return true;
  llvm::BitVector pending = state.open, groups = flow.groupsOf(remote);
  pending |= state.arrived;
  pending &= initialised;
  return !groups.test(pending);
}

/// The first op that may reach into a peer before that one runs and knows its
/// barrier.
static void checkStart(const SyncFlow &flow, Report report) {
  // Groups of which an initialisation names no other one.
  llvm::BitVector initialised;
  for (Operation *init : flow.inits)
    if (llvm::BitVector groups = flow.groupsOf(init); groups.count() == 1)
      initialised |= groups;
  for (Operation *remote : flow.remotes) {
    if (!mustComeTooEarly(flow, remote, initialised))
      continue;
    InFlightDiagnostic diag = report(remote);
    diag << "comes on some path before any cluster barrier"
         << (flow.before(remote).start == Pending::Done
                 ? " after the initialisation of its barrier"
                 : "");
    diag.attachNote() << "let all threads execute nvvm.cluster.arrive and "
                         "nvvm.cluster.wait after the initialisation, or give "
                         "the kernel tile.insert_sync";
    return;
  }
}

static void checkInitFences(const SyncFlow &flow, Report report) {
  llvm::BitVector missing = flow.unfencedGroups(), used;
  for (Operation *remote : flow.remotes)
    if (llvm::BitVector groups = flow.groupsOf(remote); !groups.all())
      used |= groups;
  for (Operation *init : flow.inits) {
    llvm::BitVector group = flow.groupsOf(init);
    if (group.count() != 1 || !group.anyCommon(missing) ||
        !group.anyCommon(used))
      continue;
    missing.reset(group);
    InFlightDiagnostic diag = report(init);
    diag << "is followed by no fence on some path to the cluster barrier";
    diag.attachNote() << "execute nvvm.fence.mbarrier.init right after it, or "
                         "give the kernel tile.insert_sync";
  }
}

static void checkProxyFences(Operation *kernel, const SyncFlow &flow,
                             Report report) {
  for (auto [kind, use, meets] :
       unfencedUses(kernel, flow, fencesReads(kernel))) {
    InFlightDiagnostic diag = report(meets);
    StringRef threads = "store";
    if (kind == UnfencedUse::Stored) {
      diag << "reads a source that was stored to, with no fence for the async "
              "proxy after the store";
    } else if (kind == UnfencedUse::Received) {
      threads = "wait";
      diag << "reads a source that came by st_async, with no fence for the "
              "async proxy after the wait";
    } else {
      threads = "load";
      diag << "lets a peer copy over what was loaded, with no fence for the "
              "async proxy after the load";
    }
    diag.attachNote(use->getLoc())
        << "let the threads that " << threads
        << " here execute nvvm.fence.proxy after it, or give the kernel "
           "tile.insert_sync";
  }
}

static void checkBulkGroups(Operation *kernel, const SyncFlow &flow,
                            Report report) {
  for (auto [kind, copy, by] : looseStores(kernel, flow)) {
    InFlightDiagnostic diag = report(copy);
    switch (kind) {
    case LooseStore::NotCommitted:
      diag << "is committed to no bulk group";
      diag.attachNote() << "let the threads that execute it execute "
                           "nvvm.cp.async.bulk.commit.group after it, and wait "
                           "with nvvm.cp.async.bulk.wait_group";
      break;
    case LooseStore::NotWaitedFor:
      diag << "may still read its source when the kernel ends";
      diag.attachNote() << "let the threads that commit it execute "
                           "nvvm.cp.async.bulk.wait_group 0 {read} before the "
                           "end";
      break;
    case LooseStore::CommittedByFewer:
    case LooseStore::WaitedForByFewer:
      diag << "belongs to a bulk group of the thread that issues it, and fewer "
              "threads "
           << (kind == LooseStore::CommittedByFewer ? "commit" : "wait for")
           << " one than execute it";
      diag.attachNote(by->getLoc())
          << "let all threads that execute the copy execute the commit and the "
             "wait";
      break;
    }
  }
}

static void checkFinish(const SyncFlow &flow, Report report) {
  for (Operation *exit : flow.exits) {
    const SyncState &state = flow.before(exit);
    if (state.unreached || state.finish == Pending::Done)
      continue;
    InFlightDiagnostic diag = report(exit);
    diag << "ends the kernel on some path without a final cluster barrier, "
            "while a peer may still use the shared memory of this CTA";
    diag.attachNote() << "let all threads execute nvvm.cluster.arrive and "
                         "nvvm.cluster.wait before it, or give the kernel "
                         "tile.insert_sync";
  }
}

/// Ops through which an address stays the same address.
static bool keepsAddress(Operation *op) {
  return isa<LLVM::PtrToIntOp, LLVM::IntToPtrOp, LLVM::AddrSpaceCastOp,
             LLVM::GEPOp, LLVM::BitcastOp, UnrealizedConversionCastOp,
             arith::IndexCastOp, arith::IndexCastUIOp>(op);
}

/// Local forms of mbarrier instructions on an address of a peer: the assembler
/// takes them, and they fault or wait for ever.
static void checkMappedBarriers(Operation *kernel, Report report) {
  kernel->walk([&](NVVM::MapaOp mapa) {
    SmallVector<Value> open{mapa.getResult()};
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (!open.empty())
      for (Operation *user : open.pop_back_val().getUsers()) {
        if (!seen.insert(user).second)
          continue;
        if (keepsAddress(user)) {
          llvm::append_range(open, user->getResults());
          continue;
        }
        StringRef name = user->getName().getStringRef();
        if (!name.consume_front("nvvm.mbarrier."))
          continue;
        auto type =
            dyn_cast<LLVM::LLVMPointerType>(user->getOperand(0).getType());
        bool isRemoteForm = type && type.getAddressSpace() == 7;
        if (name.contains("wait")) {
          InFlightDiagnostic diag = report(user);
          diag << "must wait on a barrier of its own CTA, got a mapped address";
          diag.attachNote(mapa.getLoc())
              << "wait for the CTA's own barrier and let the peer arrive on it "
                 "with tile.arrive";
        } else if (!isRemoteForm) {
          InFlightDiagnostic diag = report(user);
          diag << "must take a pointer into the cluster's shared memory, "
                  "!llvm.ptr<7>, for the barrier of a peer, got "
               << user->getOperand(0).getType();
          diag.attachNote(mapa.getLoc()) << "arrive on it with tile.arrive";
        }
      }
  });
}

static void checkKernel(Operation *kernel, Report report) {
  if (kernel->getRegion(0).empty())
    return;
  SyncFlow flow(kernel, /*allLeave=*/true);
  if (!flow.remotes.empty()) {
    checkStart(flow, report);
    checkInitFences(flow, report);
  }
  if (!flow.remotes.empty() || !flow.copies.empty())
    checkProxyFences(kernel, flow, report);
  if (!flow.remotes.empty())
    checkFinish(flow, report);
  checkBulkGroups(kernel, flow, report);
  KernelSizes sizes = knownSizes(kernel);
  checkInitialisedUses(flow.points(), sizes, report);
  for (const BarrierUses &uses : collectBarrierUses(kernel)) {
    checkInits(uses, report);
    checkTransactionBytes(uses, sizes, report);
    checkArrivalCounts(uses, sizes, report);
    checkParities(uses, report);
  }
  checkMappedBarriers(kernel, report);
}

namespace {
struct CheckSync : tile::impl::TileCheckSyncBase<CheckSync> {
  using TileCheckSyncBase::TileCheckSyncBase;

  void runOnOperation() override {
    bool failed = false;
    unsigned long visitedBefore = SyncGraph::visits();
    auto report = [&](Operation *op) {
      // Not at the op itself: MLIR would print it, numbering all of the kernel.
      InFlightDiagnostic diag =
          error ? emitError(op->getLoc()) : emitWarning(op->getLoc());
      failed |= error;
      diag << "'" << op->getName() << "' op ";
      return diag;
    };
    getOperation()->walk([&](Operation *op) {
      auto func = dyn_cast<gpu::GPUFuncOp>(op);
      if ((func && func.isKernel()) || isa<gpu::LaunchOp>(op))
        checkKernel(op, report);
    });
    visits += SyncGraph::visits() - visitedBefore;
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
