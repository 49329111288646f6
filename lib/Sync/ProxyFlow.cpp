// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/ProxyFlow.h"
#include "lib/Sync/SharedAccesses.h"

using namespace mlir;
using namespace tile;

bool ProxyDemand::add(const ProxyDemand &other) {
  bool changed = joinBits(readHere, other.readHere);
  changed |= joinBits(writtenHere, other.writtenHere);
  changed |= joinBits(readThere, other.readThere);
  changed |= joinBits(writtenThere, other.writtenThere);
  return changed;
}

ProxyDemand ProxyDemand::ofAllCtas() const {
  ProxyDemand result = *this;
  result.readHere |= readThere;
  result.writtenHere |= writtenThere;
  result.readThere = result.readHere;
  result.writtenThere = result.writtenHere;
  return result;
}

bool ProxyDebt::join(const ProxyDebt &other) {
  if (other.unreached)
    return false;
  bool changed = unreached;
  unreached = false;
  changed |= joinBits(written, other.written);
  changed |= joinBits(read, other.read);
  changed |= joinBits(received, other.received);
  return changed;
}

namespace {

/// What is asked at each point, and by which ops others ask it.
class Demands {
public:
  explicit Demands(SharedAccesses &accesses) : accesses(accesses) {
    before.resize(accesses.points().size());
    for (Operation *arrive : clusterArrives())
      findNextWaits(arrive);
    for (const SyncPoint &point : accesses.points()) {
      if (!point.op)
        continue;
      if (const MeetingPoint *at = accesses.meetingAt(point.op);
          at && at->meeting.hears && at->meeting.channel == Channel::MBarrier)
        waited.add(at->barriers, {true});
      if (auto copy = dyn_cast<CopyAsyncOp>(point.op))
        ask(copy, ofAnyCopy);
    }
    accesses.flow.points().backwards(
        [&](unsigned point) { return visit(point); });
  }

  /// What threads ask of the one that executes `op` which hear of it there.
  ProxyDemand heardFrom(Operation *op) const {
    ProxyDemand result;
    const MeetingPoint *at = accesses.meetingAt(op);
    if (!at || !at->meeting.tells)
      return result;
    switch (at->meeting.channel) {
    case Channel::None:
      break;
    case Channel::MBarrier:
      waits.collect(at->barriers, result);
      break;
    case Channel::PeerMBarrier: {
      Seen wait;
      waited.collect(at->barriers, wait);
      // Where nothing is seen to wait for it, nothing is known of what follows.
      if (wait.isSeen)
        waits.collect(at->barriers, result);
      else if (isa<ArriveOp>(op))
        result = ofAnyCopy;
      return result.ofAllCtas();
    }
    case Channel::CtaBarrier:
    case Channel::WarpBarrier:
      // Where all threads come to one barrier, they meet at that one.
      if (at->meeting.hears)
        result.add(after(accesses.flow.points().at(op)));
      if (at->isDivergent || !at->meeting.hears)
        addMet(at->meeting, result);
      break;
    case Channel::ClusterBarrier:
      if (auto found = nextWaits.find(op); found != nextWaits.end())
        for (unsigned wait : found->second)
          result.add(after(wait));
      if (mayMeetOthers(op))
        result.add(clusterWaits);
      return result.ofAllCtas();
    }
    return result;
  }

private:
  struct Seen {
    bool isSeen = false;
    bool add(const Seen &other) {
      bool changed = other.isSeen && !isSeen;
      isSeen |= other.isSeen;
      return changed;
    }
  };

  /// What `copy` itself does.
  void ask(CopyAsyncOp copy, ProxyDemand &demand) {
    if (!mayUseAsyncProxy(copy))
      return;
    demand.readHere |= accesses.sources(copy);
    (copy.hasReceivers() ? demand.writtenThere : demand.writtenHere) |=
        accesses.destinations(copy);
  }

  ProxyDemand after(unsigned point) const {
    ProxyDemand result;
    for (unsigned next : accesses.points()[point].next)
      result.add(before[next]);
    return result;
  }

  SmallVector<Operation *> clusterArrives() const {
    SmallVector<Operation *> arrives;
    for (const SyncPoint &point : accesses.points())
      if (point.op && isClusterArrive(point.op))
        arrives.push_back(point.op);
    return arrives;
  }

  void findNextWaits(Operation *arrive) {
    ArrayRef<SyncPoint> points = accesses.points();
    SmallVector<unsigned> open;
    llvm::append_range(open, points[accesses.flow.points().at(arrive)].next);
    llvm::DenseSet<unsigned> seen;
    while (!open.empty()) {
      unsigned point = open.pop_back_val();
      if (!seen.insert(point).second)
        continue;
      Operation *op = points[point].op;
      if (op && isClusterWait(op))
        nextWaits[arrive].push_back(point);
      else if (!op || !isClusterArrive(op))
        llvm::append_range(open, points[point].next);
    }
  }

  /// Whether threads that meet at the cluster barrier `op` may be at another
  /// one: those of other CTAs may go another way.
  bool mayMeetOthers(Operation *op) const {
    return accesses.meetingAt(op)->isConditional;
  }

  void addMet(const Meeting &meeting, ProxyDemand &result) const {
    if (meeting.channel == Channel::WarpBarrier) {
      result.add(warpBarriers);
      return;
    }
    if (!meeting.number) {
      for (const auto &[number, demand] : ctaBarriers)
        result.add(demand);
      return;
    }
    for (int64_t number : {*meeting.number, kAnyNumber})
      if (auto found = ctaBarriers.find(number); found != ctaBarriers.end())
        result.add(found->second);
  }

