// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/TransactionBytes.h"

#include "dialect/TileDialect.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tile;

namespace {
struct Group {
  SmallVector<CopyAsyncOp> copies;
  SmallVector<nvgpu::MBarrierArriveExpectTxOp> arms;
};
} // namespace

static std::optional<int64_t> constant(Value value) {
  IntegerAttr attr;
  if (matchPattern(value, m_Constant(&attr)))
    return attr.getInt();
  return std::nullopt;
}

/// Ops that use a barrier group and bring no bytes.
static bool bringsNothing(Operation *op) {
  return isa<nvgpu::MBarrierInitOp, nvgpu::MBarrierArriveOp,
             nvgpu::MBarrierArriveNoCompleteOp, nvgpu::MBarrierTestWaitOp,
             nvgpu::MBarrierTryWaitParityOp>(op);
}

/// Whether `bytes` is a sum of the sizes, each taken any number of times.
static bool isSum(int64_t bytes, ArrayRef<int64_t> sizes) {
  if (bytes < 0 || bytes > (int64_t(1) << 20))
    return false;
  std::vector<bool> reached(bytes + 1);
  reached[0] = true;
  for (int64_t size : sizes)
    for (int64_t sum = size; size > 0 && sum <= bytes; ++sum)
      if (reached[sum - size])
        reached[sum] = true;
  return reached[bytes];
}

static void check(const Group &group) {
  for (nvgpu::MBarrierArriveExpectTxOp arm : group.arms) {
    std::optional<int64_t> armed = constant(arm.getTxcount());
    std::optional<int64_t> barrier = constant(arm.getMbarId());
    if (!armed)
      continue;
    llvm::SetVector<int64_t> sizes;
    bool allPlanned = true;
    for (CopyAsyncOp copy : group.copies) {
      std::optional<int64_t> target = constant(copy.getBarrierIndex());
      if (barrier && target && *barrier != *target)
        continue;
      if (auto plan = copy.getPlanAttr())
        sizes.insert(plan.getTotalBytes());
      else
        allPlanned = false;
    }
    if (sizes.empty() || !allPlanned || isSum(*armed, sizes.getArrayRef()))
      continue;
    InFlightDiagnostic warning = arm.emitWarning();
    warning << "barrier is armed with " << *armed
            << " bytes, which the copies into it cannot add up to: they bring ";
    llvm::interleave(
        sizes, [&](int64_t size) { warning << size; },
        [&] { warning << " or "; });
    warning << " bytes each";
    warning.attachNote() << "arm it with the bytes of the copies that complete "
                            "in one phase, or it never completes";
  }
}

void tile::warnAboutTransactionBytes(Operation *function) {
  llvm::MapVector<Value, Group> groups;
  function->walk([&](Operation *op) {
    if (auto copy = dyn_cast<CopyAsyncOp>(op))
      groups[copy.getBarriers()].copies.push_back(copy);
    else if (auto arm = dyn_cast<nvgpu::MBarrierArriveExpectTxOp>(op))
      groups[arm.getBarriers()].arms.push_back(arm);
  });
  for (auto &[barriers, group] : groups) {
    bool onlyOurs = llvm::all_of(barriers.getUsers(), [](Operation *user) {
      return isa<CopyAsyncOp, nvgpu::MBarrierArriveExpectTxOp>(user) ||
             bringsNothing(user);
    });
    if (onlyOurs && !group.copies.empty())
      check(group);
  }
}
