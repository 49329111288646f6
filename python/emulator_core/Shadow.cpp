// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shadow of shared memory: whether an access is ordered with those before
// it. Nothing here looks at the time at which things happened: only at clocks.
#include "Cluster.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace tile_emulator {
namespace {

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9u;
  return value ^ (value >> 32);
}

// The same for the same members in any order.
uint64_t contentOf(const std::vector<std::pair<int32_t, uint32_t>> &members) {
  uint64_t content = 0;
  for (const auto &[thread, epoch] : members)
    content += mix(uint64_t(uint32_t(thread)) << 32 | epoch);
  return content;
}

bool isContiguous(const Accesses &accesses) {
  for (int i = 1; i < accesses.count; ++i)
    if (accesses.places[i] != accesses.places[i - 1] + accesses.nbytes)
      return false;
  return true;
}

bool hasTwoOfOnePlace(const Accesses &accesses) {
  const int count = accesses.count;
  bool rises = true, repeats = false;
  for (int i = 1; i < count; ++i) {
    rises &= accesses.places[i] > accesses.places[i - 1];
    repeats |= accesses.places[i] == accesses.places[i - 1];
  }
  if (rises || repeats)
    return repeats;
  auto sorted = accesses.places;
  std::sort(sorted.begin(), sorted.begin() + count);
  auto end = sorted.begin() + count;
  return std::adjacent_find(sorted.begin(), end) != end;
}

} // namespace

size_t Cluster::GrowthHash::operator()(const Growth &growth) const {
  uint64_t a = uint64_t(uint32_t(growth.old)) << 32 | growth.oldEpoch;
  uint64_t b = uint64_t(growth.bits) << 32 | growth.epoch;
  return mix(a ^ mix(b + uint32_t(growth.thread0)));
}

// Cells

template <class F>
void Cluster::look(int64_t start, int64_t stop, F function) const {
  while (start < stop) {
    const Cell &granule = cells[start / GRANULE];
    int64_t end = std::min(stop, (start / GRANULE + 1) * GRANULE);
    if (granule.split) {
      const Part &part = parts[granule.writer];
      for (; start < end; ++start)
        function(part[start % GRANULE], start, 1);
    } else {
      function(granule, start, static_cast<int>(end - start));
      start = end;
    }
  }
}

template <class F>
void Cluster::change(int64_t start, int64_t stop, F function) {
  while (start < stop) {
    Cell &granule = cells[start / GRANULE];
    int64_t end = std::min(stop, (start / GRANULE + 1) * GRANULE);
    if (!granule.split && end - start == GRANULE) {
      function(granule, start, GRANULE);
      start = end;
      continue;
    }
    if (!granule.split) {
      if (freeParts.empty()) {
        freeParts.push_back(static_cast<int>(parts.size()));
        parts.emplace_back(Part{granule, granule, granule, granule});
      }
      Part &part = parts[freeParts.back()];
      part.fill(granule);
      granule.writer = freeParts.back();
      granule.split = true;
      freeParts.pop_back();
    }
    for (; start < end; ++start)
      function(parts[granule.writer][start % GRANULE], start, 1);
  }
}

void Cluster::unite(Cell &granule, const Cell &cell) {
  if (granule.split)
    freeParts.push_back(granule.writer);
  granule = cell;
}

Cell Cluster::at(int64_t place) const {
  const Cell &granule = cells[place / GRANULE];
  return granule.split ? parts[granule.writer][place % GRANULE] : granule;
}

void Cluster::mark(int64_t start, int64_t stop, bool barrier, bool written) {
  if (orders)
    change(start, stop, [&](Cell &cell, int64_t, int) {
      cell.barrier = barrier;
      cell.written = written;
    });
}

void Cluster::forget(int64_t start, int64_t stop, int thread, int line) {
  if (!orders)
    return;
  change(start, stop, [&](Cell &cell, int64_t, int) {
    bool barrier = cell.barrier;
    cell = Cell(nobody());
    cell.barrier = barrier;
    cell.writer = thread;
    cell.writerEpoch = epoch[thread];
    cell.writerLine = line;
  });
}

