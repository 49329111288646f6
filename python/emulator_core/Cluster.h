// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the CTAs of a cluster share, and what is known of each byte of it.
#pragma once

#include "Clock.h"
#include "MBarrier.h"
#include "Memory.h"
#include "NamedBarrier.h"

#include <array>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tile_emulator {

constexpr int LANES_OF_WARP = 32;

// How strong an access is: `machine/fences.py` has the same.
enum Strength : uint8_t { WEAK, STRONG, STRONG_WIDE };

// Makes reports, which may throw; `values` are those of the function of
// `order/conflicts.py` or `machine/cluster.py` with that name.
class Reporter {
public:
  virtual ~Reporter() = default;
  virtual void report(const char *what, const std::vector<int64_t> &values) = 0;
  // Lets those who wait at a barrier go on.
  virtual void wake(NamedBarrier &barrier) = 0;
};

// Who has written bytes and who has read them since: threads at an epoch,
// copies (`-1 - number`), or for readers a set of threads (`-1 - number`).
struct Cell {
  int32_t writer;
  uint32_t writerEpoch = 0;
  int32_t writerLine = 0;
  int32_t reader;
  uint32_t readerEpoch = 0;
  int32_t readerLine = 0;
  // A copy, a set of them (from SETS_OF_COPIES on), or -1.
  int32_t copyReader = -1;
  Strength writerStrength = WEAK, readerStrength = WEAK;
  bool written : 1, barrier : 1;
  // Whether this is no cell: `writer` is the number of those of its bytes.
  bool split : 1;

  explicit Cell(int nobody)
      : writer(nobody), reader(nobody), written(false), barrier(false),
        split(false) {}
};
constexpr int SETS_OF_COPIES = 1 << 30;

// A copy that was issued; completion is an epoch of a column, if it is known.
struct Copy {
  int column = -1;
  uint32_t epoch = 0;
  bool asyncProxy = false;
  // Bytes of an element of a reduction; 0 for a copy.
  int width = 0;
  std::vector<int> joined;
};

class Cluster;

// The state of a warp besides its registers.
class Warp {
public:
  Warp(Cluster &cluster, int rank, int thread0, uint32_t live, int localBytes);

  // What the lanes know. All lanes are in one group each.
  struct Group {
    uint32_t bits;
    ClockPtr clock;
  };
  std::vector<Group> groups;
  void setClock(uint32_t bits, ClockPtr clock);
  const ClockPtr &clockOf(int lane) const;

  Cluster &cluster;
  const int rank, thread0, localBytes;
  uint32_t live;
  std::vector<uint8_t> local;
  // Whether a fence has something to hand over to strong stores that follow.
  bool fenced = false;
  // The set that each lane joined last: loops read rows of words that the same
  // threads have read before. `sets` counts collections of sets.
  struct Joined {
    int32_t old = 0, number = -1;
    uint32_t oldEpoch = 0, epoch = 0, sets = 0;
  };
  std::array<Joined, LANES_OF_WARP> joined;
  // The barriers of the CTA that fragments wait at, and the generation that
  // they have arrived at; and that which the last to go on was at.
  std::unordered_map<const void *, std::pair<NamedBarrier *, int>> waits;
  NamedBarrier *lastBarrier = nullptr;
  // Fragments that wait for lanes at an instruction of the warp.
  int meetings = 0;
  // What each strong load found last, and where.
  std::unordered_map<const void *, std::vector<uint8_t>> found;
};

// One instruction's accesses: lane `lanes[i]` touches `nbytes` at `places[i]`.
struct Accesses {
  int count = 0, nbytes = 0, line = 0;
  Strength strength = WEAK;
  std::array<uint8_t, LANES_OF_WARP> lanes;
  std::array<int64_t, LANES_OF_WARP> places;
};

class Cluster {
public:
  Cluster(Memory &memory, const uint8_t *params, int64_t paramBytes,
          int ctaCount, int threadCount, int liveThreads, int64_t sharedBytes,
          bool orders, bool strict);

  Cluster(const Cluster &) = delete;

  Reporter *reporter = nullptr;
  Memory &memory;
  const uint8_t *params;
  const int64_t paramBytes;
  // A CTA's part of shared memory: what kernels may use, and all of it.
  const int64_t usableBytes, sharedBytes;
  const int ctaCount, threadCount, threadsPerCta;
  // Entry `threadCount` of each is nobody's.
  std::vector<uint32_t> epoch, fenced;
  ClockPtr firstClock;
  std::vector<uint64_t> shared;
  int64_t writes = 0;
  // Whether anything was released through memory.
  bool published = false;
  uint8_t *bytes() { return reinterpret_cast<uint8_t *>(shared.data()); }

  ClockPtr joined(const ClockPtr &a, const ClockPtr &b);
  void acquire(Warp &warp, uint32_t bits, const ClockPtr &clock);
  // What the threads know, themselves included; their epoch ends.
  ClockPtr release(const Warp &warp, uint32_t bits);
  // Lets the threads know of each other what `rows` say.
  void orderLanes(Warp &warp, uint32_t bits, uint32_t rows);
  // `fence.proxy.async`.
  void proxyFence(Warp &warp, uint32_t bits);

  // Peers: when threads last used a CTA's memory, by CTA and thread.
  std::vector<uint32_t> remote;
  std::vector<int32_t> remoteLine;
  std::vector<uint8_t> exited;

  // Turns shared addresses in `places` into places of the cluster's bytes.
  void place(Warp &warp, Accesses &accesses, int64_t align, bool localForm);

