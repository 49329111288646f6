// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Layout/Cut.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace tile::layout;

namespace {
/// Starts of runs on both sides, before the swizzles, modulo their periods: all
/// that matters.
class Residues {
public:
  Residues(int64_t srcPeriod, int64_t dstPeriod, int64_t src, int64_t dst)
      : srcPeriod(srcPeriod), dstPeriod(dstPeriod) {
    insert(pairs, src, dst);
  }

  /// Adds what a loop reaches. False if there are too many to look at.
  bool add(PairedMode loop) {
    int64_t srcStep = loop.src % srcPeriod, dstStep = loop.dst % dstPeriod;
    // Periods are powers of two, so that the longer cycle is common to both.
    int64_t cycle = std::min(
        loop.extent, std::max(srcPeriod / std::gcd(srcPeriod, srcStep),
                              dstPeriod / std::gcd(dstPeriod, dstStep)));
    if (cycle == 1)
      return true;
    if (cycle > kMostPairs ||
        cycle * static_cast<int64_t>(pairs.size()) > kMostSteps)
      return false;
    DenseSet<std::pair<int64_t, int64_t>> reached;
    for (auto [src, dst] : pairs)
      for (int64_t i = 0; i < cycle; ++i) {
        insert(reached, src + i * srcStep, dst + i * dstStep);
        if (static_cast<int64_t>(reached.size()) > kMostPairs)
          return false;
      }
    pairs = std::move(reached);
    return true;
  }

  auto begin() const { return pairs.begin(); }
  auto end() const { return pairs.end(); }

private:
  static constexpr int64_t kMostPairs = int64_t(1) << 16;
  static constexpr int64_t kMostSteps = int64_t(1) << 22;

  void insert(DenseSet<std::pair<int64_t, int64_t>> &set, int64_t src,
              int64_t dst) const {
    auto modulo = [](int64_t value, int64_t period) {
      return (value % period + period) % period;
    };
    set.insert({modulo(src, srcPeriod), modulo(dst, dstPeriod)});
  }

  int64_t srcPeriod, dstPeriod;
  DenseSet<std::pair<int64_t, int64_t>> pairs;
};

/// One side of a run of some length: which reduced swizzles give its lowest
/// place from its start.
struct Reduction {
  explicit Reduction(const std::optional<Swizzle> &swizzle)
      : swizzle(swizzle), possible(swizzle ? swizzle->bits + 1 : 1, true) {}

  bool restrict(int64_t start, int64_t lowest) {
    bool any = false;
    for (size_t count = 0; count < possible.size(); ++count) {
      int64_t place =
          swizzle ? applyTo(withoutLowBits(*swizzle, count), start) : start;
      possible[count] = possible[count] && place == lowest;
      any |= possible[count];
    }
    return any;
  }

  /// The one that leaves the least to compute.
  std::optional<Swizzle> best() const {
    for (size_t count = possible.size(); count-- > 0;)
      if (possible[count] && swizzle)
        return withoutLowBits(*swizzle, count);
    return std::nullopt;
  }

  std::optional<Swizzle> swizzle;
  SmallVector<bool> possible;
};
} // namespace

/// At least 2^7 elements, so that residues tell alignments up to that.
static int64_t periodOf(const Phase &phase) {
  return std::max<int64_t>(128, phase.swizzle ? phase.swizzle->period() : 1);
}

/// All divisors, the largest first.
static SmallVector<int64_t> divisorsOf(int64_t number) {
  SmallVector<int64_t> small, large;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      small.push_back(i);
      if (i * i != number)
        large.push_back(number / i);
    }
  large.append(small.rbegin(), small.rend());
  return large;
}

/// Elements in steps of which a run may be looked at: nothing happens inside
/// them.
static int64_t stepOf(const Phases &phases, int64_t src, int64_t dst,
                      int64_t length) {
  int64_t step = std::gcd(std::gcd(src, dst), length);
  for (const Phase *phase : {&phases.src, &phases.dst})
    if (phase->swizzle)
      step = std::gcd(step, phase->swizzle->unit());
  return step;
}

/// Whether the run that starts at `src` and `dst` has its elements in one piece
/// and in one order on both sides. Takes the steps that it looks at from
/// `stepsLeft`, and proves nothing without.
static bool isContiguous(const Phases &phases, int64_t src, int64_t dst,
                         int64_t length, Reduction &srcReduction,
                         Reduction &dstReduction, int64_t &stepsLeft) {
  int64_t step = stepOf(phases, src, dst, length);
  stepsLeft -= length / step;
  if (stepsLeft < 0)
    return false;
  int64_t distance = 0, lowest = INT64_MAX, highest = 0;
  for (int64_t i = 0; i < length; i += step) {
    int64_t srcPlace = applyTo(phases.src.swizzle, src + i);
    int64_t dstPlace = applyTo(phases.dst.swizzle, dst + i);
    if (i == 0)
      distance = dstPlace - srcPlace;
    else if (dstPlace - srcPlace != distance)
      return false;
    lowest = std::min(lowest, srcPlace);
    highest = std::max(highest, srcPlace);
  }
  return highest - lowest == length - step &&
         srcReduction.restrict(src, lowest) &&
         dstReduction.restrict(dst, lowest + distance);
}

