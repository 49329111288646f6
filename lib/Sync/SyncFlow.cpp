// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/SyncFlow.h"
#include "lib/Sync/SharedAccesses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tile;

bool SyncState::join(const SyncState &other) {
  if (other.unreached)
    return false;
  if (unreached) {
    *this = other;
    return true;
  }
  bool changed = start < other.start || finish < other.finish ||
                 (other.startedOnSomePath && !startedOnSomePath);
  start = std::max(start, other.start);
  startedOnSomePath |= other.startedOnSomePath;
  finish = std::max(finish, other.finish);
  changed |= joinBits(open, other.open);
  changed |= joinBits(arrived, other.arrived);
  changed |= joinBits(unfenced, other.unfenced);
  return changed;
}

bool tile::calls(Operation *op, function_ref<bool(Operation *)> isOne) {
  auto call = dyn_cast<CallOpInterface>(op);
  Operation *callee = call ? call.resolveCallable() : nullptr;
  return callee && callee
                       ->walk([&](Operation *inner) {
                         return isOne(inner) ? WalkResult::interrupt()
                                             : WalkResult::advance();
                       })
                       .wasInterrupted();
}

bool tile::callsSynchronisation(Operation *op) {
  return isa<CallOpInterface>(op) && calls(op, [](Operation *inner) {
           return isClusterArrive(inner) || isClusterWait(inner) ||
                  isInitFence(inner) || isAsyncProxyFence(inner);
         });
}

bool tile::dependsOnPeers(Operation *op) {
  return reachesIntoPeer(op) || waitsForBarrier(op) || isa<AllReduceOp>(op) ||
         (isa<CallOpInterface>(op) &&
          (calls(op, reachesIntoPeer) || calls(op, waitsForBarrier)));
}

static bool isKernel(Operation *op) {
  return isa<FunctionOpInterface, gpu::LaunchOp>(op);
}

/// Whether all threads of a CTA go the same way at `op`, an scf op or the
/// terminator of a block.
static bool isUniformBranch(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isUniform(loop.getLowerBound()) && isUniform(loop.getUpperBound()) &&
           isUniform(loop.getStep());
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isUniform(branch.getCondition());
  if (auto branch = dyn_cast<scf::IndexSwitchOp>(op))
    return isUniform(branch.getArg());
  if (op->getNumSuccessors() > 1)
    return op->getNumOperands() > 0 && isUniform(op->getOperand(0));
  return op->getNumSuccessors() == 1 || isa<scf::ExecuteRegionOp>(op);
}

std::pair<bool, bool> Divergence::of(Block *block) {
  if (auto found = known.find(block); found != known.end())
    return found->second;
  std::pair<bool, bool> result{false, false};
  Region *region = block->getParent();
  if (!block->isEntryBlock()) {
    auto [inRegion, isNew] = branching.try_emplace(region, false, false);
    if (isNew)
      for (Block &other : *region)
        if (other.getNumSuccessors() > 1) {
          inRegion->second.second = true;
          inRegion->second.first |= !isUniformBranch(other.getTerminator());
        }
    result = inRegion->second;
  }
  if (Operation *around = region->getParentOp(); !isKernel(around)) {
    auto [isDivergent, isConditional] = of(around->getBlock());
    result.first |= isDivergent || !isUniformBranch(around);
    result.second |=
        isConditional || !isa<scf::ForOp, scf::ExecuteRegionOp>(around);
  }
  return known[block] = result;
}

/// A barrier that all threads of a CTA must reach, unless they have left.
static bool countsAllThreads(Operation *op) {
  Meeting meeting = meetingOf(op);
  return meeting.channel == Channel::CtaBarrier && meeting.countsAll;
}

static bool isExit(Operation *op) {
  return isa<gpu::ReturnOp, gpu::TerminatorOp>(op) &&
         isKernel(op->getParentOp());
}

/// A copy into the executing CTA's own memory.
static bool isOwnLoad(Operation *op) {
  auto copy = dyn_cast<CopyAsyncOp>(op);
  return copy && copy.getBarriers() && !copy.hasReceivers();
}

/// Whether `op` says anything about the state.
static bool matters(Operation *op) {
  return reachesIntoPeer(op) || initialisesBarrier(op) || isInitFence(op) ||
         isAsyncProxyFence(op) || isExit(op) || isa<CallOpInterface>(op) ||
         meetingOf(op).channel != Channel::None ||
         !storeAddresses(op).empty() || !loadAddresses(op).empty() ||
         mayStoreInAssembly(op) || isa<CopyAsyncOp>(op) || commitsGroup(op) ||
         waitsForGroup(op);
}

