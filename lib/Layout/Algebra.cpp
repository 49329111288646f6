// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <numeric>

using namespace llvm;
using namespace tile::layout;

/// Drops extents of 1 and merges each mode into the faster one whose end it
/// continues.
static Dimension coalesceModes(ArrayRef<Mode> modes) {
  Dimension fastFirst;
  for (Mode mode : reverse(modes)) {
    if (mode.extent == 1)
      continue;
    int64_t next = 0;
    if (!fastFirst.empty() &&
        !MulOverflow(fastFirst.back().extent, fastFirst.back().stride, next) &&
        mode.stride == next)
      fastFirst.back().extent *= mode.extent;
    else
      fastFirst.push_back(mode);
  }
  if (fastFirst.empty())
    fastFirst.push_back({1, 0});
  return Dimension(fastFirst.rbegin(), fastFirst.rend());
}

Layout tile::layout::coalesce(const Layout &layout) {
  Layout result = layout;
  for (Dimension &dimension : result.dimensions)
    dimension = coalesceModes(dimension);
  return result;
}

/// The places that indices `0, step, 2 * step, ...`, `extent` of them, have in
/// `modes`; appended the slowest first.
static bool composeMode(ArrayRef<Mode> modes, Mode mode, Dimension &out) {
  auto [extent, step] = mode;
  if (extent == 1 || step == 0) {
    out.push_back({extent, 0});
    return true;
  }
  if (step < 0)
    return false;
  Dimension fastFirst;
  for (Mode part : reverse(modes)) {
    if (extent == 1)
      break;
    if (step >= part.extent) {
      if (step % part.extent != 0)
        return false;
      step /= part.extent;
      continue;
    }
    int64_t stride = 0;
    if (part.extent % step != 0 || MulOverflow(part.stride, step, stride))
      return false;
    int64_t available = part.extent / step;
    int64_t taken = std::min(available, extent);
    if (extent % taken != 0)
      return false;
    // A part that is left over would have to be skipped by the modes that
    // follow.
    if (taken < available && taken != extent)
      return false;
    fastFirst.push_back({taken, stride});
    extent /= taken;
    step = 1;
  }
  if (extent != 1)
    return false;
  append_range(out, reverse(fastFirst));
  return true;
}

std::optional<Layout> tile::layout::compose(const Layout &outer,
                                            const Layout &inner) {
  if (inner.swizzle)
    return std::nullopt;
  SmallVector<Mode> all;
  for (const Dimension &dimension : outer.dimensions)
    append_range(all, dimension);
  Dimension flat = coalesceModes(all);
  Layout result;
  result.offset = outer.offset;
  result.swizzle = outer.swizzle;
  if (inner.offset != 0) {
    int64_t moved = 0;
    std::optional<int64_t> reached = cosize(inner);
    if (flat.size() != 1 || !reached || *reached > flat[0].extent ||
        MulOverflow(inner.offset, flat[0].stride, moved) ||
        AddOverflow(result.offset, moved, result.offset))
      return std::nullopt;
  }
  for (const Dimension &dimension : inner.dimensions) {
    Dimension &modes = result.dimensions.emplace_back();
    for (Mode mode : dimension)
      if (!composeMode(flat, mode, modes))
        return std::nullopt;
  }
  return result;
}

std::optional<Layout> tile::layout::divide(const Layout &layout,
                                           ArrayRef<int64_t> tile) {
  if (tile.size() != layout.dimensions.size())
    return std::nullopt;
  Layout result;
  result.offset = layout.offset;
  result.swizzle = layout.swizzle;
  SmallVector<Dimension> inner;
  for (auto [dimension, extent] : zip_equal(layout.dimensions, tile)) {
    int64_t whole = extentOf(dimension);
    if (extent < 1 || whole % extent != 0)
      return std::nullopt;
    Dimension modes = coalesceModes(dimension);
    if (!composeMode(modes, {whole / extent, extent},
                     result.dimensions.emplace_back()) ||
        !composeMode(modes, {extent, 1}, inner.emplace_back()))
      return std::nullopt;
  }
  append_range(result.dimensions, inner);
  return result;
}

std::optional<Part> tile::layout::slice(const Dimension &dimension,
                                        int64_t start, int64_t extent) {
  assert(start >= 0 && extent > 0 && start + extent <= extentOf(dimension));
  Part part;
  Dimension modes = coalesceModes(dimension);
  int64_t rest = start;
  for (Mode mode : reverse(modes)) {
    part.offset += rest % mode.extent * mode.stride;
    rest /= mode.extent;
  }
  int64_t inner = 1;
  for (size_t i = modes.size(); i-- > 0; inner *= modes[i].extent) {
    if (start % inner != 0 || extent % inner != 0)
      return std::nullopt;
    int64_t taken = extent / inner;
    if (start / inner % modes[i].extent + taken > modes[i].extent)
      continue;
    part.modes.push_back({taken, modes[i].stride});
    part.modes.append(modes.begin() + i + 1, modes.end());
    return part;
  }
  return std::nullopt;
}

std::optional<RuntimePart>
tile::layout::sliceAtRuntime(const Dimension &dimension, int64_t extent) {
  assert(extent > 0 && extent <= extentOf(dimension));
  RuntimePart part;
  Dimension modes = coalesceModes(dimension);
  int64_t inner = 1;
  for (size_t i = modes.size(); i-- > 0; inner *= modes[i].extent)
    part.digits.push_back(
        {inner, i == 0 ? 0 : modes[i].extent, modes[i].stride});
  inner = 1;
  for (size_t i = modes.size(); i-- > 0; inner *= modes[i].extent) {
    if (extent % inner != 0)
      return std::nullopt;
    int64_t taken = extent / inner;
    if (taken > modes[i].extent)
      continue;
    // In the slowest mode there is nothing to carry into, so that any multiple
    // of a whole inner block will do; elsewhere the start has to be a multiple
    // of the extent, which has to divide the mode.
    if (i == 0)
      part.startMultiple = inner;
    else if (modes[i].extent % taken == 0)
      part.startMultiple = extent;
    else
      return std::nullopt;
    part.modes.push_back({taken, modes[i].stride});
    part.modes.append(modes.begin() + i + 1, modes.end());
    return part;
  }
  return std::nullopt;
}
