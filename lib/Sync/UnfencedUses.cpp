// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/UnfencedUses.h"
#include "lib/Sync/SharedAccesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>

using namespace mlir;
using namespace tile;

/// Whether `first` comes before `later` in one execution of a block that holds
/// both: values from outside of that block are the same for them.
static bool comesBefore(Operation *first, Operation *later) {
  for (Block *block = later->getBlock(); block;) {
    Operation *anchor = block->findAncestorOpInBlock(*first);
    if (anchor)
      return anchor->isBeforeInBlock(block->findAncestorOpInBlock(*later));
    Operation *around = block->getParentOp();
    block = around ? around->getBlock() : nullptr;
  }
  return false;
}

/// The conditions that decide which buffer `value` is; fails where something
/// else decides, too.
static bool addDeciders(Value value, SmallVectorImpl<Value> &conditions) {
  value = bufferBehind(value);
  if (auto select = value.getDefiningOp<arith::SelectOp>()) {
    conditions.push_back(select.getCondition());
    return addDeciders(select.getTrueValue(), conditions) &&
           addDeciders(select.getFalseValue(), conditions);
  }
  if (auto branches = value.getDefiningOp<scf::IfOp>()) {
    unsigned result = cast<OpResult>(value).getResultNumber();
    conditions.push_back(branches.getCondition());
    return addDeciders(branches.thenYield().getOperand(result), conditions) &&
           addDeciders(branches.elseYield().getOperand(result), conditions);
  }
  return originsOf(value).known.size() == 1;
}

/// The conditions under which `op` runs; fails where it is not known that these
/// are all.
static bool addGuards(Operation *op, SmallVectorImpl<Value> &conditions) {
  for (; !isa<FunctionOpInterface, gpu::LaunchOp>(op); op = op->getParentOp()) {
    if (!op->getBlock()->isEntryBlock())
      return false;
    if (auto branches = dyn_cast<scf::IfOp>(op->getParentOp()))
      conditions.push_back(branches.getCondition());
  }
  return true;
}

/// What `values` are computed from.
static llvm::DenseSet<Value> inputsOf(ArrayRef<Value> values) {
  SmallVector<Value> open(values);
  llvm::DenseSet<Value> seen, inputs;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      continue;
    if (op && op->getNumOperands() > 0 && op->getNumRegions() == 0)
      llvm::append_range(open, op->getOperands());
    else
      inputs.insert(value);
  }
  return inputs;
}

/// Whether nothing ties what decides between the buffers of `value` to what
/// decides whether the ops run.
static bool isFreelyChosen(Value value, Operation *write, Operation *copy) {
  SmallVector<Value> deciders, guards;
  if (!addDeciders(value, deciders) || !addGuards(write, guards) ||
      !addGuards(copy, guards))
    return false;
  llvm::DenseSet<Value> behindGuards = inputsOf(guards);
  return llvm::none_of(inputsOf(deciders), [&](Value input) {
    return behindGuards.contains(input);
  });
}

/// Whether both are in different arms of one branch, so that no thread does
/// both in one execution of it.
static bool excludeEachOther(Operation *a, Operation *b) {
  Region *region = a->getParentRegion();
  Operation *inner = a;
  for (; region;
       inner = region->getParentOp(), region = inner->getParentRegion())
    if (Operation *other = region->findAncestorOpInRegion(*b)) {
      Operation *mine = region->findAncestorOpInRegion(*a);
      return mine == other && mine != a && mine != b &&
             isa<scf::IfOp, scf::IndexSwitchOp>(mine);
    }
  return false;
}

/// The one declaration that `value` names; null where it may be another one.
static Value theOne(const Origins &origins) {
  return origins.known.size() == 1 && !origins.hasUnknown
             ? origins.known.front()
             : Value();
}

namespace {

/// How far a set of uses has come, at one point. A use is `open` on a path
/// without a fence, `closed` where a fence follows it on some path.
struct Uses {
  llvm::BitVector open, closed;

  bool join(const Uses &other) {
    bool changed = joinBits(open, other.open);
    return joinBits(closed, other.closed) || changed;
  }
  void use(const llvm::BitVector &bits) {
    open |= bits;
    closed.reset(bits);
  }
  void fence() {
    closed |= open;
    open.reset();
  }
  llvm::BitVector left() const {
    llvm::BitVector bits = open;
    return bits.reset(closed);
  }
};

struct UseState {
  bool unreached = true;
  /// By ops that name one buffer, and by ops that name one of several.
  Uses stored, storedToOne, loaded;
  /// What other threads told of their stores: where one op tells and one op
  /// hears, and in any other way.
  Uses told, heard;

