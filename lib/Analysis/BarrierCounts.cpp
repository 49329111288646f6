// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/BarrierCounts.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tile;

/// Rounds of `loop`; nothing where that is not a small constant.
static std::optional<int64_t> roundsOf(LoopLikeOpInterface loop) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || trips->getActiveBits() > 31)
    return std::nullopt;
  return trips->getZExtValue();
}

static bool holdsAny(LoopLikeOpInterface loop, ArrayRef<Operation *> ops,
                     Operation *like) {
  return llvm::any_of(ops, [&](Operation *op) {
    return loop->isProperAncestor(op) && mayUseSameBarrier(op, like);
  });
}

/// Arrivals by `op` on one barrier in one phase, at most. A loop that waits for
/// the barrier, too, goes on to the next phase with each round.
static std::optional<int64_t> arrivalsAtMost(Operation *op,
                                             const BarrierUses &uses,
                                             const KernelSizes &sizes) {
  std::optional<int64_t> arrivals = threadsAtMost(op, sizes);
  if (!arrivals)
    return std::nullopt;
  if (isa<ArriveOp>(op)) {
    if (!sizes.cluster)
      return std::nullopt;
    arrivals = llvm::checkedMul(*arrivals, *sizes.cluster);
  }
  for (LoopLikeOpInterface loop : loopsAround(op)) {
    if (holdsAny(loop, uses.waits, op))
      continue;
    std::optional<int64_t> rounds = roundsOf(loop);
    if (!rounds || !arrivals)
      return std::nullopt;
    arrivals = llvm::checkedMul(*arrivals, *rounds);
  }
  return arrivals;
}

static void checkInit(nvgpu::MBarrierInitOp init, const BarrierUses &uses,
                      const KernelSizes &sizes, Report report) {
  std::optional<int64_t> count = constantOf(init.getCount());
  if (!count)
    return;
  if (*count < 1 || *count >= (1 << 20)) {
    report(init) << "count must be in 1 to 1048575, got " << *count;
    return;
  }
  std::optional<int64_t> most = 0;
  for (ArrayRef<Operation *> ops : {ArrayRef(uses.arrives), ArrayRef(uses.arms),
                                    ArrayRef(uses.remoteArrives)})
    for (Operation *op : ops) {
      if (!mayUseSameBarrier(op, init))
        continue;
      std::optional<int64_t> more = arrivalsAtMost(op, uses, sizes);
      most = most && more ? llvm::checkedAdd(*most, *more) : std::nullopt;
      // Ops of one CTA on one barrier, so that a thread's own place in a group
      // is left alone.
      if (isa<ArriveOp>(op) || !constantOf(barrierIndexOf(op)))
        continue;
      int64_t least = threadsAtLeast(op, sizes);
      if (least <= *count)
        continue;
      InFlightDiagnostic diag = report(op);
      diag << "must arrive at most " << *count
           << " times in one phase, which is what the barrier counts, got all "
           << least << " threads";
      diag.attachNote()
          << "let one thread execute it, or initialise the barrier "
             "with the number of threads";
    }
  bool isUsed = llvm::any_of(uses.waits, [&](Operation *wait) {
    return mayUseSameBarrier(wait, init);
  });
  if (!isUsed || !most || *most >= *count)
    return;
  InFlightDiagnostic diag = report(init);
  diag << "count must be reached by the arrivals of one phase, got a count of "
       << *count << " and ";
  if (*most == 0)
    diag << "nothing that arrives";
  else
    diag << "at most " << *most << " arrivals";
  diag.attachNote() << "initialise the barrier with the arrivals of one phase: "
                       "one for each tile.expect, tile.arrive or mbarrier "
                       "arrive that a thread executes";
}

void tile::checkArrivalCounts(const BarrierUses &uses, const KernelSizes &sizes,
                              Report report) {
  if (uses.hasOthers)
    return;
  for (Operation *init : uses.inits)
    checkInit(cast<nvgpu::MBarrierInitOp>(init), uses, sizes, report);
}

static Value parityOf(Operation *wait) {
  if (auto op = dyn_cast<WaitOp>(wait))
    return op.getParity();
  if (auto op = dyn_cast<nvgpu::MBarrierTryWaitParityOp>(wait))
    return op.getPhaseParity();
  return {};
}

/// Whether `value` is the same in all rounds of `loop`.
static bool isInvariant(Value value, LoopLikeOpInterface loop, int depth = 12) {
  if (constantOf(value))
    return true;
  if (loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && depth > 0 && op->getNumRegions() == 0 &&
         isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isInvariant(operand, loop, depth - 1);
         });
}

static void checkWait(Operation *wait, const BarrierUses &uses, Report report) {
  Value parity = parityOf(wait);
  if (!parity)
    return;
  int64_t barriers =
      cast<nvgpu::MBarrierGroupType>(uses.barriers.getType()).getNumBarriers();
  // Rounds in which the place in the group may be another one each time.
  std::optional<int64_t> rounds = 1;
  for (LoopLikeOpInterface loop : loopsAround(wait)) {
    if (!isInvariant(parity, loop))
      return;
    auto others = [&](ArrayRef<Operation *> ops) {
      return llvm::any_of(ops, [&](Operation *op) {
        return op != wait && loop->isProperAncestor(op) &&
               mayUseSameBarrier(op, wait);
      });
    };
    // Two waits a round may be for both parities by turns; a new barrier begins
    // again.
    if (others(uses.waits) || others(uses.inits))
      return;
    std::optional<int64_t> trips = roundsOf(loop);
    bool isFixed = isInvariant(barrierIndexOf(wait), loop);
    bool advances =
        others(uses.arrives) || others(uses.arms) || others(uses.remoteArrives);
    bool exceeds = false;
    if (isFixed && rounds == 1) {
      exceeds = !trips || *trips > 1;
    } else {
      rounds =
          rounds && trips ? llvm::checkedMul(*rounds, *trips) : std::nullopt;
      exceeds = rounds && *rounds > barriers;
    }
    if (!advances || !exceeds)
      continue;
    InFlightDiagnostic diag = report(wait);
    diag << "parity must change from phase to phase of a barrier, got the same "
            "one in all rounds of a loop";
    if (!isFixed)
      diag << " over " << barriers << " barriers";
    diag.attachNote(loop->getLoc())
        << "carry the parity through this loop, beside the stage: "
           "mlir_tile.PipelineState does both";
    return;
  }
}

void tile::checkParities(const BarrierUses &uses, Report report) {
  for (Operation *wait : uses.waits)
    checkWait(wait, uses, report);
}
