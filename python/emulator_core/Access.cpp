// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Access.h"

#include <cstring>
#include <stdexcept>

namespace tile_emulator {
namespace {

// Where the windows of the generic address space begin; `machine/memory.py` has
// the same.
constexpr int WINDOW_SHIFT = 56;
constexpr uint64_t WINDOW_MASK = (uint64_t(1) << WINDOW_SHIFT) - 1;
enum Window : uint64_t { GLOBAL, SHARED, LOCAL, PARAM };

// An element of up to 8 bytes; each size is a move of its own.
inline void copyElement(uint8_t *target, const uint8_t *source, int width) {
  switch (width) {
  case 1:
    *target = *source;
    break;
  case 2:
    std::memcpy(target, source, 2);
    break;
  case 4:
    std::memcpy(target, source, 4);
    break;
  default:
    std::memcpy(target, source, 8);
  }
}

class Performing {
public:
  Performing(const Access &access, const Accesses &accesses, Warp &warp,
             const Lanes &lanes)
      : access(access), warp(warp), cluster(warp.cluster), lanes(lanes),
        accesses(accesses) {}

  void run(Space space);
  bool repeats(const Accesses &all) const;
  bool changed = false;

private:
  void split();
  void onGlobal();
  void onShared(bool localForm);
  void onPrivate(uint8_t *data, int64_t stride, int64_t size);
  void move(int i, uint8_t *data);
  void combine(int i, const uint8_t *old, uint8_t *result) const;
  void exchange(int i, uint8_t *data);
  void readsOrWrites(int i, uint8_t *data) {
    if (access.action == Access::ATOMIC)
      exchange(i, data);
    else
      move(i, data);
  }
  uint64_t address(int i) const {
    return static_cast<uint64_t>(accesses.places[i]);
  }
  int64_t thread(int i) const { return warp.thread0 + accesses.lanes[i]; }
  [[noreturn]] void fail(const char *what, int i,
                         const std::vector<int64_t> &values) {
    std::vector<int64_t> all{thread(i), accesses.places[i], accesses.nbytes};
    all.insert(all.end(), values.begin(), values.end());
    cluster.reporter->report(what, all);
    throw std::logic_error("a bad address was not reported");
  }

