// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/TransactionBytes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;

static constexpr int64_t kUnbounded = INT64_MAX;

/// What `op`, a copy or a store, brings each time.
static int64_t bytesBroughtBy(Operation *op) {
  if (auto store = dyn_cast<StoreAsyncOp>(op))
    return store.getStoredBytes();
  return getTileBytes(cast<CopyAsyncOp>(op).getDst());
}

/// How often one phase of a barrier may see the bytes of `copy`, if ops in the
/// loop `around` and in none inside of it arm it: once for each peer that
/// executes it, of a store for each thread, and for each round of the loops
/// that are around the copy only.
static int64_t timesAtMost(Operation *copy, Operation *around,
                           const KernelSizes &sizes) {
  auto tile = dyn_cast<CopyAsyncOp>(copy);
  bool isOwn = tile && !tile.hasReceivers();
  if (!isOwn && !sizes.ctas())
    return kUnbounded;
  // A copy from global memory may be the receiver's own, and a mask holds every
  // CTA that it names.
  int64_t senders = isOwn ? 1 : *sizes.ctas();
  if (tile && tile.getDirection() == Direction::Peer && tile.getRank())
    --senders;
  int64_t times = std::max<int64_t>(1, senders);
  if (isa<StoreAsyncOp>(copy)) {
    std::optional<int64_t> threads = threadsAtMost(copy, sizes);
    if (!threads || llvm::MulOverflow(*threads, *sizes.ctas(), times))
      return kUnbounded;
  }
  for (LoopLikeOpInterface loop : loopsAround(copy)) {
    if (around && loop->isAncestor(around))
      continue;
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips || trips->getActiveBits() > 31 ||
        llvm::MulOverflow<int64_t>(times, trips->getZExtValue(), times))
      return kUnbounded;
  }
  return times;
}

using Bytes = llvm::MapVector<int64_t, int64_t>;

/// The sizes of the copies that one phase of a barrier may see, each with how
/// often at most.
static Bytes bytesOf(const BarrierUses &uses, Operation *around,
                     const KernelSizes &sizes) {
  Bytes bytes;
  for (Operation *copy : uses.copies) {
    int64_t &times = bytes[bytesBroughtBy(copy)];
    int64_t more = timesAtMost(copy, around, sizes);
    if (llvm::AddOverflow(times, more, times))
      times = kUnbounded;
  }
  return bytes;
}

/// Whether `bytes` is a sum of the sizes, each taken at most as often as the
/// map says.
static bool isSum(int64_t bytes, const Bytes &sizes) {
  // For each sum, how many of the current size it takes at least; -1 where it
  // cannot be reached.
  std::vector<int64_t> taken(bytes + 1, -1);
  taken[0] = 0;
  for (auto [size, times] : sizes) {
    for (int64_t &count : taken)
      count = std::min<int64_t>(count, 0);
    for (int64_t sum = size; size > 0 && sum <= bytes; ++sum)
      if (taken[sum] < 0 && taken[sum - size] >= 0 && taken[sum - size] < times)
        taken[sum] = taken[sum - size] + 1;
  }
  return taken[bytes] >= 0;
}

static std::optional<int64_t> armedBytes(Operation *arm) {
  if (auto expect = dyn_cast<ExpectOp>(arm))
    return expect.getExpectedBytes();
  return constantOf(cast<nvgpu::MBarrierArriveExpectTxOp>(arm).getTxcount());
}

static void reportArm(Operation *arm, int64_t armed, const Bytes &bytes,
                      Report report) {
  InFlightDiagnostic diag = report(arm);
  diag << "barrier is armed with " << armed
       << " bytes, which the copies into it cannot add up to: they bring ";
  llvm::interleave(
      bytes,
      [&](auto entry) {
        diag << entry.first;
        if (entry.second != kUnbounded)
          diag << " (at most " << entry.second << " times)";
      },
      [&] { diag << " or "; });
  diag << " bytes each";
  diag.attachNote()
      << "arm it with the bytes of the copies that complete in one "
         "phase, or it never completes";
}

void tile::checkTransactionBytes(const BarrierUses &uses,
                                 const KernelSizes &sizes, Report report) {
  if (uses.hasOthers)
    return;
  // Ops in one loop see the same copies.
  llvm::DenseMap<Operation *, Bytes> byLoop;
  llvm::DenseMap<std::pair<Operation *, int64_t>, bool> isRight;
  for (Operation *arm : uses.arms) {
    std::optional<int64_t> armed = armedBytes(arm);
    if (!armed || *armed < 0 || !uses.owns(arm))
      continue;
    if (*armed > kMaxPhaseBytes) {
      report(arm) << "must arm a phase with at most " << kMaxPhaseBytes
                  << " bytes, got " << *armed;
      continue;
    }
    SmallVector<LoopLikeOpInterface> loops = loopsAround(arm);
    Operation *around = loops.empty() ? nullptr : loops.front().getOperation();
    auto [bytes, isNew] = byLoop.try_emplace(around);
    if (isNew)
      bytes->second = bytesOf(uses, around, sizes);
    auto [right, isFirst] = isRight.try_emplace({around, *armed});
    if (isFirst)
      right->second = bytes->second.empty() || isSum(*armed, bytes->second);
    if (!right->second)
      reportArm(arm, *armed, bytes->second, report);
  }
  if (!uses.arms.empty())
    return;
  for (Operation *copy : uses.copies) {
    if (!uses.owns(copy) || bytesBroughtBy(copy) == 0)
      continue;
    InFlightDiagnostic diag = report(copy);
    diag << "completes on a barrier that nothing arms";
    diag.attachNote()
        << "let a thread of the receiving CTA execute tile.expect "
           "for the destination once a phase";
  }
}
