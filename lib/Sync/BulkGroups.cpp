// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/BulkGroups.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace tile;

namespace {

/// The ops of one kind that may come after a copy.
class Followers {
public:
  Followers(Operation *kernel, const SyncFlow &flow)
      : kernel(kernel), flow(flow) {}

  /// Those that `isOne`, and whether a call may hold one.
  std::pair<SmallVector<Operation *>, bool>
  of(Operation *copy, function_ref<bool(Operation *)> isOne) const {
    std::vector<bool> after = flow.points().comesFrom(
        [&](const SyncPoint &point) { return point.op == copy; });
    std::pair<SmallVector<Operation *>, bool> result;
    for (auto [number, point] : llvm::enumerate(flow.points().points())) {
      if (!point.op || !after[number])
        continue;
      if (isOne(point.op))
        result.first.push_back(point.op);
      result.second |= isa<CallOpInterface>(point.op) && calls(point.op, isOne);
    }
    return result;
  }

  /// Whether some thread that executes `copy` surely executes none of `ops`.
  bool leaveSomeOut(Operation *copy, ArrayRef<Operation *> ops) const {
    std::optional<llvm::BitVector> copying = threadsAt(copy, kernel);
    if (!copying)
      return false;
    for (Operation *op : ops) {
      std::optional<llvm::BitVector> doing = threadsAt(op, kernel);
      if (!doing)
        return false;
      copying->reset(*doing);
    }
    return copying->any();
  }

private:
  Operation *kernel;
  const SyncFlow &flow;
};

} // namespace

static std::optional<LooseStore> findLoose(CopyAsyncOp copy,
                                           const Followers &followers) {
  auto [commits, mayCommit] = followers.of(copy, commitsGroup);
  if (mayCommit)
    return std::nullopt;
  if (commits.empty())
    return LooseStore{LooseStore::NotCommitted, copy};
  if (followers.leaveSomeOut(copy, commits))
    return LooseStore{LooseStore::CommittedByFewer, copy, commits.front()};
  auto [waits, mayWait] = followers.of(copy, waitsForAllGroups);
  if (mayWait)
    return std::nullopt;
  if (waits.empty())
    return LooseStore{LooseStore::NotWaitedFor, copy};
  if (followers.leaveSomeOut(copy, waits))
    return LooseStore{LooseStore::WaitedForByFewer, copy, waits.front()};
  return std::nullopt;
}

SmallVector<LooseStore> tile::looseStores(Operation *kernel,
                                          const SyncFlow &flow) {
  Followers followers(kernel, flow);
  SmallVector<LooseStore> loose;
  for (CopyAsyncOp copy : flow.copies)
    if (copy.getDirection() == Direction::Store)
      if (std::optional<LooseStore> store = findLoose(copy, followers))
        loose.push_back(*store);
  return loose;
}
