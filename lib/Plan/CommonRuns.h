// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What all variants begin with: the longest runs that are contiguous on both
// sides, and proofs of where they lie.
#ifndef TILE_PLAN_COMMON_RUNS_H
#define TILE_PLAN_COMMON_RUNS_H

#include "lib/Plan/Variant.h"

namespace tile {

/// Cuts the tile into runs, as long as both layouts allow, each a multiple of
/// `granule` bytes and proved to begin at one on both sides.
std::variant<CopyPlan, Refusal> planCommonRuns(const CopyProblem &problem,
                                               int64_t granule);

/// Whether what lies `startBytes` from the buffer's start, the run-time offset
/// aside, is proved to be at a multiple of `granule` bytes.
bool startsAtMultiple(const Tile &tile, int64_t startBytes, int64_t granule);

/// Whether the place of `origin` is aligned to `granule` bytes, or can be.
std::optional<Refusal> checkOrigin(llvm::StringRef side, const Origin &origin,
                                   int64_t granule);

/// Both sides as they were traced, each as the layout of its whole offset.
std::string layoutsText(const Tile &src, const Tile &dst);

/// The same, and where they first diverge.
std::string divergenceText(const Tile &src, const Tile &dst,
                           const layout::Divergence &divergence);

} // namespace tile

#endif // TILE_PLAN_COMMON_RUNS_H