// What is known

bool Cluster::knownWrite(const Cell &cell, const Clock &clock, int thread,
                         Row row) const {
  if (cell.writer < 0)
    return known(-1 - cell.writer, clock, SEEN);
  return cell.writer == thread ||
         clock.row(row)[cell.writer] >= cell.writerEpoch;
}

bool Cluster::knownRead(const Cell &cell, const Clock &clock,
                        int thread) const {
  return cell.reader == thread ||
         clock.row(READ)[cell.reader] >= cell.readerEpoch;
}

int Cluster::unknownReader(int number, const Clock &clock, int mine) {
  Set &set = sets[number];
  if (set.knownTo == clock.serial)
    return -1;
  const uint32_t *over = clock.row(READ);
  bool all = true;
  for (const auto &[thread, epoch] : set.members)
    if (over[thread] < epoch) {
      if (thread != mine)
        return thread;
      all = false;
    }
  if (all)
    set.knownTo = clock.serial;
  return -1;
}

int Cluster::someoneOf(int number) const {
  const Set &set = sets[number];
  int first = set.members.front().first;
  for (const auto &member : set.members)
    if (ctaOf(member.first) != ctaOf(first))
      return -1;
  return first;
}

bool Cluster::morallyStrong(Strength theirs, int who, int thread,
                            Strength mine) const {
  if (theirs == STRONG_WIDE && mine == STRONG_WIDE)
    return true;
  return mine != WEAK && theirs != WEAK && ctaOf(who) == ctaOf(thread);
}

// Reads of threads

void Cluster::read(Warp &warp, const Accesses &accesses) {
  if (!orders)
    return;
  if (warp.groups.size() == 1) {
    ClockPtr clock = warp.groups[0].clock;
    readPart(warp, *clock, accesses);
    return;
  }
  std::vector<Warp::Group> groups = warp.groups;
  for (const Warp::Group &group : groups) {
    Accesses part = accesses;
    part.count = 0;
    for (int i = 0; i < accesses.count; ++i)
      if (group.bits >> accesses.lanes[i] & 1) {
        part.lanes[part.count] = accesses.lanes[i];
        part.places[part.count++] = accesses.places[i];
      }
    if (part.count)
      readPart(warp, *group.clock, part);
  }
}