  // Threads of each CTA that have not exited, and its barriers.
  std::vector<int> liveThreads;
  std::vector<std::vector<std::pair<uint32_t, std::unique_ptr<NamedBarrier>>>>
      namedBarriers;
  // Threads of a CTA exit; then barriers may open without them.
  void leave(int rank, int threads);
  void openWithoutExited(int rank);
  // Lets lanes arrive at a barrier, or look again; returns it where they must
  // wait.
  NamedBarrier *sync(Warp &warp, const void *fragment, uint32_t bits,
                     uint32_t number, int64_t expected, int votes, int yes,
                     bool waits);

  // Live mbarriers by the place of their first byte.
  std::unordered_map<int64_t, MBarrier *> barriers;
  // The mbarriers that lanes use, and which lanes do, by the first of them.
  std::vector<std::pair<uint32_t, MBarrier *>>
  useBarriers(Warp &warp, const Accesses &accesses);

  // Global bytes that copies may still write.
  struct Span {
    uint64_t start, stop;
    int copy;
  };
  std::vector<Span> unwritten;
  // What a report says of the access.
  enum Use { LOADED, STORED, COPIED };
  void checkUnwritten(const Accesses &accesses, int thread0, Use use);

  // The shadow of shared memory.
  std::vector<Copy> copies;
  bool known(int copy, const Clock &clock, Row row) const;
  void read(Warp &warp, const Accesses &accesses);
  void write(Warp &warp, const Accesses &accesses, const uint8_t *values);
  void copyReads(int copy, const Clock &clock, int thread, int64_t start,
                 int64_t stop, bool leaves);
  void copyMeets(int copy, const Clock &clock, int64_t start, int64_t stop);
  void copyWrites(int copy, const Clock &clock, int thread, int64_t start,
                  int64_t stop, int64_t source, int line);
  void mark(int64_t start, int64_t stop, bool barrier, bool written);
  void forget(int64_t start, int64_t stop, int thread, int line);
  Cell at(int64_t place) const;
  // The first of the readers in a set, but for `mine`, that a clock does not
  // know to be over; -1 where there is none.
  int unknownReader(int set, const Clock &clock, int mine);
  // Whether a write must be compared with reads of bytes that nobody had
  // written.
  bool deferred = false;

  bool orders, strict;

private:
  static constexpr int GRANULE = 4;
  struct Set {
    // In the order in which they came.
    std::vector<std::pair<int32_t, uint32_t>> members;
    // A clock that knows all of them to be over.
    uint64_t knownTo = 0;
  };
  struct Growth {
    int32_t old;
    uint32_t oldEpoch;
    int32_t thread0;
    uint32_t bits, epoch;
    bool operator==(const Growth &other) const {
      return old == other.old && oldEpoch == other.oldEpoch &&
             thread0 == other.thread0 && bits == other.bits &&
             epoch == other.epoch;
    }
  };
  struct GrowthHash {
    size_t operator()(const Growth &growth) const;
  };

  NamedBarrier &namedBarrier(const Warp &warp, uint32_t bits, uint32_t number);
  void arrive(Warp &warp, NamedBarrier &barrier, uint32_t bits,
              int64_t expected, int votes, int yes);
  void open(NamedBarrier &barrier, int rank);

  int nobody() const { return threadCount; }
  int ctaOf(int thread) const {
    return thread < 0 ? -1 : thread / threadsPerCta;
  }
  // Calls `function(cell, place, nbytes)` for each cell of bytes; `change` may
  // change them.
  template <class F> void look(int64_t start, int64_t stop, F function) const;
  template <class F> void change(int64_t start, int64_t stop, F function);
  // Gives all bytes of a granule one cell.
  void unite(Cell &granule, const Cell &cell);
  bool knownWrite(const Cell &cell, const Clock &clock, int thread,
                  Row row) const;
  bool knownRead(const Cell &cell, const Clock &clock, int thread) const;
  bool fencedFor(const Cell &cell, const Clock &clock, int thread) const;
  bool morallyStrong(Strength theirs, int who, int thread, Strength mine) const;
  int someoneOf(int set) const;
  void readPart(Warp &warp, const Clock &clock, const Accesses &accesses);
  void readNothing(Warp &warp, const Accesses &accesses);
  void writePart(Warp &warp, const Clock &clock, const Accesses &accesses,
                 const uint8_t *values);
  void writeUnderCopy(Warp &warp, const Clock &clock, const Accesses &accesses);
  void sameInstruction(Warp &warp, const Accesses &accesses,
                       const uint8_t *values);
  int grow(const Growth &growth, const Clock &clock);
  int find(const Growth &growth) const;
  void collect();
  std::vector<int> copiesOf(int number) const;
  void settle(const Accesses &accesses);

  std::vector<Cell> cells;
  // Four cells for each granule of which parts were touched alone.
  using Part = std::array<Cell, GRANULE>;
  std::deque<Part> parts;
  std::vector<int> freeParts;
  std::vector<Set> sets;
  std::unordered_multimap<uint64_t, int> setsByContent;
  std::unordered_map<Growth, int, GrowthHash> grown;
  uint32_t collections = 0;
  int64_t memberCount = 0, memberLimit = 1 << 16;
  std::vector<std::vector<int>> copySets;
  struct Pair {
    ClockPtr a, b, result;
  };
  std::map<std::pair<uint64_t, uint64_t>, Pair> joins;
  std::deque<std::pair<uint64_t, uint64_t>> joinOrder;
  size_t joinLimit;
};

} // namespace tile_emulator
