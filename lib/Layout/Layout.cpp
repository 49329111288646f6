// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

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

static SmallVector<Mode, 6> flatten(const Layout &layout) {
  SmallVector<Mode, 6> modes;
  for (const Dimension &dimension : layout.dimensions)
    append_range(modes, dimension);
  return modes;
}

std::optional<int64_t> tile::layout::size(const Layout &layout) {
  SmallVector<Mode, 6> modes = flatten(layout);
  if (any_of(modes, [](Mode mode) { return mode.extent == 0; }))
    return 0;
  int64_t product = 1;
  for (Mode mode : modes)
    if (MulOverflow(product, mode.extent, product))
      return std::nullopt;
  return product;
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
  SmallVector<Mode, 6> modes;
  for (Mode mode : flatten(layout))
    if (mode.extent != 1)
      modes.push_back(mode);
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