void Cluster::readPart(Warp &warp, const Clock &clock,
                       const Accesses &accesses) {
  collect();
  int64_t unknown = -1;
  int unknownThread = 0;
  bool written = true;
  for (int i = 0; i < accesses.count; ++i) {
    int thread = warp.thread0 + accesses.lanes[i];
    int64_t start = accesses.places[i];
    look(start, start + accesses.nbytes,
         [&](const Cell &cell, int64_t place, int) {
           written &= cell.written;
           if (unknown >= 0 || knownWrite(cell, clock, thread, VISIBLE) ||
               morallyStrong(cell.writerStrength, cell.writer, thread,
                             accesses.strength))
             return;
           unknown = place;
           unknownThread = thread;
         });
  }
  if (unknown >= 0)
    reporter->report("read_of_unknown_write", {unknownThread, unknown});
  if (!written)
    readNothing(warp, accesses);

  auto note = [&](Cell &cell, int reader, uint32_t readerEpoch) {
    cell.reader = reader;
    cell.readerEpoch = readerEpoch;
    cell.readerLine = accesses.line;
    cell.readerStrength = accesses.strength;
  };
  if (!isContiguous(accesses) && hasTwoOfOnePlace(accesses)) {
    std::array<bool, LANES_OF_WARP> done{};
    for (int i = 0; i < accesses.count; ++i) {
      if (done[i])
        continue;
      int first = warp.thread0 + accesses.lanes[i];
      Growth growth{0, 0, warp.thread0, 0, epoch[first]};
      for (int j = i; j < accesses.count; ++j)
        if (accesses.places[j] == accesses.places[i]) {
          growth.bits |= uint32_t(1) << accesses.lanes[j];
          done[j] = true;
        }
      int64_t start = accesses.places[i];
      change(start, start + accesses.nbytes, [&](Cell &cell, int64_t, int) {
        growth.old = cell.reader;
        growth.oldEpoch = cell.readerEpoch;
        note(cell, -1 - grow(growth, clock), 0);
      });
    }
    return;
  }
  struct Missing {
    Growth growth;
    int64_t place;
    int nbytes;
  };
  std::vector<Missing> missing;
  for (int i = 0; i < accesses.count; ++i) {
    int lane = accesses.lanes[i], thread = warp.thread0 + lane;
    int64_t start = accesses.places[i];
    change(start, start + accesses.nbytes,
           [&](Cell &cell, int64_t place, int nbytes) {
             if (cell.reader >= 0 && knownRead(cell, clock, thread)) {
               note(cell, thread, epoch[thread]);
               return;
             }
             Warp::Joined &last = warp.joined[lane];
             if (last.number >= 0 && last.old == cell.reader &&
                 last.oldEpoch == cell.readerEpoch &&
                 last.epoch == epoch[thread] && last.sets == collections) {
               note(cell, -1 - last.number, 0);
               return;
             }
             Growth growth{cell.reader, cell.readerEpoch, warp.thread0,
                           uint32_t(1) << lane, epoch[thread]};
             int number = find(growth);
             if (number < 0) {
               missing.push_back({growth, place, nbytes});
               return;
             }
             last = {cell.reader, number, cell.readerEpoch, epoch[thread],
                     collections};
             note(cell, -1 - number, 0);
           });
  }
  // New sets are numbered by what they grow from.
  std::stable_sort(
      missing.begin(), missing.end(), [](const Missing &a, const Missing &b) {
        return std::tie(a.growth.old, a.growth.oldEpoch, a.growth.bits) <
               std::tie(b.growth.old, b.growth.oldEpoch, b.growth.bits);
      });
  for (const Missing &each : missing) {
    int number = grow(each.growth, clock);
    change(each.place, each.place + each.nbytes,
           [&](Cell &cell, int64_t, int) { note(cell, -1 - number, 0); });
  }
}

void Cluster::readNothing(Warp &warp, const Accesses &accesses) {
  // Of a structure, its padding may be read.
  std::vector<int64_t> values{0, accesses.nbytes};
  int64_t onBarrier = -1;
  int thread = 0;
  for (int i = 0; i < accesses.count; ++i) {
    bool nothing = true;
    int64_t start = accesses.places[i];
    look(start, start + accesses.nbytes,
         [&](const Cell &cell, int64_t place, int) {
           nothing &= !cell.written;
           if (cell.barrier && onBarrier < 0) {
             onBarrier = place;
             thread = warp.thread0 + accesses.lanes[i];
           }
         });
    if (nothing) {
      if (values.size() == 2)
        values[0] = warp.thread0 + accesses.lanes[i];
      values.push_back(start);
    }
  }
  if (onBarrier >= 0)
    reporter->report("read_of_barrier", {thread, onBarrier});
  else if (values.size() > 2)
    reporter->report("read_of_nothing", values);
}

// Sets of readers

int Cluster::find(const Growth &growth) const {
  auto found = grown.find(growth);
  return found == grown.end() ? -1 : found->second;
}

void Cluster::collect() {
  constexpr int64_t LEAST = 1 << 16;
  if (memberCount <= memberLimit)
    return;
  std::vector<int> numbers(sets.size(), -1);
  auto visit = [&](auto function) {
    for (Cell &granule : cells)
      if (!granule.split)
        function(granule);
      else
        for (Cell &cell : parts[granule.writer])
          function(cell);
  };
  visit([&](Cell &cell) {
    if (cell.reader < 0)
      numbers[-1 - cell.reader] = 0;
  });
  std::vector<Set> kept;
  memberCount = 0;
  for (size_t number = 0; number < sets.size(); ++number)
    if (numbers[number] == 0) {
      numbers[number] = static_cast<int>(kept.size());
      memberCount += static_cast<int64_t>(sets[number].members.size());
      kept.push_back(std::move(sets[number]));
    }
  visit([&](Cell &cell) {
    if (cell.reader < 0)
      cell.reader = -1 - numbers[-1 - cell.reader];
  });
  sets = std::move(kept);
  grown.clear();
  ++collections;
  setsByContent.clear();
  for (size_t number = 0; number < sets.size(); ++number)
    setsByContent.emplace(contentOf(sets[number].members),
                          static_cast<int>(number));
  memberLimit = std::max(LEAST, 2 * memberCount);
}