  bool join(const UseState &other) {
    if (other.unreached)
      return false;
    bool changed = unreached;
    unreached = false;
    changed |= stored.join(other.stored);
    changed |= storedToOne.join(other.storedToOne);
    changed |= loaded.join(other.loaded);
    changed |= told.join(other.told);
    return heard.join(other.heard) || changed;
  }
};

/// What threads tell at a barrier.
struct Told {
  Uses uses;
  bool add(const Told &other) { return uses.join(other.uses); }
};

/// An op that tells, and the only one that hears it.
struct Pair {
  Operation *tells, *hears;
};

class MustFlow {
public:
  MustFlow(Operation *kernel, const SyncFlow &flow, bool checksLoads)
      : kernel(kernel), flow(flow), accesses(flow), checksLoads(checksLoads) {
    states.resize(accesses.points().size());
    states.front().unreached = false;
    findPairs();
    findStores();
    flow.points().forwards([&](unsigned point) { return visit(point); });
  }

  SmallVector<UnfencedUse> run() {
    SmallVector<UnfencedUse> result;
    for (CopyAsyncOp copy : flow.copies)
      if (std::optional<UnfencedUse> use = findStore(copy))
        result.push_back(*use);
    if (checksLoads)
      findLoads(result);
    return result;
  }

private:
  const UseState &before(Operation *op) const {
    return states[flow.points().at(op)];
  }

  /// Ops that tell, and those that hear, by the barrier at which they meet.
  void findPairs() {
    using Key = std::tuple<int, int64_t, int64_t>;
    std::map<Key, std::pair<SmallVector<Operation *, 2>,
                            SmallVector<Operation *, 2>>>
        users;
    bool anyMBarrier = false, anyCtaBarrier = false;
    llvm::DenseSet<unsigned> anyOfGroup;
    for (const SyncPoint &point : accesses.points()) {
      const MeetingPoint *at =
          point.op ? accesses.meetingAt(point.op) : nullptr;
      if (!at)
        continue;
      std::optional<Key> key;
      if (at->meeting.channel == Channel::MBarrier) {
        const BarrierPlaces &places = at->barriers;
        anyMBarrier |= places.hasUnknown;
        if (places.groups.size() == 1 && places.index && !places.hasUnknown)
          key = {0, places.groups.front(), *places.index};
        else
          anyOfGroup.insert(places.groups.begin(), places.groups.end());
      } else if (at->meeting.channel == Channel::PeerMBarrier) {
        anyOfGroup.insert(at->barriers.groups.begin(),
                          at->barriers.groups.end());
        anyMBarrier |= at->barriers.hasUnknown;
      } else if (at->meeting.channel == Channel::CtaBarrier &&
                 (at->isDivergent || !at->meeting.hears)) {
        if (at->meeting.number)
          key = {1, *at->meeting.number, 0};
        anyCtaBarrier |= !at->meeting.number;
      }
      if (!key)
        continue;
      if (at->meeting.tells)
        users[*key].first.push_back(point.op);
      if (at->meeting.hears)
        users[*key].second.push_back(point.op);
    }
    // Only roles that are arms of one branch: others may be the same threads.
    auto pair = [&](Operation *tells, Operation *hears) {
      if (!excludeEachOther(tells, hears))
        return;
      pairs.push_back({tells, hears});
      heardAt[hears].push_back(tells);
    };
    for (auto &[key, ops] : users) {
      auto [kind, group, index] = key;
      if (kind == 0 ? anyMBarrier || anyOfGroup.contains(group) : anyCtaBarrier)
        continue;
      auto &[tell, hear] = ops;
      if (kind == 1 && tell.size() == 2 && hear.size() == 2) {
        pair(tell[0], tell[1]);
        pair(tell[1], tell[0]);
      } else if (hear.size() == 1) {
        llvm::erase(tell, hear.front());
        if (tell.size() == 1)
          pair(tell.front(), hear.front());
      }
    }
    llvm::sort(pairs, [&](const Pair &a, const Pair &b) {
      return flow.points().at(a.hears) < flow.points().at(b.hears);
    });
  }