SyncFlow::SyncFlow(Operation *kernel, bool allLeave)
    : body(kernel->getRegion(0)), graph(body, matters) {
  SmallVector<Operation *> allInits;
  for (const SyncPoint &point : graph.points()) {
    Operation *op = point.op;
    if (!op)
      continue;
    if (reachesIntoPeer(op))
      remotes.push_back(op);
    if (auto copy = dyn_cast<CopyAsyncOp>(op))
      copies.push_back(copy);
    if (auto store = dyn_cast<StoreAsyncOp>(op))
      stores.push_back(store);
    if (initialisesBarrier(op))
      allInits.push_back(op);
    if (isExit(op))
      exits.push_back(op);
  }
  SmallVector<Operation *> users(remotes);
  for (CopyAsyncOp copy : copies)
    if (isOwnLoad(copy))
      users.push_back(copy);
  if (users.empty())
    return;
  findGroups(users, allInits);
  findEarlyUses();
  findLeavers(kernel, allLeave, /*sharingReturns=*/false);
  remoteAhead = graph.leadsTo([](const SyncPoint &point) {
    return point.op && reachesIntoPeer(point.op);
  });

  run();
  // Threads that come to one return before the first cluster barrier and after
  // it: those that come before may leave without.
  if (!allLeave && llvm::any_of(exits, [&](Operation *exit) {
        const SyncState &state = before(exit);
        return state.start != Pending::Done && state.startedOnSomePath;
      })) {
    findLeavers(kernel, allLeave, /*sharingReturns=*/true);
    run();
  }
}

void SyncFlow::run() {
  states.assign(graph.points().size(), {});
  SyncState &entry = states.front();
  entry.unreached = false;
  entry.start = entry.finish = Pending::Open;
  for (llvm::BitVector *bits : {&entry.open, &entry.arrived, &entry.unfenced})
    bits->resize(places.size());
  graph.forwards([&](unsigned point) {
    if (states[point].unreached || leaving.contains(point))
      return false;
    SyncState after = states[point];
    if (Operation *op = graph.points()[point].op)
      transfer(op, after);
    bool changed = false;
    for (unsigned next : graph.points()[point].next)
      changed |= states[next].join(after);
    return changed;
  });
}

/// The group of the barrier that `op` uses of a peer's, or completes bytes on.
static Value usedBarriersOf(Operation *op) {
  Value remote = remoteBarriersOf(op);
  return remote ? remote : completedBy(op);
}

void SyncFlow::findGroups(ArrayRef<Operation *> users,
                          ArrayRef<Operation *> allInits) {
  bool anyGroup = false;
  for (Operation *user : users) {
    Value barriers = usedBarriersOf(user);
    if (!barriers)
      continue;
    const Origins &used = places.originsOf(barriers);
    places.add(used);
    anyGroup |= used.hasUnknown;
  }
  auto groupsIn = [&](const Origins &origins) {
    llvm::BitVector groups = places.named(origins);
    if (origins.hasUnknown)
      groups.set();
    return groups;
  };
  for (Operation *user : users)
    if (Value barriers = usedBarriersOf(user))
      groupsByOp[user] = groupsIn(places.originsOf(barriers));
  for (Operation *init : allInits) {
    Origins initialised;
    if (Value barriers = initialisedBy(init))
      initialised = places.originsOf(barriers);
    else
      initialised.hasUnknown = true;
    // A raw pointer is seldom to a barrier of a group: it is taken to be one
    // where that is known, or where nothing is known of what peers use.
    bool isUsed = llvm::any_of(initialised.known, [&](Value known) {
      return places.numberOf(known).has_value();
    });
    if (!isUsed && !anyGroup &&
        !(initialised.hasUnknown && isa<nvgpu::MBarrierInitOp>(init)))
      continue;
    inits.push_back(init);
    groupsByOp[init] = groupsIn(initialised);
  }
}

void SyncFlow::findEarlyUses() {
  SharedPlaces destinations;
  bool hasUnknown = false;
  auto addDestination = [&](Value dst) {
    const Origins &origins = places.originsOf(dst);
    destinations.add(origins);
    hasUnknown |= origins.hasUnknown;
  };
  for (CopyAsyncOp copy : copies)
    if (copy.hasReceivers())
      addDestination(copy.getDst());
  for (StoreAsyncOp store : stores)
    addDestination(store.getDst());
  auto isDestination = [&](Value address) {
    return llvm::any_of(places.originsOf(address).known, [&](Value known) {
      return destinations.numberOf(known).has_value();
    });
  };
  std::vector<bool> peersMayBeAhead =
      graph.comesFrom([](const SyncPoint &point) {
        return point.op && dependsOnPeers(point.op);
      });
  for (auto [number, point] : llvm::enumerate(graph.points())) {
    if (!point.op || peersMayBeAhead[number])
      continue;
    SmallVector<Value> stored = storeAddresses(point.op);
    bool storesAnywhere =
        mayStoreInAssembly(point.op) || llvm::any_of(stored, [&](Value to) {
          const Origins &origins = places.originsOf(to);
          return origins.hasUnknown || (hasUnknown && !origins.empty());
        });
    if (storesAnywhere || llvm::any_of(stored, isDestination) ||
        llvm::any_of(loadAddresses(point.op), isDestination))
      earlyUses.push_back(point.op);
  }
}