int Cluster::grow(const Growth &growth, const Clock &clock) {
  int number = find(growth);
  if (number >= 0)
    return number;
  Set set;
  const uint32_t *over = clock.row(READ);
  auto keepUnknown = [&](int32_t thread, uint32_t since) {
    if (over[thread] < since)
      set.members.emplace_back(thread, since);
  };
  const int added = __builtin_popcount(growth.bits);
  if (growth.old < 0) {
    const auto &before = sets[-1 - growth.old].members;
    set.members.reserve(before.size() + added);
    for (const auto &[thread, since] : before)
      keepUnknown(thread, since);
  } else {
    set.members.reserve(1 + added);
    if (growth.old != nobody())
      keepUnknown(growth.old, growth.oldEpoch);
  }
  for (int lane = 0; lane < LANES_OF_WARP; ++lane)
    if (growth.bits >> lane & 1) {
      int thread = growth.thread0 + lane;
      auto same = std::find_if(set.members.begin(), set.members.end(),
                               [&](auto &m) { return m.first == thread; });
      if (same != set.members.end())
        same->second = epoch[thread];
      else
        set.members.emplace_back(thread, epoch[thread]);
    }
  // A set of the same members is the same set, in whatever order they came.
  uint64_t content = contentOf(set.members);
  auto [at, end] = setsByContent.equal_range(content);
  for (; at != end; ++at) {
    auto mine = set.members, other = sets[at->second].members;
    std::sort(mine.begin(), mine.end());
    std::sort(other.begin(), other.end());
    if (mine == other)
      return grown[growth] = at->second;
  }
  number = static_cast<int>(sets.size());
  memberCount += static_cast<int64_t>(set.members.size());
  sets.push_back(std::move(set));
  setsByContent.emplace(content, number);
  return grown[growth] = number;
}

// Writes of threads

void Cluster::write(Warp &warp, const Accesses &accesses,
                    const uint8_t *values) {
  if (!orders)
    return;
  if (warp.groups.size() == 1) {
    ClockPtr clock = warp.groups[0].clock;
    writePart(warp, *clock, accesses, values);
    return;
  }
  std::vector<Warp::Group> groups = warp.groups;
  std::vector<uint8_t> some(static_cast<size_t>(accesses.count) *
                            accesses.nbytes);
  for (const Warp::Group &group : groups) {
    Accesses part = accesses;
    part.count = 0;
    for (int i = 0; i < accesses.count; ++i)
      if (group.bits >> accesses.lanes[i] & 1) {
        std::memcpy(some.data() + part.count * accesses.nbytes,
                    values + i * accesses.nbytes, accesses.nbytes);
        part.lanes[part.count] = accesses.lanes[i];
        part.places[part.count++] = accesses.places[i];
      }
    if (part.count)
      writePart(warp, *group.clock, part, some.data());
  }
}

