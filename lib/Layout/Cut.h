// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs under swizzles: cuts gathered runs until each is contiguous behind the
// swizzles too, and joins those that the swizzles happen to lay side by side.
#ifndef TILE_LAYOUT_CUT_H
#define TILE_LAYOUT_CUT_H

#include "lib/Layout/Layout.h"

namespace tile::layout {

/// Where a tile begins, which is what a swizzle depends on beside the modes.
struct Phase {
  std::optional<Swizzle> swizzle;
  /// The part of the offset that is known.
  int64_t start = 0;
  /// What divides the rest, which is known at run time only; 0 if there is no
  /// rest.
  int64_t divisor = 0;
};

struct Phases {
  Phase src;
  Phase dst;
  /// Whether the rests of both sides are the same number.
  bool sameRest = false;
  /// Whether runs may begin elsewhere than the gathered ones do.
  bool mayShift = true;

  bool anySwizzle() const { return src.swizzle || dst.swizzle; }
};

/// What divides the place of every run in elements, up to the granule; 1 if
/// nothing was proved.
struct Alignment {
  int64_t src = 1;
  int64_t dst = 1;
};

/// Cuts `runs`, as `longestCommonRuns` left them, to the longest that are
/// proved contiguous on both sides for every value that the rests can have, a
/// multiple of `granule` elements if there is one. Then joins runs where that
/// gives fewer of one length. Returns how far the runs' places are aligned.
Alignment cutRuns(Runs &runs, const Phases &phases, int64_t granule);

/// Replaces runs by fewer, longer ones of one length where their places are
/// neighbours on both sides and the longer ones can be written as loops.
/// Requires rests that no swizzle sees.
void joinRuns(Runs &runs, const Phases &phases);

} // namespace tile::layout

#endif // TILE_LAYOUT_CUT_H
