// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/BarrierInits.h"
#include "lib/Sync/SharedAccesses.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace tile;

/// What `op` does to its barrier.
static StringRef verbOf(Operation *op) {
  if (isa<ExpectOp, nvgpu::MBarrierArriveExpectTxOp>(op))
    return "arms";
  if (isa<CopyAsyncOp, StoreAsyncOp>(op))
    return "completes on";
  return waitsForBarrier(op) ? "waits for" : "arrives on";
}

static void checkUninitialised(const BarrierUses &uses, Report report) {
  Operation *first = nullptr;
  // An op that arms or arrives may have been meant to initialise.
  for (ArrayRef<Operation *> ops :
       {ArrayRef(uses.arms), ArrayRef(uses.arrives), ArrayRef(uses.waits),
        ArrayRef(uses.remoteArrives), ArrayRef(uses.copies)})
    for (Operation *op : ops)
      if (!first && uses.owns(op))
        first = op;
  if (!first)
    return;
  InFlightDiagnostic diag = report(first);
  diag << verbOf(first) << " a barrier that nothing initialises";
  diag.attachNote() << "let one thread execute nvgpu.mbarrier.init for it at "
                       "the top of the kernel";
}

void tile::checkInits(const BarrierUses &uses, Report report) {
  if (uses.hasOthers)
    return;
  if (uses.inits.empty()) {
    // A group that the kernel was handed may be initialised elsewhere.
    if (!isa<BlockArgument>(uses.barriers))
      checkUninitialised(uses, report);
    return;
  }
  if (!uses.index)
    return;
  for (Operation *init : uses.inits) {
    SmallVector<LoopLikeOpInterface> loops =
        uses.owns(init) ? loopsAround(init)
                        : SmallVector<LoopLikeOpInterface>();
    for (LoopLikeOpInterface loop : loops) {
      std::optional<APInt> trips = loop.getStaticTripCount();
      if (trips && trips->ule(1))
        continue;
      InFlightDiagnostic diag = report(init);
      diag << "initialises the same barrier in each round of a loop";
      diag.attachNote(loop->getLoc()) << "initialise it once, before this loop";
      break;
    }
  }
}

namespace {

/// Barriers that some thread of a CTA has initialised, by number: `open` where
/// others cannot know of it yet, `closed` where they can on some path.
struct Known {
  bool unreached = true;
  llvm::BitVector open, closed;

  bool join(const Known &other) {
    if (other.unreached)
      return false;
    bool changed = unreached;
    unreached = false;
    changed |= joinBits(open, other.open);
    return joinBits(closed, other.closed) || changed;
  }
};

} // namespace

/// The group and the constant number of the barrier of `op`.
static std::optional<std::pair<Value, int64_t>> barrierOf(Operation *op) {
  Value index = barrierIndexOf(op);
  std::optional<int64_t> number = index ? constantOf(index) : std::nullopt;
  Value group;
  if (Value remote = remoteBarriersOf(op))
    group = remote;
  else if (Value completed = completedBy(op))
    group = completed;
  else if (index)
    group = op->getOperand(0);
  if (!number || !group || !group.getDefiningOp<nvgpu::MBarrierCreateOp>())
    return std::nullopt;
  return std::pair(group, *number);
}

void tile::checkInitialisedUses(const SyncGraph &graph,
                                const KernelSizes &sizes, Report report) {
  if (!sizes.block || layout::product(*sizes.block) == 1)
    return;
  Divergence divergence;
  llvm::DenseMap<std::pair<Value, int64_t>, unsigned> numbers;
  llvm::DenseMap<Operation *, unsigned> initialised, used;
  for (const SyncPoint &point : graph.points())
    if (point.op && isa<nvgpu::MBarrierInitOp>(point.op) &&
        divergence.isDivergent(point.op->getBlock()))
      if (auto barrier = barrierOf(point.op))
        initialised[point.op] =
            numbers.try_emplace(*barrier, numbers.size()).first->second;
  if (initialised.empty())
    return;
  for (const SyncPoint &point : graph.points()) {
    if (!point.op || initialised.contains(point.op) ||
        remoteBarriersOf(point.op) ||
        divergence.isDivergent(point.op->getBlock()))
      continue;
    if (auto barrier = barrierOf(point.op))
      if (auto number = numbers.find(*barrier); number != numbers.end())
        used[point.op] = number->second;
  }
  if (used.empty())
    return;
  std::vector<Known> states(graph.points().size());
  states.front() = {false, llvm::BitVector(numbers.size()),
                    llvm::BitVector(numbers.size())};
  graph.forwards([&](unsigned point) {
    Known state = states[point];
    if (state.unreached)
      return false;
    if (Operation *op = graph.points()[point].op) {
      Meeting meeting = meetingOf(op);
      if (auto init = initialised.find(op); init != initialised.end()) {
        state.open.set(init->second);
      } else if (isa<CallOpInterface>(op) || meeting.hears) {
        // A wait may be for who initialised.
        state.closed |= state.open;
        state.open.reset();
      }
    }
    bool changed = false;
    for (unsigned next : graph.points()[point].next)
      changed |= states[next].join(state);
    return changed;
  });
  for (const SyncPoint &point : graph.points()) {
    auto use = point.op ? used.find(point.op) : used.end();
    if (use == used.end())
      continue;
    const Known &state = states[graph.at(point.op)];
    if (state.unreached || !state.open.test(use->second) ||
        state.closed.test(use->second))
      continue;
    InFlightDiagnostic diag = report(point.op);
    diag << verbOf(point.op)
         << " a barrier of whose initialisation only the thread that did it "
            "can know";
    diag.attachNote() << "let all threads execute gpu.barrier, or a cluster "
                         "barrier, between the initialisation and this use";
  }
}