void Cluster::writePart(Warp &warp, const Clock &clock,
                        const Accesses &accesses, const uint8_t *values) {
  struct Bad {
    int64_t place = -1;
    int thread = 0;
    void found(int64_t where, int who) {
      if (place < 0) {
        place = where;
        thread = who;
      }
    }
  } barrier, unknownWrite, unknownRead;
  bool underCopy = false;
  if (accesses.strength == WEAK && !isContiguous(accesses) &&
      hasTwoOfOnePlace(accesses))
    sameInstruction(warp, accesses, values);
  for (int i = 0; i < accesses.count; ++i) {
    int thread = warp.thread0 + accesses.lanes[i];
    int64_t start = accesses.places[i];
    const uint8_t *mine = values + i * accesses.nbytes;
    look(start, start + accesses.nbytes,
         [&](const Cell &cell, int64_t place, int nbytes) {
           if (cell.barrier)
             barrier.found(place, thread);
           underCopy |= cell.copyReader >= 0;
           if (!knownWrite(cell, clock, thread, SEEN) &&
               !morallyStrong(cell.writerStrength, cell.writer, thread,
                              accesses.strength))
             for (int64_t at = place; at < place + nbytes; ++at) {
               bool same = !strict && cell.writer >= 0 && cell.written &&
                           bytes()[at] == mine[at - start];
               if (!same)
                 unknownWrite.found(at, thread);
             }
           if (cell.reader >= 0
                   ? knownRead(cell, clock, thread)
                   : unknownReader(-1 - cell.reader, clock, thread) < 0)
             return;
           int who =
               cell.reader >= 0 ? cell.reader : someoneOf(-1 - cell.reader);
           if (!morallyStrong(cell.readerStrength, who, thread,
                              accesses.strength))
             unknownRead.found(place, thread);
         });
  }
  if (barrier.place >= 0)
    reporter->report("write_on_barrier", {barrier.thread, barrier.place});
  if (unknownWrite.place >= 0)
    reporter->report("write_after_unknown_write",
                     {unknownWrite.thread, unknownWrite.place});
  if (unknownRead.place >= 0)
    reporter->report("write_after_unknown_read",
                     {unknownRead.thread, unknownRead.place});
  if (underCopy)
    writeUnderCopy(warp, clock, accesses);
  if (deferred)
    settle(accesses);
  for (int i = 0; i < accesses.count; ++i) {
    int thread = warp.thread0 + accesses.lanes[i];
    int64_t start = accesses.places[i], stop = start + accesses.nbytes;
    Cell fresh(nobody());
    fresh.writer = thread;
    fresh.writerEpoch = epoch[thread];
    fresh.writerLine = accesses.line;
    fresh.writerStrength = accesses.strength;
    fresh.written = true;
    if (accesses.nbytes >= GRANULE) {
      for (; start < stop; start += GRANULE) {
        Cell &granule = cells[start / GRANULE];
        fresh.barrier = at(start).barrier;
        unite(granule, fresh);
      }
      continue;
    }
    change(start, stop, [&](Cell &cell, int64_t, int) {
      fresh.barrier = cell.barrier;
      cell = fresh;
    });
  }
}

void Cluster::settle(const Accesses &accesses) {
  std::vector<int64_t> values{accesses.nbytes};
  values.insert(values.end(), accesses.places.begin(),
                accesses.places.begin() + accesses.count);
  reporter->report("settle_deferred", values);
}

void Cluster::sameInstruction(Warp &warp, const Accesses &accesses,
                              const uint8_t *values) {
  for (int i = 0; i < accesses.count; ++i)
    for (int first = 0; first < i; ++first) {
      if (accesses.places[first] != accesses.places[i])
        continue;
      if (std::memcmp(values + first * accesses.nbytes,
                      values + i * accesses.nbytes, accesses.nbytes)) {
        reporter->report("same_instruction",
                         {warp.thread0 + accesses.lanes[i],
                          accesses.lanes[first], accesses.places[i]});
        return;
      }
      break;
    }
}

std::vector<int> Cluster::copiesOf(int number) const {
  if (number < 0)
    return {};
  if (number >= SETS_OF_COPIES)
    return copySets[number - SETS_OF_COPIES];
  return {number};
}