  /// Bits of the buffers that `address` must name, and may name.
  void findStores() {
    for (CopyAsyncOp copy : flow.copies)
      if (auto barrier = copy.getBarriers() && !mayUseAsyncProxy(copy)
                             ? theBarrier(copy.getBarriers(), copy)
                             : std::nullopt) {
        Incoming &tiles = incoming[*barrier];
        tiles.origins.add(accesses.places.originsOf(copy.getDst()));
        tiles.buffers.insert(bufferBehind(copy.getDst()));
      }
    for (const SyncPoint &point : accesses.points()) {
      Operation *op = point.op;
      if (!op)
        continue;
      for (Value address : storeAddresses(op))
        addStores(op, accesses.places.originsOf(address));
      for (Value address : loadAddresses(op))
        if (Value one = theOne(accesses.places.originsOf(address)))
          if (auto number = accesses.places.numberOf(one)) {
            bits(loaded, op).set(*number);
            loadsOf[*number].push_back(op);
          }
      if (const Incoming *tiles = incomingAt(op))
        addStores(op, tiles->origins);
    }
  }

  void addStores(Operation *op, const Origins &origins) {
    if (origins.hasUnknown)
      return;
    for (Value known : origins.known)
      if (auto number = accesses.places.numberOf(known)) {
        bits(origins.known.size() == 1 ? stored : storedToOne, op).set(*number);
        auto &stores = storesOf[*number];
        if (stores.empty() || stores.back() != op)
          stores.push_back(op);
      }
  }

  using Map = llvm::DenseMap<Operation *, llvm::BitVector>;

  llvm::BitVector &bits(Map &map, Operation *op) {
    llvm::BitVector &found = map[op];
    if (found.empty())
      found.resize(accesses.size());
    return found;
  }

  bool visit(unsigned point) {
    UseState state = states[point];
    if (state.unreached)
      return false;
    bool changed = false;
    if (Operation *op = accesses.points()[point].op) {
      if (isAsyncProxyFence(op) || callsSynchronisation(op))
        for (Uses *uses : {&state.stored, &state.storedToOne, &state.loaded,
                           &state.told, &state.heard})
          uses->fence();
      if (auto found = stored.find(op); found != stored.end())
        for (Uses *uses : {&state.told, &state.heard}) {
          uses->open.reset(found->second);
          uses->closed.reset(found->second);
        }
      use(stored, op, state.stored);
      use(storedToOne, op, state.storedToOne);
      use(loaded, op, state.loaded);
      changed |= meet(op, state);
    }
    for (unsigned next : accesses.points()[point].next)
      changed |= states[next].join(state);
    return changed;
  }

  static void use(const Map &map, Operation *op, Uses &uses) {
    if (auto found = map.find(op); found != map.end())
      uses.use(found->second);
  }

  bool meet(Operation *op, UseState &state) {
    const MeetingPoint *at = accesses.meetingAt(op);
    if (!at)
      return false;
    bool changed = false;
    bool isMBarrier = at->meeting.channel == Channel::MBarrier ||
                      at->meeting.channel == Channel::PeerMBarrier;
    if (at->meeting.tells) {
      Told all;
      all.uses.join(state.stored);
      all.uses.join(state.storedToOne);
      all.uses.join(state.told);
      all.uses.join(state.heard);
      changed |=
          isMBarrier ? mbarriers.add(at->barriers, all) : others.add(all);
      changed |= tells[op].join(state.stored);
    }
    if (at->meeting.hears && (isMBarrier || at->isDivergent)) {
      Told all;
      if (isMBarrier)
        mbarriers.collect(at->barriers, all);
      else
        all = others;
      state.heard.join(all.uses);
    }
    if (auto found = heardAt.find(op); found != heardAt.end())
      for (Operation *other : found->second) {
        state.told.join(tells[other]);
      }
    return changed;
  }

  using Barrier = std::pair<unsigned, int64_t>;

  /// The one barrier that `op`, which uses one of `barriers`, must name.
  std::optional<Barrier> theBarrier(Value barriers, Operation *op) {
    Value index = barrierIndexOf(op);
    std::optional<int64_t> place = index ? constantOf(index) : std::nullopt;
    Value group = theOne(accesses.groups.originsOf(barriers));
    std::optional<unsigned> number =
        group ? accesses.groups.numberOf(group) : std::nullopt;
    if (!place || !number)
      return std::nullopt;
    return Barrier(*number, *place);
  }

