// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The banks of shared memory, and the clocks that loads of one warp take.
#ifndef TILE_PLAN_BANKS_H
#define TILE_PLAN_BANKS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tile {

constexpr int64_t kLanes = 32;
constexpr int64_t kBanks = 32;
/// Consecutive words of so many bytes lie in consecutive banks.
constexpr int64_t kBankBytes = 4;

/// Cycles in which the banks give `bytes` at each of `places`, which
/// neighbouring lanes of a warp load at once: a number for each group of lanes
/// that is served together, as wide loads are given to a part of the warp at a
/// time. 1 is without conflicts.
llvm::SmallVector<int64_t, 4> loadCycles(llvm::ArrayRef<int64_t> places,
                                         int64_t bytes);

} // namespace tile

#endif // TILE_PLAN_BANKS_H
