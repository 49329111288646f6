// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Sync/SharedAccesses.h"

#include "mlir/Interfaces/CallInterfaces.h"

using namespace mlir;
using namespace tile;

bool tile::joinBits(llvm::BitVector &mine, const llvm::BitVector &other) {
  if (mine.size() < other.size())
    mine.resize(other.size());
  if (!other.test(mine))
    return false;
  mine |= other;
  return true;
}

namespace {
/// Bits that are collected for each barrier.
struct Places {
  llvm::BitVector bits;
  bool add(const Places &other) { return joinBits(bits, other.bits); }
};
} // namespace

SharedAccesses::SharedAccesses(const SyncFlow &flow) : flow(flow) {
  for (CopyAsyncOp copy : flow.copies) {
    for (Value side : {sharedSource(copy), sharedDestination(copy)})
      if (side)
        places.add(places.originsOf(side));
    if (copy.getBarriers())
      groups.add(groups.originsOf(copy.getBarriers()));
  }
  for (const SyncPoint &point : points())
    if (point.op)
      if (Value barriers = meetingOf(point.op).barriers)
        groups.add(groups.originsOf(barriers));
  findMeetings();
  findMixed();
  findReceived();
  for (const SyncPoint &point : points())
    if (point.op)
      findAccesses(point.op);
}

static const llvm::BitVector *
find(const llvm::DenseMap<Operation *, llvm::BitVector> &map, Operation *op) {
  auto found = map.find(op);
  return found == map.end() ? nullptr : &found->second;
}

const MeetingPoint *SharedAccesses::meetingAt(Operation *op) const {
  auto found = meetings.find(op);
  return found == meetings.end() ? nullptr : &found->second;
}

const llvm::BitVector *SharedAccesses::writtenBy(Operation *op) const {
  return find(written, op);
}

const llvm::BitVector *SharedAccesses::readBy(Operation *op) const {
  return find(read, op);
}

const llvm::BitVector *SharedAccesses::receivedBy(Operation *op) const {
  return find(received, op);
}

llvm::BitVector SharedAccesses::namedBy(Value side) {
  return side ? places.named(places.originsOf(side)) : llvm::BitVector(size());
}

llvm::BitVector SharedAccesses::sources(CopyAsyncOp copy) {
  return namedBy(sharedSource(copy));
}

llvm::BitVector SharedAccesses::destinations(CopyAsyncOp copy) {
  return namedBy(sharedDestination(copy));
}

BarrierPlaces SharedAccesses::barriersOf(CopyAsyncOp copy) {
  Meeting meeting;
  meeting.barriers = copy.getBarriers();
  meeting.index = copy.getBarrierIndex();
  return barrierPlaces(meeting, groups);
}

void SharedAccesses::findMeetings() {
  Divergence divergence;
  for (const SyncPoint &point : points()) {
    if (!point.op)
      continue;
    Meeting meeting = meetingOf(point.op);
    if (meeting.channel == Channel::None)
      continue;
    MeetingPoint &found = meetings[point.op];
    found.meeting = meeting;
    if (meeting.channel == Channel::MBarrier ||
        meeting.channel == Channel::PeerMBarrier)
      found.barriers = barrierPlaces(meeting, groups);
    found.isDivergent = divergence.isDivergent(point.op->getBlock());
    found.isConditional = divergence.isConditional(point.op->getBlock());
  }
}

void SharedAccesses::findMixed() {
  llvm::BitVector stored(size()), copied(size());
  mixed.resize(size());
  for (CopyAsyncOp copy : flow.copies) {
    llvm::BitVector into = destinations(copy), other(size());
    if (mayUseGenericProxy(copy))
      other |= copied;
    if (mayUseAsyncProxy(copy))
      other |= stored;
    other &= into;
    mixed |= other;
    if (mayUseGenericProxy(copy))
      stored |= into;
    if (mayUseAsyncProxy(copy))
      copied |= into;
  }
}

void SharedAccesses::findReceived() {
  PerBarrier<Places> brought;
  for (CopyAsyncOp copy : flow.copies)
    if (Value dst = sharedDestination(copy); dst && mayUseGenericProxy(copy))
      brought.add(barriersOf(copy), {places.touched(places.originsOf(dst))});
  for (StoreAsyncOp store : flow.stores)
    brought.add(barrierPlaces(meetingOf(store), groups),
                {places.touched(places.originsOf(store.getDst()))});
  for (const SyncPoint &point : points()) {
    Operation *op = point.op;
    if (!op)
      continue;
    BarrierPlaces barriers;
    const MeetingPoint *meeting = meetingAt(op);
    if (meeting && meeting->meeting.hears &&
        meeting->meeting.channel == Channel::MBarrier)
      barriers = meeting->barriers;
    else if (isa<CallOpInterface>(op) && calls(op, waitsForBarrier))
      barriers.hasUnknown = true;
    else
      continue;
    Places into;
    brought.collect(barriers, into);
    if (into.bits.any())
      received[op] = into.bits;
  }
}

void SharedAccesses::findAccesses(Operation *op) {
  Origins stored, loaded;
  stored.hasUnknown = mayStoreInAssembly(op);
  loaded.hasUnknown = mayLoadInAssembly(op);
  for (Value address : storeAddresses(op))
    stored.add(places.originsOf(address));
  for (Value address : loadAddresses(op))
    loaded.add(places.originsOf(address));
  // A copy may read its source in the way of a thread.
  if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && mayUseGenericProxy(copy))
    if (Value src = sharedSource(copy))
      loaded.add(places.originsOf(src));
  if (!stored.empty())
    written[op] = places.touched(stored);
  if (!loaded.empty())
    read[op] = places.touched(loaded);
}
