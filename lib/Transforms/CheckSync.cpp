// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/BarrierCounts.h"
#include "lib/Analysis/SourceWrites.h"
#include "lib/Analysis/SyncFlow.h"
#include "lib/Analysis/TransactionBytes.h"
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
static bool surelyComesTooEarly(const SyncFlow &flow, Operation *remote) {
  if (!flow.comesTooEarly(remote))
    return false;
  const SyncState &state = flow.before(remote);
  return state.start != Pending::Done ||
         llvm::all_of(flow.groupsOf(remote).set_bits(), [&](unsigned group) {
           return state.groups[group] != Pending::Done &&
                  llvm::any_of(flow.inits, [&](Operation *init) {
                    llvm::SmallBitVector groups = flow.groupsOf(init);
                    return groups.count() == 1 && groups.test(group);
                  });
         });
}

/// The first op that reaches into a peer before that one surely runs and knows
/// its barrier.
static void checkStart(const SyncFlow &flow, Report report) {
  for (Operation *remote : flow.remotes) {
    if (!surelyComesTooEarly(flow, remote))
      continue;
    InFlightDiagnostic diag = report(remote);
    diag << "must follow a cluster barrier "
         << (flow.before(remote).start == Pending::Done
                 ? "behind the initialisation of its barrier"
                 : "since the kernel began")
         << ", got a path without one";
    diag.attachNote() << "let all threads execute nvvm.cluster.arrive and "
                         "nvvm.cluster.wait behind the initialisation, or give "
                         "the kernel tile.insert_sync";
    return;
  }
}

static void checkInitFences(const SyncFlow &flow, Region &body, Report report) {
  llvm::SmallBitVector missing, used;
  body.walk([&](Operation *op) {
    if (isClusterArrive(op) || reachesIntoPeer(op))
      missing |= flow.before(op).unfenced;
  });
  for (Operation *remote : flow.remotes)
    if (llvm::SmallBitVector groups = flow.groupsOf(remote); !groups.all())
      used |= groups;
  for (Operation *init : flow.inits) {
    llvm::SmallBitVector group = flow.groupsOf(init);
    if (group.count() != 1 || !group.anyCommon(missing) ||
        !group.anyCommon(used))
      continue;
    missing.reset(group);
    InFlightDiagnostic diag = report(init);
    diag
        << "must be followed by a fence before the cluster barrier, got a path "
           "without one";
    diag.attachNote() << "execute nvvm.fence.mbarrier.init right behind it, or "
                         "give the kernel tile.insert_sync";
  }
}

/// A copy whose source is written before it, with no fence anywhere in between.
static void checkProxyFences(const SyncFlow &flow, Region &body,
                             Report report) {
  SmallVector<Operation *> fences, writes;
  body.walk([&](Operation *op) {
    if (isAsyncProxyFence(op))
      fences.push_back(op);
    else if (flow.writtenBy(op).any() || flow.receivedBy(op).any())
      writes.push_back(op);
  });
  for (CopyAsyncOp copy : flow.copies) {
    if (!flow.needsProxyFence(copy, copy))
      continue;
    for (Operation *write : writes) {
      bool isReceived = surelyReceivesSource(write, copy, flow.copies);
      if (!mayFollow(write, copy, body) ||
          (!isReceived && !surelyWritesSource(write, copy)) ||
          llvm::any_of(fences, [&](Operation *fence) {
            return mayFollow(write, fence, body) &&
                   mayFollow(fence, copy, body);
          }))
        continue;
      InFlightDiagnostic diag = report(copy);
      diag << "source must be fenced for the async proxy once it is "
           << (isReceived ? "received" : "written")
           << ", got no fence behind the " << (isReceived ? "wait" : "store");
      diag.attachNote(write->getLoc())
          << "let the threads that " << (isReceived ? "wait" : "store")
          << " here execute nvvm.fence.proxy behind it, or give the kernel "
             "tile.insert_sync";
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
    diag << "must follow a final cluster barrier, got a path on which a peer "
            "may "
            "still use the shared memory of a CTA that is gone";
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
                  "!llvm.ptr<7>, for the barrier of a peer, got the local form";
          diag.attachNote(mapa.getLoc()) << "arrive on it with tile.arrive";
        }
      }
  });
}

static void checkKernel(Operation *kernel, Report report) {
  Region &body = kernel->getRegion(0);
  if (body.empty())
    return;
  SyncFlow flow(body);
  if (!flow.remotes.empty()) {
    checkStart(flow, report);
    checkInitFences(flow, body, report);
    checkProxyFences(flow, body, report);
    checkFinish(flow, report);
  }
  KernelSizes sizes = knownSizes(kernel);
  for (const BarrierUses &uses : collectBarrierUses(kernel)) {
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
    if (failed)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
