// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/SyncGraph.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tile;

static thread_local unsigned long visited = 0;

unsigned long SyncGraph::visits() { return visited; }

SyncGraph::SyncGraph(Region &body, function_ref<bool(Operation *)> matters) {
  SmallVector<unsigned> exits;
  if (!body.empty())
    build(body, add(nullptr, {}), exits, matters);
}

unsigned SyncGraph::add(Operation *op, ArrayRef<unsigned> previous) {
  unsigned number = all.size();
  all.push_back({op, {}, {}});
  if (op)
    numbers[op] = number;
  for (unsigned before : previous)
    connect(before, number);
  return number;
}

void SyncGraph::connect(unsigned from, unsigned to) {
  all[from].next.push_back(to);
  all[to].previous.push_back(from);
}

/// What decides where the branch `op` goes.
static Value conditionOf(Operation *op) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return branch.getCondition();
  if (auto branch = dyn_cast<scf::IndexSwitchOp>(op))
    return branch.getArg();
  if (auto branch = dyn_cast<cf::CondBranchOp>(op))
    return branch.getCondition();
  if (auto branch = dyn_cast<cf::SwitchOp>(op))
    return branch.getFlag();
  return {};
}

void SyncGraph::build(Region &region, unsigned entry,
                      SmallVectorImpl<unsigned> &exits,
                      function_ref<bool(Operation *)> matters) {
  llvm::DenseMap<Block *, unsigned> begins;
  // Successors may come later in the text.
  SmallVector<std::pair<unsigned, Block *>> edges;
  for (Block &block : region) {
    unsigned last = begins[&block] = add(nullptr, {});
    for (Operation &op : block) {
      if (op.getNumRegions() > 0)
        last = buildRegions(&op, last, matters);
      if (matters(&op))
        last = add(&op, last);
    }
    if (block.hasNoSuccessors()) {
      exits.push_back(last);
      continue;
    }
    SyncBranch &branch = parted.emplace_back();
    branch.op = block.getTerminator();
    branch.condition = conditionOf(branch.op);
    for (Block *successor : block.getSuccessors()) {
      unsigned arm = add(nullptr, last);
      branch.arms.push_back(arm);
      edges.push_back({arm, successor});
    }
  }
  connect(entry, begins[&region.front()]);
  for (auto [arm, successor] : edges)
    connect(arm, begins[successor]);
}

unsigned SyncGraph::buildRegions(Operation *op, unsigned entry,
                                 function_ref<bool(Operation *)> matters) {
  SmallVector<unsigned> exits;
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    unsigned head = add(nullptr, entry);
    build(loop.getBefore(), head, exits, matters);
    unsigned decided = add(nullptr, exits);
    SmallVector<unsigned> rounds;
    build(loop.getAfter(), decided, rounds, matters);
    for (unsigned round : rounds)
      connect(round, head);
    return add(nullptr, decided);
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    unsigned head = add(nullptr, entry);
    for (Region &region : op->getRegions())
      if (!region.empty())
        build(region, head, exits, matters);
    for (unsigned exit : exits)
      connect(exit, head);
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (trips && !trips->isZero() && !exits.empty())
      return add(nullptr, exits);
    return add(nullptr, head);
  }
  SyncBranch branch{op, conditionOf(op), {}};
  for (Region &region : op->getRegions()) {
    unsigned arm = add(nullptr, entry);
    branch.arms.push_back(arm);
    if (region.empty())
      exits.push_back(arm);
    else
      build(region, arm, exits, matters);
  }
  if (branch.arms.size() > 1)
    parted.push_back(branch);
  return add(nullptr, exits);
}

void SyncGraph::forwards(function_ref<bool(unsigned)> visit) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned point = 0; point < all.size(); ++point)
      changed |= visit(point);
    visited += all.size();
  }
}

void SyncGraph::backwards(function_ref<bool(unsigned)> visit) const {
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned point = all.size(); point-- > 0;)
      changed |= visit(point);
    visited += all.size();
  }
}

std::vector<bool>
SyncGraph::leadsTo(function_ref<bool(const SyncPoint &)> isGoal) const {
  std::vector<bool> result(all.size());
  SmallVector<unsigned> open;
  auto reach = [&](unsigned point) {
    if (!result[point]) {
      result[point] = true;
      open.push_back(point);
    }
  };
  for (unsigned point = 0; point < all.size(); ++point)
    if (isGoal(all[point]))
      reach(point);
  while (!open.empty())
    for (unsigned before : all[open.pop_back_val()].previous)
      reach(before);
  return result;
}

std::vector<bool>
SyncGraph::comesFrom(function_ref<bool(const SyncPoint &)> isGoal) const {
  std::vector<bool> result(all.size());
  SmallVector<unsigned> open;
  auto reachNext = [&](unsigned point) {
    for (unsigned next : all[point].next)
      if (!result[next]) {
        result[next] = true;
        open.push_back(next);
      }
  };
  for (unsigned point = 0; point < all.size(); ++point)
    if (isGoal(all[point]))
      reachNext(point);
  while (!open.empty())
    reachNext(open.pop_back_val());
  return result;
}
