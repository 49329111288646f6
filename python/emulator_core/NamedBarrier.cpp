// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NamedBarrier.h"

#include "Cluster.h"

#include <algorithm>
#include <stdexcept>

namespace tile_emulator {
namespace {

// How many threads lanes count for where a barrier counts: missing and exited
// lanes come with the others.
int counted(const Warp &warp, uint32_t bits) {
  return bits == warp.live ? LANES_OF_WARP : __builtin_popcount(bits);
}

} // namespace

uint32_t NamedBarrier::membersOf(const Warp &warp) const {
  for (const auto &[member, bits] : members)
    if (member == &warp)
      return bits;
  return 0;
}

bool NamedBarrier::isUsedBy(const Warp &warp) const {
  return std::find(users.begin(), users.end(), &warp) != users.end();
}

NamedBarrier &Cluster::namedBarrier(const Warp &warp, uint32_t bits,
                                    uint32_t number) {
  constexpr uint32_t COUNT = 16;
  if (number >= COUNT) {
    reporter->report("no_cta_barrier",
                     {warp.thread0 + __builtin_ctz(bits), number});
    throw std::logic_error("a barrier that does not exist was not reported");
  }
  auto &ofCta = namedBarriers[warp.rank];
  for (auto &[own, barrier] : ofCta)
    if (own == number)
      return *barrier;
  ofCta.emplace_back(number, std::make_unique<NamedBarrier>());
  return *ofCta.back().second;
}

void Cluster::arrive(Warp &warp, NamedBarrier &barrier, uint32_t bits,
                     int64_t expected, int votes, int yes) {
  const int64_t thread = warp.thread0 + __builtin_ctz(bits);
  const int64_t everyone = threadsPerCta;
  if (barrier.arrived && barrier.expected != expected) {
    auto orAll = [&](int64_t count) { return count > 0 ? count : everyone; };
    if (orAll(barrier.expected) != orAll(expected))
      reporter->report("barrier_counts_differ",
                       {thread, expected, barrier.expected});
    // No count means all threads: the two are the same, and a count wants
    // whole warps.
    expected = everyone;
    barrier.arrived = 0;
    for (const auto &[member, lanes] : barrier.members)
      barrier.arrived += counted(*member, lanes);
  }
  if (expected != NamedBarrier::ALL &&
      (expected % LANES_OF_WARP || expected == 0 || expected > everyone))
    reporter->report("barrier_counts_badly", {thread, expected, everyone});
  if (barrier.membersOf(warp) & bits)
    reporter->report("barrier_arrives_twice", {thread});
  if (!barrier.isUsedBy(warp))
    barrier.users.push_back(&warp);
  auto member =
      std::find_if(barrier.members.begin(), barrier.members.end(),
                   [&](const auto &each) { return each.first == &warp; });
  if (member == barrier.members.end())
    barrier.members.emplace_back(&warp, bits);
  else
    member->second |= bits;
  barrier.expected = expected;
  ClockPtr released = release(warp, bits);
  if (barrier.clock && barrier.clock->columns >= released->columns)
    barrier.clock->learn(*released);
  else
    barrier.clock = barrier.clock ? join(barrier.clock, released) : released;
  // The hardware counts whole warps where a count is given.
  barrier.arrived += expected == NamedBarrier::ALL ? __builtin_popcount(bits)
                                                   : counted(warp, bits);
  barrier.votes += votes;
  barrier.yes += yes;
  if (expected != NamedBarrier::ALL && barrier.arrived > expected)
    reporter->report("barrier_overflows", {thread, barrier.arrived, expected});
  open(barrier, warp.rank);
}

void Cluster::open(NamedBarrier &barrier, int rank) {
  int64_t expected = barrier.expected == NamedBarrier::ALL ? liveThreads[rank]
                                                           : barrier.expected;
  if (barrier.arrived < expected)
    return;
  barrier.lastClock = std::move(barrier.clock);
  barrier.lastVotes = barrier.votes;
  barrier.lastYes = barrier.yes;
  barrier.clock = nullptr;
  barrier.votes = barrier.yes = barrier.arrived = 0;
  barrier.expected = NamedBarrier::ALL;
  barrier.members.clear();
  ++barrier.generation;
  reporter->wake(barrier);
}

void Cluster::leave(int rank, int threads) { liveThreads[rank] -= threads; }

void Cluster::openWithoutExited(int rank) {
  for (auto &[number, barrier] : namedBarriers[rank])
    if (barrier->arrived && barrier->expected == NamedBarrier::ALL)
      open(*barrier, rank);
}

NamedBarrier *Cluster::sync(Warp &warp, const void *fragment, uint32_t bits,
                            uint32_t number, int64_t expected, int votes,
                            int yes, bool waits) {
  auto found = warp.waits.find(fragment);
  if (found == warp.waits.end()) {
    NamedBarrier &barrier = namedBarrier(warp, bits, number);
    int generation = barrier.generation;
    arrive(warp, barrier, bits, expected, votes, yes);
    if (!waits)
      return nullptr;
    found = warp.waits.emplace(fragment, std::make_pair(&barrier, generation))
                .first;
  }
  auto [barrier, generation] = found->second;
  if (barrier->generation == generation)
    return barrier;
  warp.waits.erase(found);
  warp.lastBarrier = barrier;
  acquire(warp, bits, barrier->lastClock);
  return nullptr;
}

} // namespace tile_emulator