  const Access &access;
  Warp &warp;
  Cluster &cluster;
  const Lanes &lanes;
  Accesses accesses;
};

// An access has at most eight elements of eight bytes.
constexpr int MOST_BYTES = 64;

// Lane i's elements, between its registers and memory.
void Performing::move(int i, uint8_t *data) {
  int lane = accesses.lanes[i], width = access.width;
  for (int slot : access.slots) {
    if (slot >= 0) {
      uint8_t *element = lanes.at<uint8_t>(slot) + lane * width;
      if (access.action == Access::STORE)
        copyElement(data, element, width);
      else
        copyElement(element, data, width);
    }
    data += width;
  }
}

void Performing::combine(int i, const uint8_t *old, uint8_t *result) const {
  int lane = accesses.lanes[i], width = access.width;
  for (size_t e = 0; e < access.operands.size(); ++e) {
    const uint8_t *b = lanes.at<uint8_t>(access.operands[e]) + lane * width;
    const uint8_t *c = access.others.empty()
                           ? nullptr
                           : lanes.at<uint8_t>(access.others[e]) + lane * width;
    access.combine(old + e * width, b, c, result + e * width);
  }
}

void Performing::exchange(int i, uint8_t *data) {
  uint8_t old[MOST_BYTES], result[MOST_BYTES];
  std::memcpy(old, data, accesses.nbytes);
  combine(i, old, result);
  changed |= std::memcmp(old, result, accesses.nbytes) != 0;
  std::memcpy(data, result, accesses.nbytes);
  move(i, old);
}

void Performing::onShared(bool localForm) {
  cluster.place(warp, accesses, accesses.nbytes, localForm);
  if (access.action != Access::STORE)
    cluster.read(warp, accesses);
  if (access.action != Access::LOAD && cluster.orders) {
    uint8_t values[LANES * MOST_BYTES];
    for (int i = 0; i < accesses.count; ++i)
      if (access.action == Access::STORE)
        move(i, values + i * accesses.nbytes);
      else
        combine(i, cluster.bytes() + accesses.places[i],
                values + i * accesses.nbytes);
    cluster.write(warp, accesses, values);
  }
  for (int i = 0; i < accesses.count; ++i)
    readsOrWrites(i, cluster.bytes() + accesses.places[i]);
  if (access.action != Access::LOAD)
    ++cluster.writes;
}

void Performing::onGlobal() {
  const uint64_t nbytes = accesses.nbytes;
  for (int i = 0; i < accesses.count; ++i)
    if (address(i) & (nbytes - 1))
      fail("misaligned_address", i, {});
  cluster.checkUnwritten(accesses, warp.thread0,
                         access.action == Access::STORE ? Cluster::STORED
                                                        : Cluster::LOADED);
  uint8_t *places[LANES];
  for (int i = 0; i < accesses.count; ++i) {
    places[i] = cluster.memory.find(address(i), nbytes);
    if (!places[i])
      fail("outside_of_global", i, {});
    // A store ends where it fails.
    if (access.action == Access::STORE)
      move(i, places[i]);
  }
  if (access.action != Access::STORE)
    for (int i = 0; i < accesses.count; ++i)
      readsOrWrites(i, places[i]);
  if (access.action != Access::LOAD)
    ++cluster.writes;
}

void Performing::onPrivate(uint8_t *data, int64_t stride, int64_t size) {
  const int64_t nbytes = accesses.nbytes;
  for (int i = 0; i < accesses.count; ++i) {
    accesses.places[i] &= WINDOW_MASK;
    if (accesses.places[i] > size - nbytes)
      fail("outside_of_private", i, {size});
  }
  for (int i = 0; i < accesses.count; ++i)
    if (accesses.places[i] & (nbytes - 1))
      fail("misaligned_address", i, {});
  for (int i = 0; i < accesses.count; ++i)
    readsOrWrites(i, data + accesses.lanes[i] * stride + accesses.places[i]);
}

// Generic addresses, by window.
void Performing::split() {
  const Accesses all = accesses;
  uint64_t window = 0;
  for (int left = all.count; left;) {
    uint64_t next = ~uint64_t(0);
    accesses.count = 0;
    for (int i = 0; i < all.count; ++i) {
      uint64_t address = static_cast<uint64_t>(all.places[i]);
      uint64_t own = address >> WINDOW_SHIFT;
      if (own > window)
        next = own < next ? own : next;
      if (own != window)
        continue;
      bool masked = window == SHARED || window == LOCAL;
      accesses.lanes[accesses.count] = all.lanes[i];
      accesses.places[accesses.count++] =
          static_cast<int64_t>(masked ? address & WINDOW_MASK : address);
    }
    left -= accesses.count;
    if (accesses.count)
      run(window == SHARED  ? Space::SharedCluster
          : window == LOCAL ? Space::Local
          : window == PARAM ? Space::Param
                            : Space::Global);
    window = next;
  }
}

void Performing::run(Space space) {
  switch (space) {
  case Space::Global:
    return onGlobal();
  case Space::Shared:
    return onShared(true);
  case Space::SharedCluster:
    return onShared(false);
  case Space::Param:
    // What is below the window is a parameter of a call, in local memory.
    if (access.action == Access::LOAD && address(0) >> WINDOW_SHIFT >= PARAM)
      return onPrivate(const_cast<uint8_t *>(cluster.params), 0,
                       cluster.paramBytes);
    [[fallthrough]];
  case Space::Local:
    return onPrivate(warp.local.data(), warp.localBytes, warp.localBytes);
  case Space::Generic:
    return split();
  }
}

// Whether the lanes have found what they found here before.
bool Performing::repeats(const Accesses &all) const {
  std::vector<uint8_t> found(all.count * (sizeof(int64_t) + all.nbytes));
  uint8_t *next = found.data();
  for (int i = 0; i < all.count; ++i) {
    std::memcpy(next, &all.places[i], sizeof(int64_t));
    next += sizeof(int64_t);
    for (int slot : access.slots) {
      copyElement(next, lanes.at<uint8_t>(slot) + all.lanes[i] * access.width,
                  access.width);
      next += access.width;
    }
  }
  std::vector<uint8_t> &before = warp.found[&access];
  if (before == found)
    return true;
  before = std::move(found);
  return false;
}

bool hasTwoOfOneAddress(const Accesses &accesses) {
  for (int i = 0; i < accesses.count; ++i)
    for (int j = 0; j < i; ++j)
      if (accesses.places[i] == accesses.places[j])
        return true;
  return false;
}

} // namespace

Accesses accessesOf(const Access &access, const Warp &warp,
                    const Lanes &lanes) {
  Accesses accesses;
  accesses.nbytes = access.width * static_cast<int>(access.slots.size());
  accesses.line = access.line;
  accesses.strength = access.strength;
  for (int lane = 0; lane < LANES; ++lane) {
    if (!(lanes.active >> lane & 1))
      continue;
    int64_t base = access.wideBase ? lanes.at<int64_t>(access.base)[lane]
                                   : lanes.at<uint32_t>(access.base)[lane];
    accesses.lanes[accesses.count] = static_cast<uint8_t>(lane);
    accesses.places[accesses.count++] = static_cast<int64_t>(
        static_cast<uint64_t>(base) + static_cast<uint64_t>(access.offset));
  }
  return accesses;
}

bool perform(const Access &access, const Accesses &accesses, Warp &warp,
             const Lanes &lanes) {
  if (access.action != Access::ATOMIC) {
    Performing performing(access, accesses, warp, lanes);
    performing.run(access.space);
    return access.action == Access::LOAD && access.strength != WEAK &&
           performing.repeats(accesses);
  }
  int64_t writes = warp.cluster.writes;
  bool changed = false;
  auto round = [&](const Accesses &some) {
    Performing performing(access, some, warp, lanes);
    performing.run(access.space);
    changed |= performing.changed;
  };
  if (!hasTwoOfOneAddress(accesses))
    round(accesses);
  else
    for (int i = 0; i < accesses.count; ++i) {
      Accesses one = accesses;
      one.count = 1;
      one.lanes[0] = accesses.lanes[i];
      one.places[0] = accesses.places[i];
      round(one);
    }
  if (!changed)
    warp.cluster.writes = writes;
  return !changed;
}

} // namespace tile_emulator
