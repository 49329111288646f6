// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Algebra.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace llvm;
using namespace tile::layout;

/// The modes of a dimension that count, the fastest first.
static SmallVector<Mode, 4> fastestFirst(const Dimension &dimension) {
  SmallVector<Mode, 4> modes;
  for (Mode mode : reverse(dimension))
    if (mode.extent != 1)
      modes.push_back(mode);
  return modes;
}

/// Splits `part` off the fast end of the last mode.
static Mode takeFast(SmallVectorImpl<Mode> &modes, size_t &next, int64_t part) {
  Mode &mode = modes[next];
  Mode fast{part, mode.stride};
  if (mode.extent == part) {
    ++next;
  } else {
    mode.extent /= part;
    mode.stride *= part;
  }
  return fast;
}

/// Refines one dimension; appends its modes the fastest first.
static std::optional<NonNestingModes>
refineDimension(const Dimension &src, const Dimension &dst, unsigned dimension,
                SmallVectorImpl<PairedMode> &out) {
  SmallVector<Mode, 4> srcModes = fastestFirst(src);
  SmallVector<Mode, 4> dstModes = fastestFirst(dst);
  size_t s = 0, d = 0;
  while (s < srcModes.size() && d < dstModes.size()) {
    int64_t a = srcModes[s].extent, b = dstModes[d].extent;
    int64_t part = std::min(a, b);
    if (std::max(a, b) % part != 0)
      return NonNestingModes{dimension, a, b};
    Mode fastSrc = takeFast(srcModes, s, part);
    Mode fastDst = takeFast(dstModes, d, part);
    out.push_back({part, fastSrc.stride, fastDst.stride});
  }
  assert(s == srcModes.size() && d == dstModes.size() &&
         "the sides must have the same extents");
  return std::nullopt;
}

Refinement tile::layout::refine(const Layout &src, const Layout &dst) {
  assert(src.dimensions.size() == dst.dimensions.size());
  // A boundary between modes that go on from each other is none.
  Layout from = coalesce(src), to = coalesce(dst);
  Refinement result;
  SmallVector<PairedMode, 6> fastFirst;
  for (unsigned i = from.dimensions.size(); i-- > 0;) {
    result.nonNesting =
        refineDimension(from.dimensions[i], to.dimensions[i], i, fastFirst);
    if (result.nonNesting)
      return result;
  }
  result.modes.assign(fastFirst.rbegin(), fastFirst.rend());
  return result;
}

/// Turns modes whose destination runs backwards around, both sides together,
/// and moves the starts.
static bool turnForward(SmallVectorImpl<PairedMode> &modes, Runs &runs) {
  for (PairedMode &mode : modes) {
    if (mode.dst >= 0)
      continue;
    int64_t src = 0, dst = 0;
    if (MulOverflow(mode.extent - 1, mode.src, src) ||
        MulOverflow(mode.extent - 1, mode.dst, dst) ||
        AddOverflow(runs.srcShift, src, runs.srcShift) ||
        AddOverflow(runs.dstShift, dst, runs.dstShift))
      return false;
    mode.src = -mode.src;
    mode.dst = -mode.dst;
  }
  return true;
}

void tile::layout::mergeLoops(SmallVectorImpl<PairedMode> &loops) {
  auto continues = [](const PairedMode &outer, const PairedMode &inner) {
    int64_t src = 0, dst = 0;
    return !MulOverflow(inner.src, inner.extent, src) &&
           !MulOverflow(inner.dst, inner.extent, dst) && outer.src == src &&
           outer.dst == dst;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < loops.size() && !changed; ++i)
      for (size_t j = 0; j < loops.size() && !changed; ++j) {
        if (i == j || !continues(loops[i], loops[j]))
          continue;
        loops[j].extent *= loops[i].extent;
        loops.erase(loops.begin() + i);
        changed = true;
      }
  }
}

std::optional<Runs>
tile::layout::longestCommonRuns(ArrayRef<PairedMode> modes) {
  Runs runs;
  SmallVector<PairedMode, 6> rest(modes);
  if (!turnForward(rest, runs))
    return std::nullopt;
  bool grew = true;
  while (grew) {
    grew = false;
    for (auto it = rest.begin(); it != rest.end(); ++it) {
      if (it->src != runs.length || it->dst != runs.length)
        continue;
      runs.length *= it->extent;
      rest.erase(it);
      grew = true;
      break;
    }
  }
  mergeLoops(rest);
  runs.loops = std::move(rest);
  return runs;
}
