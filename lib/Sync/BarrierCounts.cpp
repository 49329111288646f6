// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/BarrierCounts.h"

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

/// Arrivals by `op` on one barrier in one phase, at most. A loop that waits for
/// the barrier, too, goes on to the next phase with each round.
static std::optional<int64_t> arrivalsAtMost(Operation *op,
                                             const BarrierUses &uses,
                                             const KernelSizes &sizes) {
  std::optional<int64_t> arrivals = threadsAtMost(op, sizes);
  if (!arrivals)
    return std::nullopt;
  if (isa<ArriveOp>(op)) {
    if (!sizes.ctas())
      return std::nullopt;
    arrivals = llvm::checkedMul(*arrivals, *sizes.ctas());
  }
  for (LoopLikeOpInterface loop : loopsAround(op)) {
    if (uses.in(loop).waits > 0)
      continue;
    std::optional<int64_t> rounds = roundsOf(loop);
    if (!rounds || !arrivals)
      return std::nullopt;
    arrivals = llvm::checkedMul(*arrivals, *rounds);
  }
  return arrivals;
}

/// Compares `init` to the `arrivals` of one phase at most.
static void checkInit(nvgpu::MBarrierInitOp init, const BarrierUses &uses,
                      std::optional<int64_t> arrivals, const KernelSizes &sizes,
                      Report report) {
  std::optional<int64_t> count = constantOf(init.getCount());
  if (!count)
    return;
  if (*count < 1 || *count >= (1 << 20)) {
    if (uses.owns(init))
      report(init) << "count must be in 1 to 1048575, got " << *count;
    return;
  }
  std::optional<int64_t> most = arrivals;
  // Ops of one CTA on one barrier, so that a thread's own place in a group is
  // left alone.
  if (uses.index)
    for (ArrayRef<Operation *> ops :
         {ArrayRef(uses.arrives), ArrayRef(uses.arms)})
      for (Operation *op : ops) {
        int64_t least = uses.owns(op) ? threadsAtLeast(op, sizes) : 0;
        if (least <= *count)
          continue;
        InFlightDiagnostic diag = report(op);
        diag << "must arrive at most " << *count
             << " times in one phase, which is what the barrier counts, got "
                "all "
             << least << " threads";
        diag.attachNote()
            << "let one thread execute it, or initialise the barrier "
               "with the number of threads";
      }
  if (!uses.owns(init) || uses.waits.empty() || !most || *most >= *count)
    return;
  InFlightDiagnostic diag = report(init);
  if (*most == 0)
    diag << "initialises a barrier that is waited for and that nothing arrives "
            "on";
  else
    diag << "count must be at most the arrivals of one phase, which are "
         << *most << ", got " << *count;
  diag.attachNote() << "initialise the barrier with the arrivals of one phase: "
                       "one for each tile.expect, tile.arrive or mbarrier "
                       "arrive that a thread executes";
}

void tile::checkArrivalCounts(const BarrierUses &uses, const KernelSizes &sizes,
                              Report report) {
  if (uses.hasOthers)
    return;
  std::optional<int64_t> most = 0;
  for (ArrayRef<Operation *> ops : {ArrayRef(uses.arrives), ArrayRef(uses.arms),
                                    ArrayRef(uses.remoteArrives)})
    for (Operation *op : ops) {
      std::optional<int64_t> more = arrivalsAtMost(op, uses, sizes);
      most = most && more ? llvm::checkedAdd(*most, *more) : std::nullopt;
    }
  for (Operation *init : uses.inits)
    checkInit(cast<nvgpu::MBarrierInitOp>(init), uses, most, sizes, report);
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

static Value groupOf(Operation *wait) {
  if (auto op = dyn_cast<WaitOp>(wait))
    return op.getBarriers();
  return cast<nvgpu::MBarrierTryWaitParityOp>(wait).getBarriers();
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
    // Groups may take turns, each with phases of its own.
    if (!isInvariant(parity, loop) || !isInvariant(groupOf(wait), loop))
      return;
    // Two waits a round may be for both parities by turns; a new barrier begins
    // again.
    LoopUses inLoop = uses.in(loop);
    if (inLoop.waits > 1 || inLoop.inits > 0)
      return;
    std::optional<int64_t> trips = roundsOf(loop);
    bool isFixed = isInvariant(barrierIndexOf(wait), loop);
    bool exceeds = false;
    if (isFixed && rounds == 1) {
      exceeds = !trips || *trips > 1;
    } else {
      rounds =
          rounds && trips ? llvm::checkedMul(*rounds, *trips) : std::nullopt;
      exceeds = rounds && *rounds > barriers;
    }
    if (inLoop.arrivals == 0 || !exceeds)
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
    if (uses.owns(wait))
      checkWait(wait, uses, report);
}
