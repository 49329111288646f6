// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/SyncFlow.h"
#include "lib/Analysis/BarrierUses.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tile;

bool SyncState::join(const SyncState &other) {
  if (other.unreached)
    return false;
  if (unreached) {
    *this = other;
    return true;
  }
  SyncState old = *this;
  start = std::max(start, other.start);
  startedOnSomePath |= other.startedOnSomePath;
  finish = std::max(finish, other.finish);
  for (auto [mine, theirs] : llvm::zip_equal(groups, other.groups))
    mine = std::max(mine, theirs);
  unfenced |= other.unfenced;
  written |= other.written;
  bool wasOverwritten = overwritten;
  overwritten |= other.overwritten;
  return std::tie(start, startedOnSomePath, finish, groups) !=
             std::tie(old.start, old.startedOnSomePath, old.finish,
                      old.groups) ||
         unfenced != old.unfenced || written != old.written ||
         overwritten != wasOverwritten;
}

/// Whether a path of at least one edge leads from `from` to `to`.
static bool reachesBlock(Block *from, Block *to) {
  SmallVector<Block *> open(from->getSuccessors());
  llvm::SmallPtrSet<Block *, 8> seen;
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    if (block == to)
      return true;
    if (seen.insert(block).second)
      llvm::append_range(open, block->getSuccessors());
  }
  return false;
}

bool tile::mayFollow(Operation *first, Operation *later, Region &body) {
  Region *region = first->getParentRegion();
  while (region != &body && !region->findAncestorOpInRegion(*later))
    region = region->getParentRegion();
  Operation *from = region->findAncestorOpInRegion(*first);
  Operation *to = region->findAncestorOpInRegion(*later);
  if (!from || !to)
    return true;
  if (from != to && from->getBlock() == to->getBlock() &&
      from->isBeforeInBlock(to))
    return true;
  if (from == to && isa<LoopLikeOpInterface>(from))
    return true;
  if (reachesBlock(from->getBlock(), to->getBlock()))
    return true;
  for (; region != &body; region = region->getParentRegion()) {
    Operation *around = region->getParentOp();
    if (isa<LoopLikeOpInterface>(around) ||
        reachesBlock(around->getBlock(), around->getBlock()))
      return true;
  }
  return false;
}

/// The place of `declaration`, which is given one where it has none.
static void addTo(SmallVectorImpl<Value> &places, Value declaration) {
  if (llvm::none_of(places, [&](Value other) {
        return declareSameMemory(other, declaration);
      }))
    places.push_back(declaration);
}

/// The places of what is known of `origins`; the one behind the last is for
/// anything else.
static llvm::SmallBitVector placesOf(const Origins &origins,
                                     ArrayRef<Value> places) {
  llvm::SmallBitVector result(places.size() + 1);
  for (auto [place, declaration] : llvm::enumerate(places))
    for (Value known : origins.known)
      if (declareSameMemory(declaration, known))
        result.set(place);
  if (origins.hasUnknown)
    result.set(places.size());
  return result;
}

SyncFlow::SyncFlow(Region &body, bool copiesFence)
    : body(body), copiesFence(copiesFence) {
  SmallVector<Operation *> allInits;
  body.walk([&](Operation *op) {
    if (reachesIntoPeer(op))
      remotes.push_back(op);
    if (auto copy = dyn_cast<CopyAsyncOp>(op))
      copies.push_back(copy);
    if (initialisesBarrier(op))
      allInits.push_back(op);
  });
  for (Block &block : body)
    if (!block.empty() && block.back().getNumSuccessors() == 0 &&
        isa<gpu::ReturnOp, gpu::TerminatorOp>(block.back()))
      exits.push_back(&block.back());
  if (remotes.empty())
    return;
  findGroups(allInits);
  findSources();
  findReceived();
  findDestinationUses();

  SyncState entry;
  entry.unreached = false;
  entry.start = entry.finish = Pending::Open;
  entry.groups.assign(groups.size() + 1, Pending::Done);
  entry.unfenced.resize(groups.size() + 1);
  entry.written.resize(sources.size() + 1);
  run(body, entry);
}

/// The barriers that `remote` arrives on or completes bytes on.
static Value barriersOf(Operation *remote) {
  if (auto copy = dyn_cast<CopyAsyncOp>(remote))
    return copy.getBarriers();
  return cast<ArriveOp>(remote).getBarriers();
}