/// Which way a thread goes at `branch`, by its place in the CTA.
static std::optional<unsigned> armOf(Operation *branch, Value condition,
                                     const std::array<int64_t, 3> &thread) {
  std::optional<int64_t> value =
      condition ? valueInThread(condition, thread) : std::nullopt;
  if (!value)
    return std::nullopt;
  if (isa<scf::IfOp>(branch) || condition.getType().isInteger(1))
    return *value ? 0 : 1;
  auto choice = dyn_cast<scf::IndexSwitchOp>(branch);
  if (!choice)
    return std::nullopt;
  auto found = llvm::find(choice.getCases(), *value);
  return found == choice.getCases().end()
             ? 0
             : 1 + std::distance(choice.getCases().begin(), found);
}

/// The branches, and the arms of them, that a thread takes to come to `block`,
/// as far as threads of a CTA may differ in them; nothing if that is not known.
static std::optional<SmallVector<std::pair<Operation *, unsigned>>>
guardsOf(Block *block, Operation *kernel) {
  SmallVector<std::pair<Operation *, unsigned>> guards;
  DominanceInfo dominance(kernel);
  PostDominanceInfo postDominance(kernel);
  while (true) {
    if (block->isEntryBlock()) {
      Operation *around = block->getParentOp();
      if (around == kernel)
        return guards;
      if (!isUniformBranch(around)) {
        if (!isa<scf::IfOp, scf::IndexSwitchOp>(around))
          return std::nullopt;
        guards.emplace_back(around, block->getParent()->getRegionNumber());
      }
      block = around->getBlock();
      continue;
    }
    if (Block *before = block->getSinglePredecessor()) {
      Operation *branch = before->getTerminator();
      if (!isUniformBranch(branch))
        guards.emplace_back(branch, llvm::find(before->getSuccessors(), block) -
                                        before->getSuccessors().begin());
      block = before;
      continue;
    }
    DominanceInfoNode *node = dominance.getNode(block);
    Block *before =
        node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    if (!before || !postDominance.postDominates(block, before))
      return std::nullopt;
    block = before;
  }
}

std::optional<llvm::BitVector> tile::threadsAt(Operation *op,
                                               Operation *kernel) {
  std::optional<std::array<int64_t, 3>> block = knownSizes(kernel).block;
  auto guards = guardsOf(op->getBlock(), kernel);
  if (!block || !guards || layout::product(*block) > 1024)
    return std::nullopt;
  llvm::BitVector threads;
  for (int64_t z = 0; z < (*block)[2]; ++z)
    for (int64_t y = 0; y < (*block)[1]; ++y)
      for (int64_t x = 0; x < (*block)[0]; ++x) {
        bool comes = true;
        for (auto [branch, way] : *guards) {
          std::optional<unsigned> taken =
              armOf(branch, branch->getOperand(0), {x, y, z});
          if (!taken)
            return std::nullopt;
          comes &= *taken == way;
        }
        threads.push_back(comes);
      }
  return threads;
}

/// Whether some thread of each CTA that comes to `branch` surely takes another
/// way than `arm`.
static bool someThreadStays(Operation *kernel, const SyncBranch &branch,
                            unsigned arm) {
  std::optional<std::array<int64_t, 3>> block = knownSizes(kernel).block;
  auto guards = guardsOf(branch.op->getBlock(), kernel);
  if (!block || !guards || layout::product(*block) > 1024)
    return false;
  for (int64_t z = 0; z < (*block)[2]; ++z)
    for (int64_t y = 0; y < (*block)[1]; ++y)
      for (int64_t x = 0; x < (*block)[0]; ++x) {
        std::array<int64_t, 3> thread{x, y, z};
        std::optional<unsigned> taken =
            armOf(branch.op, branch.condition, thread);
        if (!taken)
          return false;
        bool comes = *taken != arm && llvm::all_of(*guards, [&](auto guard) {
          auto [op, way] = guard;
          Value condition = op->getOperand(0);
          return armOf(op, condition, thread) == way;
        });
        if (comes)
          return true;
      }
  return false;
}

