// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all variants begin with: the longest runs that are contiguous on both
// sides.
#ifndef TILE_PLAN_COMMON_RUNS_H
#define TILE_PLAN_COMMON_RUNS_H

#include "lib/Plan/Variant.h"

namespace tile {

/// Cuts the tile into runs, as long as both layouts allow, each a multiple of
/// `granule` bytes and proved to begin at one on both sides.
std::variant<CopyPlan, Refusal> planCommonRuns(const CopyProblem &problem,
                                               int64_t granule);

/// Both sides as they were traced, each as the layout of its whole offset.
std::string layoutsText(const TracedTile &src, const TracedTile &dst);

/// The same, and where they first diverge.
std::string divergenceText(const TracedTile &src, const TracedTile &dst,
                           const layout::Divergence &divergence);

} // namespace tile

#endif // TILE_PLAN_COMMON_RUNS_H
