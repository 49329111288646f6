// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cluster.h"

#include <algorithm>
#include <stdexcept>

namespace tile_emulator {
namespace {

// Shared addresses: the rank from this bit on, and where a CTA's own begin.
constexpr int RANK_SHIFT = 24;
constexpr int64_t SHARED_BASE = 0x400;

} // namespace

Warp::Warp(Cluster &cluster, int rank, int thread0, uint32_t live,
           int localBytes)
    : cluster(cluster), rank(rank), thread0(thread0), localBytes(localBytes),
      live(live), local(static_cast<size_t>(LANES_OF_WARP) * localBytes) {
  groups.push_back({0xffffffffu, cluster.firstClock});
}

void Warp::setClock(uint32_t bits, ClockPtr clock) {
  if (bits == 0xffffffffu || bits == live) {
    groups.assign(1, {0xffffffffu, std::move(clock)});
    return;
  }
  std::vector<Group> kept;
  for (Group &group : groups) {
    uint32_t rest = group.bits & ~bits;
    if (group.clock == clock)
      bits |= rest;
    else if (rest & live)
      kept.push_back({rest, std::move(group.clock)});
  }
  kept.push_back({bits, std::move(clock)});
  groups = std::move(kept);
}

const ClockPtr &Warp::clockOf(int lane) const {
  for (const Group &group : groups)
    if (group.bits >> lane & 1)
      return group.clock;
  return groups.front().clock;
}

Cluster::Cluster(Memory &memory, const uint8_t *params, int64_t paramBytes,
                 int ctaCount, int threadCount, int liveThreads,
                 int64_t usableBytes, bool orders, bool strict)
    : memory(memory), params(params), paramBytes(paramBytes),
      usableBytes(usableBytes),
      sharedBytes((std::max<int64_t>(usableBytes, 16) + 15) / 16 * 16),
      ctaCount(ctaCount), threadCount(threadCount),
      threadsPerCta(threadCount / ctaCount), epoch(threadCount + 1, 1),
      fenced(threadCount + 1, 0),
      firstClock(std::make_shared<Clock>(threadCount + 1)),
      shared(ctaCount * sharedBytes / 8), liveThreads(ctaCount, liveThreads),
      namedBarriers(ctaCount), orders(orders), strict(strict) {
  remote.resize(static_cast<size_t>(ctaCount) * threadCount);
  remoteLine.resize(remote.size());
  exited.resize(ctaCount);
  if (orders)
    cells.assign(ctaCount * sharedBytes / GRANULE, Cell(nobody()));
  // Clocks that are kept only to be found again take about this many bytes.
  constexpr size_t KEPT_BYTES = size_t(1) << 20;
  size_t clockBytes = sizeof(uint32_t) * ROWS * (threadCount + 1);
  joinLimit = std::clamp<size_t>(KEPT_BYTES / (3 * clockBytes), 16, 4096);
}

ClockPtr Cluster::joined(const ClockPtr &a, const ClockPtr &b) {
  if (a == b)
    return a;
  std::pair<uint64_t, uint64_t> key(a->serial, b->serial);
  auto found = joins.find(key);
  if (found != joins.end())
    return found->second.result;
  ClockPtr result = join(a, b);
  if (joinOrder.size() >= joinLimit) {
    joins.erase(joinOrder.front());
    joinOrder.pop_front();
  }
  joins.emplace(key, Pair{a, b, result});
  joinOrder.push_back(key);
  return result;
}

void Cluster::acquire(Warp &warp, uint32_t bits, const ClockPtr &clock) {
  if (warp.groups.size() == 1) {
    ClockPtr known = warp.groups[0].clock, both = joined(known, clock);
    if (both != known)
      warp.setClock(bits, std::move(both));
    return;
  }
  std::vector<Warp::Group> before = warp.groups;
  for (const Warp::Group &group : before)
    if (uint32_t lanes = group.bits & bits) {
      ClockPtr both = joined(group.clock, clock);
      if (both != group.clock)
        warp.setClock(lanes, std::move(both));
    }
}

ClockPtr Cluster::release(const Warp &warp, uint32_t bits) {
  int columns = 0;
  for (const Warp::Group &group : warp.groups)
    columns = std::max(columns, group.clock->columns);
  auto result = std::make_shared<Clock>(columns);
  for (const Warp::Group &group : warp.groups) {
    if (warp.groups.size() > 1 && !(group.bits & bits))
      continue;
    result->learn(*group.clock);
  }
  for (int lane = 0; lane < LANES_OF_WARP; ++lane) {
    if (!(bits >> lane & 1))
      continue;
    int thread = warp.thread0 + lane;
    for (Row number : {SEEN, VISIBLE, CAUSED, READ})
      result->row(number)[thread] = epoch[thread];
    uint32_t &own = result->row(FENCED)[thread];
    own = std::max(own, fenced[thread]);
    ++epoch[thread];
  }
  return result;
}

void Cluster::orderLanes(Warp &warp, uint32_t bits, uint32_t rows) {
  if (warp.groups.size() > 1 || bits != warp.live) {
    acquire(warp, bits, keep(*release(warp, bits), rows));
    return;
  }
  // All know the same, and learn of each other alone.
  ClockPtr known = keep(*warp.groups[0].clock, (1 << ROWS) - 1);
  for (int lane = 0; lane < LANES_OF_WARP; ++lane) {
    if (!(bits >> lane & 1))
      continue;
    int thread = warp.thread0 + lane;
    for (Row number : {SEEN, VISIBLE, CAUSED, READ})
      if (rows >> number & 1)
        known->row(number)[thread] = epoch[thread];
    if (rows >> FENCED & 1) {
      uint32_t &own = known->row(FENCED)[thread];
      own = std::max(own, fenced[thread]);
    }
    ++epoch[thread];
  }
  warp.setClock(bits, std::move(known));
}

void Cluster::proxyFence(Warp &warp, uint32_t bits) {
  std::vector<Warp::Group> before = warp.groups;
  for (const Warp::Group &group : before) {
    uint32_t lanes = before.size() == 1 ? bits : group.bits & bits;
    if (!lanes)
      continue;
    ClockPtr known = fence(group.clock);
    if (known != group.clock)
      warp.setClock(lanes, std::move(known));
  }
  for (int lane = 0; lane < LANES_OF_WARP; ++lane)
    if (bits >> lane & 1) {
      int thread = warp.thread0 + lane;
      fenced[thread] = epoch[thread]++;
    }
}

void Cluster::place(Warp &warp, Accesses &accesses, int64_t align,
                    bool localForm) {
  std::vector<uint32_t> peers;
  for (int i = 0; i < accesses.count; ++i) {
    uint64_t address = accesses.places[i];
    uint64_t rank = address >> RANK_SHIFT;
    int64_t offset =
        static_cast<int64_t>(address & ((uint64_t(1) << RANK_SHIFT) - 1)) -
        SHARED_BASE;
    int lane = accesses.lanes[i];
    bool own = rank == static_cast<uint64_t>(warp.rank);
    if (offset < 0 || offset > usableBytes - accesses.nbytes ||
        (offset & (align - 1)) || (!own && localForm) ||
        rank >= static_cast<uint64_t>(ctaCount)) {
      reporter->report("bad_shared_address",
                       {warp.thread0 + lane, accesses.places[i],
                        accesses.nbytes, align, localForm});
      throw std::logic_error("a bad address was not reported");
    }
    if (!own) {
      peers.resize(ctaCount);
      peers[rank] |= uint32_t(1) << lane;
    }
    accesses.places[i] = static_cast<int64_t>(rank) * sharedBytes + offset;
  }
  if (peers.empty())
    return;
  // In the order in which lanes name them.
  for (int i = 0; i < accesses.count; ++i) {
    int rank = static_cast<int>(accesses.places[i] / sharedBytes);
    uint32_t bits = peers[rank];
    if (!bits)
      continue;
    peers[rank] = 0;
    for (size_t g = 0; g < warp.groups.size(); ++g) {
      uint32_t some =
          warp.groups.size() == 1 ? bits : warp.groups[g].bits & bits;
      if (!some)
        continue;
      const uint32_t *caused = warp.groups[g].clock->row(CAUSED);
      const uint32_t *first = caused + rank * threadsPerCta;
      if (std::all_of(first, first + threadsPerCta,
                      [](uint32_t epoch) { return epoch == 0; }))
        reporter->report("peer_not_started",
                         {warp.thread0 + __builtin_ctz(some), rank});
    }
    if (exited[rank])
      reporter->report("peer_has_exited",
                       {warp.thread0 + __builtin_ctz(bits), rank});
    for (int lane = 0; lane < LANES_OF_WARP; ++lane)
      if (bits >> lane & 1) {
        int64_t entry =
            static_cast<int64_t>(rank) * threadCount + warp.thread0 + lane;
        remote[entry] = epoch[warp.thread0 + lane];
        remoteLine[entry] = accesses.line;
      }
  }
}

std::vector<std::pair<uint32_t, MBarrier *>>
Cluster::useBarriers(Warp &warp, const Accesses &accesses) {
  std::vector<std::pair<uint32_t, MBarrier *>> groups;
  // Lanes that know the same are reported once.
  std::vector<std::pair<MBarrier *, const Clock *>> hidden;
  for (int i = 0; i < accesses.count; ++i) {
    int lane = accesses.lanes[i], thread = warp.thread0 + lane;
    auto found = barriers.find(accesses.places[i]);
    if (found == barriers.end()) {
      reporter->report("no_barrier", {thread, accesses.places[i]});
      throw std::logic_error("a missing mbarrier was not reported");
    }
    MBarrier *barrier = found->second;
    const Clock *clock = warp.clockOf(lane).get();
    if (!barrier->hasVisibleInit(*clock, thread)) {
      std::pair<MBarrier *, const Clock *> key(barrier, clock);
      if (std::find(hidden.begin(), hidden.end(), key) == hidden.end()) {
        hidden.push_back(key);
        reporter->report("barrier_before_init", {thread, barrier->place});
      }
    }
    barrier->use(thread, epoch[thread]);
    auto same = std::find_if(groups.begin(), groups.end(), [&](auto &group) {
      return group.second == barrier;
    });
    if (same == groups.end())
      same = groups.insert(same, {0, barrier});
    same->first |= uint32_t(1) << lane;
  }
  return groups;
}

void Cluster::checkUnwritten(const Accesses &accesses, int thread0, Use use) {
  const uint64_t nbytes = accesses.nbytes;
  for (const Span &span : unwritten)
    for (int i = 0; i < accesses.count; ++i) {
      uint64_t address = accesses.places[i];
      if (address >= span.stop || address + nbytes <= span.start)
        continue;
      reporter->report(
          "global_under_copy",
          {thread0 + accesses.lanes[i], accesses.places[i], span.copy, use});
      return;
    }
}

bool Cluster::known(int copy, const Clock &clock, Row row) const {
  const Copy &state = copies[copy];
  if (state.column < 0 || clock.get(row, state.column) < state.epoch)
    return false;
  for (int other : state.joined)
    if (!known(other, clock, row))
      return false;
  return true;
}

} // namespace tile_emulator