void SyncFlow::findGroups(ArrayRef<Operation *> allInits) {
  llvm::MapVector<Operation *, Origins> origins;
  for (Operation *remote : remotes)
    origins[remote] = originsOf(barriersOf(remote));
  for (auto &[remote, used] : origins)
    for (Value known : used.known)
      addTo(groups, known);
  bool anyGroup = llvm::any_of(
      origins, [](const auto &entry) { return entry.second.hasUnknown; });
  for (Operation *init : allInits) {
    Origins initialised;
    if (Value barriers = initialisedBy(init))
      initialised = originsOf(barriers);
    else
      initialised.hasUnknown = true;
    // A raw pointer is seldom to a barrier of a group: it is taken to be one
    // where that is known, or where nothing is known of what peers use.
    bool isUsed = llvm::any_of(initialised.known, [&](Value known) {
      return llvm::any_of(
          groups, [&](Value group) { return declareSameMemory(group, known); });
    });
    if (!isUsed && !anyGroup &&
        !(initialised.hasUnknown && isa<nvgpu::MBarrierInitOp>(init)))
      continue;
    inits.push_back(init);
    origins[init] = initialised;
  }
  for (auto &[op, of] : origins) {
    groupsByOp[op] = placesOf(of, groups);
    if (of.hasUnknown)
      groupsByOp[op].set();
  }
}

void SyncFlow::findSources() {
  llvm::MapVector<Operation *, Origins> read;
  for (CopyAsyncOp copy : copies) {
    read[copy] = originsOf(copy.getSrc());
    for (Value known : read[copy].known)
      addTo(sources, known);
  }
  for (auto &[copy, origins] : read)
    sourcesByCopy[copy] = placesOf(origins, sources);
  body.walk([&](Operation *op) {
    Origins stored = storedBy(op);
    if (stored.empty())
      return;
    llvm::SmallBitVector &written = writtenByOp[op];
    written = placesOf(stored, sources);
    // A source of which nothing is known may be any memory that is written.
    written.set(sources.size());
    if (stored.hasUnknown)
      written.set();
  });
}

/// Whether the body of what `op` calls holds an op of that kind, as far as it
/// is known.
static bool calls(Operation *op, function_ref<bool(Operation *)> isOne) {
  auto call = dyn_cast<CallOpInterface>(op);
  Operation *callee = call ? call.resolveCallable() : nullptr;
  return callee && callee
                       ->walk([&](Operation *inner) {
                         return isOne(inner) ? WalkResult::interrupt()
                                             : WalkResult::advance();
                       })
                       .wasInterrupted();
}

bool tile::dependsOnPeers(Operation *op) {
  return reachesIntoPeer(op) || waitsForBarrier(op) ||
         calls(op, reachesIntoPeer) || calls(op, waitsForBarrier);
}

void SyncFlow::findDestinationUses() {
  Origins destinations;
  for (CopyAsyncOp copy : copies)
    destinations.add(originsOf(copy.getDst()));
  auto isDestination = [&](Value address) {
    Origins origins = originsOf(address);
    return llvm::any_of(origins.known, [&](Value known) {
      return llvm::any_of(destinations.known, [&](Value destination) {
        return declareSameMemory(known, destination);
      });
    });
  };
  body.walk([&](Operation *op) {
    Origins stored = storedBy(op);
    bool stores = llvm::any_of(storeAddresses(op), isDestination);
    if (stores)
      destinationStores.insert(op);
    if (stores || stored.hasUnknown ||
        (destinations.hasUnknown && !stored.empty()) ||
        llvm::any_of(loadAddresses(op), isDestination))
      destinationUses.push_back(op);
  });
}

void SyncFlow::findReceived() {
  llvm::SmallVector<llvm::SmallBitVector> destinations;
  for (CopyAsyncOp copy : copies) {
    Origins origins = originsOf(copy.getDst());
    llvm::SmallBitVector &places =
        destinations.emplace_back(placesOf(origins, sources));
    places.set(sources.size());
    if (origins.hasUnknown)
      places.set();
  }
  body.walk([&](Operation *op) {
    if (!waitsForBarrier(op) && !calls(op, waitsForBarrier))
      return;
    Origins waited;
    if (Value index = barrierIndexOf(op))
      waited = originsOf(op->getOperand(0));
    else
      waited.hasUnknown = true;
    llvm::SmallBitVector waitedGroups = placesOf(waited, groups);
    if (waited.hasUnknown)
      waitedGroups.set();
    llvm::SmallBitVector &received = receivedByOp[op];
    received.resize(sources.size() + 1);
    for (auto [copy, destination] : llvm::zip_equal(copies, destinations))
      if (waitedGroups.anyCommon(groupsOf(copy)) &&
          (!barrierIndexOf(op) || mayUseSameBarrier(op, copy)))
        received |= destination;
  });
}

const SyncState &SyncFlow::before(Operation *op) const {
  static const SyncState unreached;
  auto found = states.find(op);
  return found == states.end() ? unreached : found->second;
}

llvm::SmallBitVector SyncFlow::groupsOf(Operation *op) const {
  return groupsByOp.lookup(op);
}

