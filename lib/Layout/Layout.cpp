// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Layout.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <unordered_map>

using namespace llvm;
using namespace tile::layout;

Layout tile::layout::strided(ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> strides) {
  assert(shape.size() == strides.size() && "one stride for each dimension");
  Layout layout;
  for (auto [extent, stride] : zip_equal(shape, strides))
    layout.dimensions.push_back({Mode{extent, stride}});
  return layout;
}

/// The modes that count: strides of extents of 1 mean nothing.
static SmallVector<Mode, 6> flatten(const Layout &layout) {
  SmallVector<Mode, 6> modes;
  for (const Dimension &dimension : layout.dimensions)
    for (Mode mode : dimension)
      if (mode.extent != 1)
        modes.push_back(mode);
  return modes;
}

std::optional<int64_t> tile::layout::product(ArrayRef<int64_t> numbers) {
  if (is_contained(numbers, 0))
    return 0;
  int64_t result = 1;
  for (int64_t number : numbers)
    if (MulOverflow(result, number, result))
      return std::nullopt;
  return result;
}

std::optional<int64_t> tile::layout::size(const Layout &layout) {
  return product(
      map_to_vector(flatten(layout), [](Mode mode) { return mode.extent; }));
}

std::optional<Range> tile::layout::reach(const Layout &layout) {
  Range range{0, 0};
  for (Mode mode : flatten(layout)) {
    assert(mode.extent > 0 && "an empty tile reaches nothing");
    int64_t last = 0;
    if (MulOverflow(mode.extent - 1, mode.stride, last))
      return std::nullopt;
    int64_t &end = last < 0 ? range.lowest : range.highest;
    if (AddOverflow(end, last, end))
      return std::nullopt;
  }
  return range;
}

int64_t tile::layout::extentOf(const Dimension &dimension) {
  int64_t product = 1;
  for (Mode mode : dimension)
    product *= mode.extent;
  return product;
}

/// Elements that are looked at to find the ends of a swizzled tile, which are
/// asked for again and again.
static constexpr int64_t kMostPermuted = int64_t(1) << 16;

/// The offsets of the elements at most `window` away from the far end of the
/// tile, as distances from that end: the lowest element, or the highest.
/// Nothing if they are too many to look at.
static std::optional<DenseSet<int64_t>> distancesFromEnd(ArrayRef<Mode> modes,
                                                         int64_t window) {
  DenseSet<int64_t> distances{0};
  int64_t stepsLeft = kMostPermuted;
  for (Mode mode : modes) {
    int64_t step = std::abs(mode.stride);
    if (step == 0)
      continue;
    SmallVector<int64_t> before(distances.begin(), distances.end());
    for (int64_t distance : before)
      for (int64_t i = 1; i < mode.extent && i <= (window - distance) / step;
           ++i) {
        distances.insert(distance + i * step);
        if (--stepsLeft < 0)
          return std::nullopt;
      }
  }
  return distances;
}

std::optional<Range> tile::layout::places(const Layout &layout) {
  std::optional<Range> range = reach(layout);
  if (!range || AddOverflow(range->lowest, layout.offset, range->lowest) ||
      AddOverflow(range->highest, layout.offset, range->highest))
    return std::nullopt;
  if (!layout.swizzle)
    return range;
  // A swizzle keeps each block in its place: only the elements of the lowest
  // and the highest block matter.
  assert(range->lowest >= 0 && "a swizzle counts from the buffer's start");
  int64_t block = layout.swizzle->block();
  int64_t below = range->lowest % block;
  int64_t above = block - 1 - range->highest % block;
  SmallVector<Mode, 6> modes = flatten(layout);
  Range result{INT64_MAX, 0};
  if (auto distances = distancesFromEnd(modes, block - 1 - below))
    for (int64_t distance : *distances)
      result.lowest = std::min(result.lowest,
                               layout.swizzle->apply(range->lowest + distance));
  else
    result.lowest = range->lowest - below;
  if (auto distances = distancesFromEnd(modes, block - 1 - above))
    for (int64_t distance : *distances)
      result.highest = std::max(
          result.highest, layout.swizzle->apply(range->highest - distance));
  else
    result.highest = range->highest + above;
  return result;
}

std::optional<int64_t> tile::layout::cosize(const Layout &layout) {
  if (size(layout) == 0)
    return 0;
  std::optional<Range> range = places(layout);
  if (!range || range->highest == INT64_MAX)
    return std::nullopt;
  return range->highest + 1;
}

int64_t tile::layout::place(const Layout &layout,
                            ArrayRef<int64_t> coordinate) {
  int64_t offset = layout.offset;
  for (auto [dimension, index] : zip_equal(layout.dimensions, coordinate)) {
    int64_t rest = index;
    for (Mode mode : reverse(dimension)) {
      offset += rest % mode.extent * mode.stride;
      rest /= mode.extent;
    }
  }
  return applyTo(layout.swizzle, offset);
}

SmallVector<int64_t, 4> tile::layout::coordinateOf(const Layout &layout,
                                                   int64_t index) {
  SmallVector<int64_t, 4> coordinate(layout.dimensions.size());
  for (size_t i = coordinate.size(); i-- > 0;) {
    int64_t extent = extentOf(layout.dimensions[i]);
    coordinate[i] = index % extent;
    index /= extent;
  }
  return coordinate;
}

/// Whether the strides alone say that no two elements meet: each jumps over all
/// that the smaller ones reach.
static bool strictlyNested(SmallVector<Mode, 6> modes) {
  sort(modes,
       [](Mode a, Mode b) { return std::abs(a.stride) < std::abs(b.stride); });
  int64_t reached = 0;
  for (Mode mode : modes) {
    int64_t last = 0;
    if (std::abs(mode.stride) <= reached ||
        MulOverflow(mode.extent - 1, std::abs(mode.stride), last) ||
        AddOverflow(reached, last, reached))
      return false;
  }
  return true;
}

std::optional<Overlap> tile::layout::findOverlap(const Layout &layout) {
  if (!reach(layout))
    return std::nullopt;
  SmallVector<Mode, 6> modes = flatten(layout);
  if (strictlyNested(modes))
    return std::nullopt;
  std::unordered_map<int64_t, int64_t> owner;
  int64_t count = *size(layout);
  for (int64_t index = 0; index < count; ++index) {
    int64_t place = 0, rest = index;
    for (Mode mode : reverse(modes)) {
      place += rest % mode.extent * mode.stride;
      rest /= mode.extent;
    }
    auto [it, inserted] = owner.try_emplace(place, index);
    if (!inserted)
      return Overlap{it->second, index};
  }
  return std::nullopt;
}