  /// Tiles that must come by stores.
  struct Incoming {
    Origins origins;
    llvm::DenseSet<Value> buffers;
  };

  /// Those that `op` waits for; null where there are none.
  const Incoming *incomingAt(Operation *op) {
    if (incoming.empty() || !waitsForBarrier(op) || !barrierIndexOf(op))
      return nullptr;
    auto barrier = theBarrier(op->getOperand(0), op);
    auto found = barrier ? incoming.find(*barrier) : incoming.end();
    return found == incoming.end() ? nullptr : &found->second;
  }

  /// The first of the candidates, of which the last ones before `copy` come
  /// first, that `isOne`; only so many are tried.
  Operation *latest(ArrayRef<Operation *> candidates, Operation *copy,
                    function_ref<bool(Operation *)> isOne) const {
    unsigned at = flow.points().at(copy);
    auto after = llvm::partition_point(candidates, [&](Operation *candidate) {
      return flow.points().at(candidate) < at;
    });
    int tries = 16;
    for (auto it = after; it != candidates.begin() && tries-- > 0;)
      if (--it; !excludeEachOther(*it, copy) && isOne(*it))
        return *it;
    for (auto it = after; it != candidates.end() && tries-- > 0; ++it)
      if (!excludeEachOther(*it, copy) && isOne(*it))
        return *it;
    return nullptr;
  }

  std::optional<UnfencedUse> findStore(CopyAsyncOp copy) {
    const UseState &state = before(copy);
    if (state.unreached || !mayUseAsyncProxy(copy))
      return std::nullopt;
    llvm::BitVector read = accesses.sources(copy);
    read.reset(accesses.size() - 1);
    llvm::BitVector helped = state.heard.closed;
    auto uses = [&](Operation *use) {
      return UnfencedUse{waitsForBarrier(use) ? UnfencedUse::Received
                                              : UnfencedUse::Stored,
                         use, copy};
    };
    for (unsigned place : read.set_bits()) {
      if (place < helped.size() && helped.test(place))
        continue;
      auto isLeft = [&](const Uses &uses) {
        return place < uses.open.size() && uses.left().test(place);
      };
      ArrayRef<Operation *> stores = storesOf[place];
      if (isLeft(state.stored) || isLeft(state.storedToOne))
        if (Operation *store = latest(stores, copy, [&](Operation *store) {
              bool isOfOne =
                  stored.count(store) && stored.find(store)->second.test(place);
              return isLeft(isOfOne ? state.stored : state.storedToOne) &&
                     mustMeet(store, copy);
            }))
          return uses(store);
      if (isLeft(state.told))
        if (Operation *store = toldStore(copy, stores))
          return uses(store);
    }
    return std::nullopt;
  }

  /// One of `stores` that another thread told the one that copies of.
  Operation *toldStore(CopyAsyncOp copy, ArrayRef<Operation *> stores) {
    unsigned at = flow.points().at(copy);
    auto after = llvm::partition_point(pairs, [&](const Pair &pair) {
      return flow.points().at(pair.hears) < at;
    });
    int tries = 16;
    for (auto pair = after; pair != pairs.begin() && tries-- > 0;)
      if (--pair;
          comesBefore(pair->hears, copy) &&
          loopsAround(pair->hears).empty() == loopsAround(pair->tells).empty())
        if (Operation *store =
                latest(stores, pair->tells, [&](Operation *store) {
                  return stored.count(store) &&
                         comesBefore(store, pair->tells) &&
                         mustMeet(store, copy);
                }))
          return store;
    return nullptr;
  }

  /// Whether `use` stores to what `copy` reads, on some path that nothing in
  /// the kernel rules out.
  bool mustMeet(Operation *use, CopyAsyncOp copy) {
    const Origins &read = accesses.places.originsOf(copy.getSrc());
    if (waitsForBarrier(use)) {
      // Both variants are known.
      const Incoming *tiles = incomingAt(use);
      return !mayUseGenericProxy(copy) && theOne(read) && tiles &&
             tiles->buffers.contains(bufferBehind(copy.getSrc()));
    }
    for (Value address : storeAddresses(use)) {
      if (bufferBehind(address) == bufferBehind(copy.getSrc()) &&
          comesBefore(use, copy))
        return true;
      const Origins &origins = accesses.places.originsOf(address);
      Value source = theOne(read), target = theOne(origins);
      if (read.hasUnknown || origins.hasUnknown ||
          llvm::none_of(read.known, [&](Value one) {
            return llvm::any_of(origins.known, [&](Value other) {
              return declareSameMemory(one, other);
            });
          }))
        continue;
      if (source && target)
        return true;
      if ((source || target) && comesBefore(use, copy) &&
          isFreelyChosen(source ? address : copy.getSrc(), use, copy))
        return true;
    }
    return false;
  }