void Cluster::writeUnderCopy(Warp &warp, const Clock &clock,
                             const Accesses &accesses) {
  // Of those that a clock does not know to be over, the lowest number.
  int worst = -1, culprit = -1;
  int64_t where = 0;
  int thread = 0;
  for (int i = 0; i < accesses.count; ++i) {
    int64_t start = accesses.places[i];
    look(start, start + accesses.nbytes,
         [&](const Cell &cell, int64_t place, int) {
           if (cell.copyReader < 0 || (worst >= 0 && cell.copyReader >= worst))
             return;
           for (int copy : copiesOf(cell.copyReader))
             if (!known(copy, clock, SEEN)) {
               worst = cell.copyReader;
               culprit = copy;
               where = place;
               thread = warp.thread0 + accesses.lanes[i];
               return;
             }
         });
  }
  if (worst >= 0)
    reporter->report("write_under_copy",
                     {thread, where, culprit, known(culprit, clock, CAUSED)});
}

// Copies

bool Cluster::fencedFor(const Cell &cell, const Clock &clock,
                        int thread) const {
  if (cell.writer < 0) {
    int before = -1 - cell.writer;
    return copies[before].asyncProxy || known(before, clock, FENCED);
  }
  return clock.row(FENCED)[cell.writer] >= cell.writerEpoch ||
         (cell.writer == thread && cell.writerEpoch <= fenced[thread]);
}

void Cluster::copyReads(int copy, const Clock &clock, int thread, int64_t start,
                        int64_t stop, bool leaves) {
  if (!orders)
    return;
  int64_t unknown = -1, unfenced = -1, onBarrier = -1;
  bool nothing = true;
  std::vector<int> readers;
  look(start, stop, [&](const Cell &cell, int64_t place, int) {
    if (unknown < 0 && !knownWrite(cell, clock, thread, VISIBLE))
      unknown = place;
    if (copies[copy].asyncProxy && unfenced < 0 &&
        !fencedFor(cell, clock, thread))
      unfenced = place;
    if (onBarrier < 0 && cell.barrier)
      onBarrier = place;
    nothing &= !cell.written;
    if (readers.empty() || readers.back() != cell.copyReader)
      readers.push_back(cell.copyReader);
  });
  if (unknown >= 0)
    reporter->report("copy_of_unknown_write", {copy, unknown});
  if (unfenced >= 0)
    reporter->report("unfenced", {copy, unfenced, true});
  if (onBarrier >= 0)
    reporter->report("copy_of_barrier", {copy, onBarrier});
  if (leaves && nothing)
    reporter->report("copy_of_nothing", {copy, start, stop});
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  std::map<int, int> next;
  for (int number : readers) {
    std::vector<int> members;
    for (int member : copiesOf(number))
      if (!known(member, clock, SEEN))
        members.push_back(member);
    if (members.empty()) {
      next[number] = copy;
      continue;
    }
    members.push_back(copy);
    next[number] = SETS_OF_COPIES + static_cast<int>(copySets.size());
    copySets.push_back(std::move(members));
  }
  change(start, stop, [&](Cell &cell, int64_t, int) {
    cell.copyReader = next[cell.copyReader];
  });
}

void Cluster::copyMeets(int copy, const Clock &clock, int64_t start,
                        int64_t stop) {
  if (!orders)
    return;
  // The lowest number of each side that is unknown, and where.
  int writer = 0, reader = -1, member = 0;
  int64_t writerPlace = 0, readerPlace = 0;
  std::vector<int> before;
  look(start, stop, [&](const Cell &cell, int64_t, int) {
    if (cell.writer < 0 &&
        std::find(before.begin(), before.end(), cell.writer) == before.end())
      before.push_back(cell.writer);
  });
  std::sort(before.begin(), before.end());
  for (int number : before) {
    int other = -1 - number, width = copies[copy].width;
    if (width && width == copies[other].width && !known(other, clock, SEEN))
      copies[copy].joined.push_back(other);
  }
  look(start, stop, [&](const Cell &cell, int64_t place, int) {
    if (cell.writer < writer) {
      const std::vector<int> &joined = copies[copy].joined;
      int other = -1 - cell.writer;
      if (std::find(joined.begin(), joined.end(), other) == joined.end() &&
          !known(other, clock, SEEN)) {
        writer = cell.writer;
        writerPlace = place;
      }
    }
    if (cell.copyReader >= 0 && (reader < 0 || cell.copyReader < reader))
      for (int other : copiesOf(cell.copyReader))
        if (!known(other, clock, SEEN)) {
          reader = cell.copyReader;
          member = other;
          readerPlace = place;
          return;
        }
  });
  if (writer < 0)
    reporter->report("copy_over_copy", {copy, writerPlace, -1 - writer});
  else if (reader >= 0)
    reporter->report("copy_over_source", {copy, readerPlace, member});
}

