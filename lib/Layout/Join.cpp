// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Cut.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace tile::layout;

namespace {
/// Where a run begins on both sides.
struct Start {
  int64_t src;
  int64_t dst;
};
} // namespace

/// More runs than this are more than a copy of bounded size has.
static constexpr int64_t kMostRuns = int64_t(1) << 20;

/// The places of all runs, in the order of the destination. Empty if they are
/// too many.
static std::vector<Start> placesOf(const Runs &runs, const Phases &phases) {
  std::vector<Start> starts{
      {phases.src.start + runs.srcShift, phases.dst.start + runs.dstShift}};
  for (const PairedMode &loop : runs.loops) {
    if (static_cast<int64_t>(starts.size()) > kMostRuns / loop.extent)
      return {};
    std::vector<Start> more;
    for (Start start : starts)
      for (int64_t i = 0; i < loop.extent; ++i)
        more.push_back({start.src + i * loop.src, start.dst + i * loop.dst});
    starts = std::move(more);
  }
  for (Start &start : starts)
    start = {applyTo(runs.srcSwizzle, start.src),
             applyTo(runs.dstSwizzle, start.dst)};
  sort(starts, [](Start a, Start b) { return a.dst < b.dst; });
  return starts;
}

static bool areNeighbours(Start before, Start after, int64_t length) {
  return after.src - before.src == length && after.dst - before.dst == length;
}

/// How many neighbouring runs can be joined everywhere.
static int64_t commonCount(ArrayRef<Start> starts, int64_t length) {
  int64_t common = 0, count = 1;
  for (size_t i = 1; i < starts.size(); ++i) {
    if (areNeighbours(starts[i - 1], starts[i], length)) {
      ++count;
    } else {
      common = std::gcd(common, count);
      count = 1;
    }
  }
  return std::gcd(common, count);
}

/// Whether `starts` falls into groups of `extent`, each a fixed step apart.
static bool isLoop(ArrayRef<Start> starts, size_t extent) {
  if (starts.size() % extent != 0)
    return false;
  Start step{starts[1].src - starts[0].src, starts[1].dst - starts[0].dst};
  for (size_t i = 1; i < starts.size(); ++i)
    if (i % extent != 0 && (starts[i].src - starts[i - 1].src != step.src ||
                            starts[i].dst - starts[i - 1].dst != step.dst))
      return false;
  return true;
}

/// Writes `starts`, sorted by destination, as loops, the slowest first.
static std::optional<SmallVector<PairedMode, 6>>
asLoops(std::vector<Start> starts) {
  SmallVector<PairedMode, 6> fastFirst;
  while (starts.size() > 1) {
    size_t extent = starts.size();
    while (extent > 1 && !isLoop(starts, extent)) {
      do
        --extent;
      while (starts.size() % extent != 0);
    }
    if (extent == 1)
      return std::nullopt;
    fastFirst.push_back({static_cast<int64_t>(extent),
                         starts[1].src - starts[0].src,
                         starts[1].dst - starts[0].dst});
    std::vector<Start> outer;
    for (size_t i = 0; i < starts.size(); i += extent)
      outer.push_back(starts[i]);
    starts = std::move(outer);
  }
  return SmallVector<PairedMode, 6>(fastFirst.rbegin(), fastFirst.rend());
}

/// The swizzle with 0, 1, ... of its lowest bits left out, the shortest first.
static SmallVector<std::optional<Swizzle>>
reductionsOf(const std::optional<Swizzle> &swizzle) {
  SmallVector<std::optional<Swizzle>> result{std::nullopt};
  if (swizzle)
    for (int64_t count = swizzle->bits; count-- > 0;)
      result.push_back(withoutLowBits(*swizzle, count));
  return result;
}

static bool join(Runs &runs, const Phases &phases, ArrayRef<Start> places,
                 int64_t count) {
  for (const auto &src : reductionsOf(phases.src.swizzle))
    for (const auto &dst : reductionsOf(phases.dst.swizzle)) {
      std::vector<Start> starts;
      for (size_t i = 0; i < places.size(); i += count)
        starts.push_back(
            {applyTo(src, places[i].src), applyTo(dst, places[i].dst)});
      sort(starts, [](Start a, Start b) { return a.dst < b.dst; });
      Start first = starts[0];
      std::optional<SmallVector<PairedMode, 6>> loops =
          asLoops(std::move(starts));
      if (!loops)
        continue;
      runs.length *= count;
      runs.loops = std::move(*loops);
      runs.srcShift = first.src - phases.src.start;
      runs.dstShift = first.dst - phases.dst.start;
      runs.srcSwizzle = src;
      runs.dstSwizzle = dst;
      return true;
    }
  return false;
}

void tile::layout::joinRuns(Runs &runs, const Phases &phases) {
  std::vector<Start> places = placesOf(runs, phases);
  if (places.empty())
    return;
  int64_t common = commonCount(places, runs.length);
  for (int64_t count = common; count > 1; --count)
    if (common % count == 0 && join(runs, phases, places, count))
      return;
}