/// The starts of the gathered runs, with all that the rests can add. Nothing if
/// they are too many.
static std::optional<Residues> startsOf(const Runs &runs,
                                        const Phases &phases) {
  int64_t srcPeriod = periodOf(phases.src), dstPeriod = periodOf(phases.dst);
  Residues starts(srcPeriod, dstPeriod, phases.src.start + runs.srcShift,
                  phases.dst.start + runs.dstShift);
  int64_t src = std::gcd(phases.src.divisor, srcPeriod) % srcPeriod;
  int64_t dst = std::gcd(phases.dst.divisor, dstPeriod) % dstPeriod;
  bool fits = true;
  if (phases.sameRest) {
    int64_t step = std::gcd(phases.src.divisor, std::max(srcPeriod, dstPeriod));
    fits = starts.add({std::max(srcPeriod, dstPeriod) / step, step, step});
  } else {
    if (src)
      fits = starts.add({srcPeriod / src, src, 0});
    if (fits && dst)
      fits = starts.add({dstPeriod / dst, 0, dst});
  }
  for (const PairedMode &loop : runs.loops)
    fits = fits && starts.add(loop);
  if (!fits)
    return std::nullopt;
  return starts;
}

static Alignment alignmentOf(const Runs &runs, const Phases &phases) {
  std::optional<Residues> starts = startsOf(runs, phases);
  if (!starts)
    return {};
  Alignment alignment{periodOf(phases.src), periodOf(phases.dst)};
  for (auto [src, dst] : *starts) {
    alignment.src = std::gcd(alignment.src, applyTo(runs.srcSwizzle, src));
    alignment.dst = std::gcd(alignment.dst, applyTo(runs.dstSwizzle, dst));
  }
  return alignment;
}

/// Cuts to units, of which nothing but the alignment has to be proved.
static Alignment cutToUnits(Runs &runs, const Phases &phases) {
  auto provedFor = [&](const Phase &phase, int64_t shift, bool isSrc) {
    int64_t known = std::gcd(phase.start + shift, phase.divisor);
    for (const PairedMode &loop : runs.loops)
      known = std::gcd(known, isSrc ? loop.src : loop.dst);
    return phase.swizzle ? std::gcd(known, phase.swizzle->unit()) : known;
  };
  Alignment alignment{provedFor(phases.src, runs.srcShift, true),
                      provedFor(phases.dst, runs.dstShift, false)};
  int64_t unit = runs.length;
  if (phases.src.swizzle)
    unit = std::gcd(unit, alignment.src);
  if (phases.dst.swizzle)
    unit = std::gcd(unit, alignment.dst);
  if (runs.length != unit)
    runs.loops.push_back({runs.length / unit, unit, unit});
  runs.length = unit;
  runs.srcSwizzle = phases.src.swizzle;
  runs.dstSwizzle = phases.dst.swizzle;
  mergeLoops(runs.loops);
  alignment.src = std::gcd(alignment.src, unit);
  alignment.dst = std::gcd(alignment.dst, unit);
  return alignment;
}

Alignment tile::layout::cutRuns(Runs &runs, const Phases &phases,
                                int64_t granule) {
  std::optional<Residues> gathered = startsOf(runs, phases);
  if (!gathered)
    return cutToUnits(runs, phases);
  SmallVector<int64_t> lengths = divisorsOf(runs.length);
  std::stable_partition(lengths.begin(), lengths.end(),
                        [&](int64_t length) { return length % granule == 0; });
  int64_t stepsLeft = int64_t(1) << 26;
  for (int64_t length : lengths) {
    Residues starts = *gathered;
    if (!starts.add({runs.length / length, length, length}))
      continue;
    Reduction src(phases.src.swizzle), dst(phases.dst.swizzle);
    if (!all_of(starts, [&](auto start) {
          return isContiguous(phases, start.first, start.second, length, src,
                              dst, stepsLeft);
        }))
      continue;
    if (runs.length != length)
      runs.loops.push_back({runs.length / length, length, length});
    runs.length = length;
    runs.srcSwizzle = src.best();
    runs.dstSwizzle = dst.best();
    mergeLoops(runs.loops);
    if (phases.mayShift && phases.src.divisor % periodOf(phases.src) == 0 &&
        phases.dst.divisor % periodOf(phases.dst) == 0)
      joinRuns(runs, phases);
    return alignmentOf(runs, phases);
  }
  return cutToUnits(runs, phases);
}