  /// Arrivals that tell the only peer that loads are done, which it waits for
  /// before it copies over what they read.
  void findLoads(SmallVectorImpl<UnfencedUse> &result) {
    if (knownSizes(kernel).ctas() != 2)
      return;
    llvm::DenseMap<unsigned, SmallVector<ArriveOp>> arrives;
    for (Operation *remote : flow.remotes)
      if (auto arrive = dyn_cast<ArriveOp>(remote))
        if (const MeetingPoint *at = accesses.meetingAt(arrive);
            at && at->barriers.groups.size() == 1 && !at->barriers.hasUnknown &&
            before(arrive).loaded.left().any())
          arrives[at->barriers.groups.front()].push_back(arrive);
    if (arrives.empty())
      return;
    llvm::DenseSet<Operation *> told;
    for (CopyAsyncOp copy : flow.copies) {
      if (!copy.hasReceivers())
        continue;
      Value into = theOne(accesses.places.originsOf(copy.getDst()));
      std::optional<unsigned> place =
          into ? accesses.places.numberOf(into) : std::nullopt;
      Operation *wait =
          place && !mayUseGenericProxy(copy) ? waitWithoutFence(copy) : nullptr;
      const MeetingPoint *at = wait ? accesses.meetingAt(wait) : nullptr;
      if (!at || at->barriers.groups.size() != 1 || at->barriers.hasUnknown)
        continue;
      for (ArriveOp arrive : arrives[at->barriers.groups.front()]) {
        const MeetingPoint *other = accesses.meetingAt(arrive);
        if (other->barriers.index != at->barriers.index ||
            told.contains(arrive) || !before(arrive).loaded.left().test(*place))
          continue;
        if (Operation *load =
                latest(loadsOf[*place], arrive, [&](Operation *load) {
                  return comesBefore(load, arrive);
                })) {
          told.insert(arrive);
          result.push_back({UnfencedUse::Loaded, load, arrive});
        }
      }
    }
  }

  /// The last wait before `copy`, where no fence may be between them, and which
  /// the copy cannot pass before someone arrives.
  static Operation *waitWithoutFence(CopyAsyncOp copy) {
    bool isRepeated = !loopsAround(copy).empty();
    for (Operation *op = copy; !isa<FunctionOpInterface, gpu::LaunchOp>(op);
         op = op->getParentOp()) {
      for (Operation *before = op->getPrevNode(); before;
           before = before->getPrevNode()) {
        if (before->getNumRegions() > 0 || isAsyncProxyFence(before) ||
            isa<CallOpInterface>(before))
          return nullptr;
        if (!waitsForBarrier(before))
          continue;
        auto wait = dyn_cast<WaitOp>(before);
        bool isSecondPhase =
            wait && !isRepeated && constantOf(wait.getParity()) == 0;
        return isRepeated || isSecondPhase ? before : nullptr;
      }
      if (isa<LoopLikeOpInterface>(op->getParentOp()))
        return nullptr;
    }
    return nullptr;
  }

  Operation *kernel;
  const SyncFlow &flow;
  SharedAccesses accesses;
  bool checksLoads;
  std::vector<UseState> states;
  /// By ops that name one buffer, and by ops that name one of several.
  Map stored, storedToOne, loaded;
  llvm::DenseMap<unsigned, SmallVector<Operation *>> storesOf, loadsOf;
  llvm::DenseMap<Barrier, Incoming> incoming;
  SmallVector<Pair> pairs;
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> heardAt;
  llvm::DenseMap<Operation *, Uses> tells;
  PerBarrier<Told> mbarriers;
  Told others;
};

} // namespace

SmallVector<UnfencedUse>
tile::unfencedUses(Operation *kernel, const SyncFlow &flow, bool checksLoads) {
  return MustFlow(kernel, flow, checksLoads).run();
}