  bool visit(unsigned point) {
    ProxyDemand demand = after(point);
    Operation *op = accesses.points()[point].op;
    bool changed = false;
    if (op) {
      changed |= hear(op, demand);
      if (isAsyncProxyFence(op)) {
        demand.readHere.reset();
        demand.writtenHere.reset();
        if (isPeerProxyFence(op))
          demand = {};
      }
      demand.add(heardFrom(op));
      if (auto copy = dyn_cast<CopyAsyncOp>(op))
        ask(copy, demand);
    }
    return before[point].add(demand) || changed;
  }

  /// Lets those who tell know what is asked after `op`, which hears of them.
  bool hear(Operation *op, const ProxyDemand &demand) {
    const MeetingPoint *at = accesses.meetingAt(op);
    if (!at || !at->meeting.hears)
      return false;
    switch (at->meeting.channel) {
    case Channel::None:
      return false;
    case Channel::MBarrier:
    case Channel::PeerMBarrier:
      return waits.add(at->barriers, demand);
    case Channel::CtaBarrier:
      return ctaBarriers[at->meeting.number.value_or(kAnyNumber)].add(demand);
    case Channel::WarpBarrier:
      return warpBarriers.add(demand);
    case Channel::ClusterBarrier:
      return mayMeetOthers(op) && clusterWaits.add(demand);
    }
    return false;
  }

  static constexpr int64_t kAnyNumber = -1;

  SharedAccesses &accesses;
  std::vector<ProxyDemand> before;
  PerBarrier<ProxyDemand> waits;
  PerBarrier<Seen> waited;
  ProxyDemand ofAnyCopy;
  llvm::DenseMap<int64_t, ProxyDemand> ctaBarriers;
  ProxyDemand warpBarriers, clusterWaits;
  llvm::DenseMap<Operation *, SmallVector<unsigned, 1>> nextWaits;
};

/// Goes the way of each thread, and pays what it owes where that is asked.
class Debts {
public:
  Debts(SharedAccesses &accesses, const Demands &demands, bool fencesReads)
      : accesses(accesses), demands(demands), fencesReads(fencesReads) {}

  SmallVector<Operation *> run() {
    // A fence that is found late leaves debts behind that it pays: look again
    // with it in place.
    for (size_t known = ~size_t(0); known != fenced.size();) {
      known = fenced.size();
      before.assign(accesses.points().size(), {});
      before.front().unreached = false;
      for (llvm::BitVector *bits :
           {&before.front().written, &before.front().read,
            &before.front().received})
        bits->resize(accesses.size());
      accesses.flow.points().forwards(
          [&](unsigned point) { return visit(point); });
    }
    SmallVector<Operation *> result;
    for (const SyncPoint &point : accesses.points())
      if (point.op && fenced.contains(point.op))
        result.push_back(point.op);
    return result;
  }

private:
  bool isDue(Operation *op, const ProxyDebt &debt) {
    if (debt.written.none() && debt.received.none() && debt.read.none())
      return false;
    ProxyDemand demand = demands.heardFrom(op);
    if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && mayUseAsyncProxy(copy)) {
      demand.readHere |= accesses.sources(copy);
      // The destination may be the thread's own.
      if (debt.written.anyCommon(accesses.destinations(copy)))
        return true;
      if (!copy.hasReceivers())
        demand.writtenHere |= accesses.destinations(copy);
    }
    llvm::BitVector mixed = debt.received;
    mixed &= accesses.mixed;
    return debt.written.anyCommon(demand.readHere) ||
           debt.written.anyCommon(demand.writtenHere) ||
           debt.received.anyCommon(demand.readHere) ||
           mixed.anyCommon(demand.writtenHere) ||
           (fencesReads && debt.read.anyCommon(demand.writtenHere));
  }

  bool visit(unsigned point) {
    ProxyDebt debt = before[point];
    if (debt.unreached)
      return false;
    if (Operation *op = accesses.points()[point].op) {
      if (fenced.contains(op) || isDue(op, debt)) {
        fenced.insert(op);
        pay(debt);
      }
      if (isAsyncProxyFence(op) || callsSynchronisation(op))
        pay(debt);
      if (const llvm::BitVector *bits = accesses.writtenBy(op))
        debt.written |= *bits;
      if (const llvm::BitVector *bits = accesses.readBy(op))
        debt.read |= *bits;
      if (const llvm::BitVector *bits = accesses.receivedBy(op))
        debt.received |= *bits;
    }
    bool changed = false;
    for (unsigned next : accesses.points()[point].next)
      changed |= before[next].join(debt);
    return changed;
  }

  static void pay(ProxyDebt &debt) {
    debt.written.reset();
    debt.read.reset();
    debt.received.reset();
  }

  SharedAccesses &accesses;
  const Demands &demands;
  bool fencesReads;
  llvm::DenseSet<Operation *> fenced;
  std::vector<ProxyDebt> before;
};

} // namespace

SmallVector<Operation *> tile::missingProxyFences(const SyncFlow &flow,
                                                  bool fencesReads) {
  SharedAccesses accesses(flow);
  Demands demands(accesses);
  return Debts(accesses, demands, fencesReads).run();
}