llvm::SmallBitVector SyncFlow::sourcesOf(CopyAsyncOp copy) const {
  return sourcesByCopy.lookup(copy);
}

llvm::SmallBitVector SyncFlow::writtenBy(Operation *op) const {
  auto found = writtenByOp.find(op);
  return found == writtenByOp.end() ? llvm::SmallBitVector(sources.size() + 1)
                                    : found->second;
}

llvm::SmallBitVector SyncFlow::receivedBy(Operation *op) const {
  return receivedByOp.lookup(op);
}

bool SyncFlow::needsProxyFence(CopyAsyncOp copy, Operation *before) const {
  const SyncState &state = this->before(before);
  return !state.unreached && state.written.anyCommon(sourcesOf(copy));
}

bool SyncFlow::announces(Operation *op) const {
  return isa<ArriveOp>(op) ||
         (isClusterArrive(op) && llvm::any_of(remotes, [&](Operation *remote) {
            return mayFollow(op, remote, body);
          }));
}

bool SyncFlow::comesTooEarly(Operation *remote) const {
  const SyncState &state = before(remote);
  return !state.unreached &&
         (state.start != Pending::Done ||
          llvm::any_of(groupsOf(remote).set_bits(), [&](unsigned group) {
            return state.groups[group] != Pending::Done;
          }));
}

SyncState SyncFlow::run(Region &region, const SyncState &in) {
  if (region.empty())
    return in;
  llvm::MapVector<Block *, SyncState> entries;
  SmallVector<Block *> open{&region.front()};
  entries[&region.front()] = in;
  SyncState out;
  while (!open.empty()) {
    Block *block = open.pop_back_val();
    SyncState state = entries[block];
    for (Operation &op : *block)
      visit(&op, state);
    if (block->hasNoSuccessors())
      out.join(state);
    for (Block *successor : block->getSuccessors())
      if (entries[successor].join(state))
        open.push_back(successor);
  }
  return out;
}

void SyncFlow::visit(Operation *op, SyncState &state) {
  states[op].join(state);
  if (op->getNumRegions() > 0)
    visitRegions(op, state);
  transfer(op, state);
}

void SyncFlow::visitRegions(Operation *op, SyncState &state) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  if (!loop) {
    SyncState out;
    for (Region &region : op->getRegions())
      out.join(run(region, state));
    state = out;
    return;
  }
  SyncState in = state, once;
  do {
    once = in;
    for (Region &region : op->getRegions())
      once = run(region, once);
  } while (in.join(once));
  if (auto whileLoop = dyn_cast<scf::WhileOp>(op))
    state = run(whileLoop.getBefore(), in);
  else if (std::optional<APInt> trips = loop.getStaticTripCount();
           trips && !trips->isZero())
    state = once;
  else
    state = in;
}

void SyncFlow::transfer(Operation *op, SyncState &state) {
  auto move = [](Pending &pending, Pending from, Pending to) {
    if (pending == from)
      pending = to;
  };
  if (calls(op, [](Operation *inner) {
        return isClusterArrive(inner) || isClusterWait(inner) ||
               isInitFence(inner) || isAsyncProxyFence(inner);
      })) {
    // What it does is not followed: take it to do everything.
    state.start = state.finish = Pending::Done;
    state.startedOnSomePath = true;
    state.groups.assign(groups.size() + 1, Pending::Done);
    state.unfenced.reset();
    state.written.reset();
    state.overwritten = false;
    return;
  }
  state.written |= writtenBy(op);
  state.written |= receivedBy(op);
  state.overwritten |= destinationStores.contains(op);
  if (initialisesBarrier(op)) {
    llvm::SmallBitVector initialised = groupsOf(op);
    for (unsigned group : initialised.set_bits())
      state.groups[group] = Pending::Open;
    state.unfenced |= initialised;
  }
  if (isInitFence(op))
    state.unfenced.reset();
  if (isAsyncProxyFence(op)) {
    state.written.reset();
    state.overwritten = false;
  }
  if (isClusterArrive(op)) {
    move(state.start, Pending::Open, Pending::Arrived);
    for (Pending &group : state.groups)
      move(group, Pending::Open, Pending::Arrived);
    if (llvm::none_of(remotes, [&](Operation *remote) {
          return mayFollow(op, remote, body);
        }))
      move(state.finish, Pending::Open, Pending::Arrived);
  }
  if (isClusterWait(op)) {
    move(state.start, Pending::Arrived, Pending::Done);
    state.startedOnSomePath |= state.start == Pending::Done;
    for (Pending &group : state.groups)
      move(group, Pending::Arrived, Pending::Done);
    move(state.finish, Pending::Arrived, Pending::Done);
  }
  if (reachesIntoPeer(op))
    state.finish = Pending::Open;
  if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && copiesFence)
    state.written.reset(sourcesOf(copy));
}
