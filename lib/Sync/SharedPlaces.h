// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers for the buffers and the barriers that a kernel uses in shared memory,
// so that sets of them are bits.
#ifndef TILE_SYNC_SHARED_PLACES_H
#define TILE_SYNC_SHARED_PLACES_H

#include "lib/Sync/SyncOps.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace tile {

/// Declarations of shared memory, numbered in the order in which they are
/// added. The number after the last one is for anything else.
class SharedPlaces {
public:
  /// What `value` may name; kept, as many ops use the same value.
  const Origins &originsOf(mlir::Value value);

  void add(const Origins &origins);
  unsigned size() const { return numbers.size() + 1; }
  std::optional<unsigned> numberOf(mlir::Value declaration) const;

  /// The places that are known of `origins`, and the last one where it may be
  /// anything else.
  llvm::BitVector named(const Origins &origins) const;
  /// All places at which an access to `origins` may be noticed: the last one,
  /// too, which may be any of them, and all where it may be anything else.
  llvm::BitVector touched(const Origins &origins) const;

private:
  static const void *keyOf(mlir::Value declaration);

  llvm::DenseMap<const void *, unsigned> numbers;
  llvm::DenseMap<mlir::Value, Origins> found;
};

/// Which mbarriers an op may use.
struct BarrierPlaces {
  llvm::SmallVector<unsigned, 1> groups;
  std::optional<int64_t> index;
  bool hasUnknown = false;
};
BarrierPlaces barrierPlaces(const Meeting &meeting, SharedPlaces &groups);

/// Something that is collected for each mbarrier and asked for by ops that may
/// use the same one, in a time that does not grow with their number. `T` has
/// `add`, which takes in another one and returns whether that changed anything.
template <typename T> class PerBarrier {
public:
  bool add(const BarrierPlaces &places, const T &value) {
    bool changed = all.add(value);
    if (places.hasUnknown)
      changed |= anywhere.add(value);
    for (unsigned group : places.groups) {
      changed |= ofGroup[group].add(value);
      changed |= places.index ? ofBarrier[{group, *places.index}].add(value)
                              : anywhereIn[group].add(value);
    }
    return changed;
  }

  void collect(const BarrierPlaces &places, T &result) const {
    auto take = [&](const auto &map, auto key) {
      if (auto found = map.find(key); found != map.end())
        result.add(found->second);
    };
    if (places.hasUnknown) {
      result.add(all);
      return;
    }
    result.add(anywhere);
    for (unsigned group : places.groups) {
      if (!places.index) {
        take(ofGroup, group);
        continue;
      }
      take(anywhereIn, group);
      take(ofBarrier, std::pair(group, *places.index));
    }
  }

private:
  T all, anywhere;
  llvm::DenseMap<unsigned, T> ofGroup, anywhereIn;
  llvm::DenseMap<std::pair<unsigned, int64_t>, T> ofBarrier;
};

} // namespace tile

#endif // TILE_SYNC_SHARED_PLACES_H