void Cluster::copyWrites(int copy, const Clock &clock, int thread,
                         int64_t start, int64_t stop, int64_t source,
                         int line) {
  if (!orders)
    return;
  const bool async = copies[copy].asyncProxy, reduces = copies[copy].width;
  const std::vector<int> joined = copies[copy].joined;
  int64_t onBarrier = -1, unknownWrite = -1, unknownRead = -1, unfenced = -1,
          unfencedRead = -1;
  int who = 0;
  std::vector<int64_t> nothing{copy};
  const uint32_t *fencedRow = clock.row(FENCED);
  auto readFenced = [&](int reader, uint32_t readerEpoch) {
    return fencedRow[reader] >= readerEpoch ||
           (reader == thread && readerEpoch <= fenced[thread]);
  };
  look(start, stop, [&](const Cell &cell, int64_t place, int nbytes) {
    if (onBarrier < 0 && cell.barrier)
      onBarrier = place;
    // Copies that are not known have been reported.
    if (unknownWrite < 0 && cell.writer >= 0 &&
        !knownWrite(cell, clock, thread, SEEN))
      unknownWrite = place;
    if (reduces && !cell.written)
      for (int64_t at = place; at < place + nbytes; ++at)
        nothing.push_back(at);
    if (unknownRead < 0) {
      int reader = -1;
      if (cell.reader < 0)
        reader = unknownReader(-1 - cell.reader, clock, thread);
      else if (!knownRead(cell, clock, thread))
        reader = cell.reader;
      if (reader >= 0) {
        unknownRead = place;
        who = reader;
      }
    }
    if (!async)
      return;
    if (unfenced < 0 && !fencedFor(cell, clock, thread))
      unfenced = place;
    if (!strict || unfencedRead >= 0)
      return;
    bool all = true;
    if (cell.reader >= 0)
      all = readFenced(cell.reader, cell.readerEpoch);
    else
      for (const auto &[reader, readerEpoch] : sets[-1 - cell.reader].members)
        all &= readFenced(reader, readerEpoch);
    if (!all)
      unfencedRead = place;
  });
  if (onBarrier >= 0)
    reporter->report("copy_over_barrier", {copy, onBarrier});
  if (unknownWrite >= 0)
    reporter->report("copy_over_unknown_write", {copy, unknownWrite});
  if (nothing.size() > 1)
    reporter->report("reduction_of_nothing", nothing);
  if (unknownRead >= 0)
    reporter->report("copy_over_unknown_read", {copy, unknownRead, who});
  if (unfenced >= 0)
    reporter->report("unfenced", {copy, unfenced, false});
  if (unfencedRead >= 0)
    reporter->report("copy_over_unfenced_read", {copy, unfencedRead});
  if (deferred)
    reporter->report("settle_deferred", {stop - start, start});
  Cell fresh(nobody());
  fresh.writer = -1 - copy;
  fresh.writerLine = line;
  auto isWritten = [&](int64_t place) {
    return source < 0 || at(source + place - start).written;
  };
  for (int64_t place = start + 1; place < stop && source >= 0; ++place)
    if (place % GRANULE && isWritten(place) != isWritten(place - 1))
      change(place, place + 1, [](Cell &, int64_t, int) {});
  change(start, stop, [&](Cell &cell, int64_t place, int) {
    fresh.barrier = cell.barrier;
    fresh.written = isWritten(place);
    cell = fresh;
  });
}

} // namespace tile_emulator