void SyncFlow::findLeavers(Operation *kernel, bool allLeave,
                           bool sharingReturns) {
  leavers.clear();
  if (graph.branches().empty())
    return;
  std::vector<bool> goesOn = graph.leadsTo([](const SyncPoint &point) {
    return point.op && (dependsOnPeers(point.op) || isClusterArrive(point.op) ||
                        isClusterWait(point.op) || countsAllThreads(point.op) ||
                        callsSynchronisation(point.op));
  });
  std::vector<bool> meetsAll = graph.leadsTo([](const SyncPoint &point) {
    return point.op && countsAllThreads(point.op);
  });
  for (const SyncBranch &branch : graph.branches()) {
    if (llvm::all_of(branch.arms, [&](unsigned arm) { return goesOn[arm]; }) ||
        llvm::none_of(branch.arms, [&](unsigned arm) { return goesOn[arm]; }) ||
        isUniformBranch(branch.op))
      continue;
    bool isObstructed =
        llvm::any_of(branch.arms, [&](unsigned arm) { return meetsAll[arm]; });
    Operation *barrier = nullptr;
    if (isObstructed)
      for (const SyncPoint &point : graph.points())
        if (!barrier && point.op && countsAllThreads(point.op) &&
            llvm::any_of(branch.arms, [&](unsigned arm) {
              return meetsAll[arm] && graph.at(point.op) > arm;
            }))
          barrier = point.op;
    // Ways of blocks that end in one return.
    bool sharesExit = llvm::any_of(exits, [&](Operation *exit) {
      if (!sharingReturns || branch.op->getNumSuccessors() == 0)
        return false;
      std::vector<bool> leads = graph.leadsTo(
          [&](const SyncPoint &point) { return point.op == exit; });
      return llvm::count_if(branch.arms,
                            [&](unsigned arm) { return leads[arm]; }) > 1;
    });
    for (auto [number, arm] : llvm::enumerate(branch.arms)) {
      if (goesOn[arm] || (!barrier && !sharesExit && !allLeave))
        continue;
      bool someStay = !allLeave && someThreadStays(kernel, branch, number);
      if (!someStay && !barrier && !allLeave)
        continue;
      leavers.push_back({branch, unsigned(number), barrier, someStay});
      if (allLeave || someStay)
        leaving.insert(arm);
    }
  }
}

const SyncState &SyncFlow::before(Operation *op) const {
  static const SyncState unreached;
  return graph.holds(op) && !states.empty() ? states[graph.at(op)] : unreached;
}

llvm::BitVector SyncFlow::groupsOf(Operation *op) const {
  return groupsByOp.lookup(op);
}

bool SyncFlow::comesTooEarly(Operation *remote) const {
  const SyncState &state = before(remote);
  if (state.unreached)
    return false;
  llvm::BitVector groups = groupsOf(remote);
  return state.start != Pending::Done || groups.anyCommon(state.open) ||
         groups.anyCommon(state.arrived);
}

bool SyncFlow::reachesPeersAfter(Operation *op) const {
  return llvm::any_of(graph.points()[graph.at(op)].next,
                      [&](unsigned next) { return remoteAhead[next]; });
}

llvm::BitVector SyncFlow::unfencedGroups() const {
  llvm::BitVector missing(places.size());
  for (const SyncPoint &point : graph.points())
    if (point.op && (isClusterArrive(point.op) || reachesIntoPeer(point.op) ||
                     isOwnLoad(point.op)))
      missing |= before(point.op).unfenced;
  return missing;
}

void SyncFlow::transfer(Operation *op, SyncState &state) const {
  if (callsSynchronisation(op)) {
    // What it does is not followed: take it to do everything.
    state.start = state.finish = Pending::Done;
    state.startedOnSomePath = true;
    state.open.reset();
    state.arrived.reset();
    state.unfenced.reset();
    return;
  }
  auto move = [](Pending &pending, Pending from, Pending to) {
    if (pending == from)
      pending = to;
  };
  if (initialisesBarrier(op)) {
    llvm::BitVector initialised = groupsOf(op);
    state.open |= initialised;
    state.unfenced |= initialised;
  }
  if (isInitFence(op))
    state.unfenced.reset();
  if (isClusterArrive(op)) {
    move(state.start, Pending::Open, Pending::Arrived);
    state.arrived |= state.open;
    state.open.reset();
    if (!reachesPeersAfter(op))
      move(state.finish, Pending::Open, Pending::Arrived);
  }
  if (isClusterWait(op)) {
    move(state.start, Pending::Arrived, Pending::Done);
    state.startedOnSomePath |= state.start == Pending::Done;
    state.arrived.reset();
    move(state.finish, Pending::Arrived, Pending::Done);
  }
  if (reachesIntoPeer(op))
    state.finish = Pending::Open;
}
