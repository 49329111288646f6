// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Cost.h"

#include <algorithm>
#include <cmath>

using namespace tile;

/// One NVIDIA H200, CUDA 13.0: tiles of 16 KiB in equal chunks between a pair
/// of CTAs, two stages, kernels written by hand. Clk for one tile:
///
///   chunk    bulk, one thread   bulk, elected   st.async 16 B, 8 warps
///   16 B               92,762          13,450                    1,539
///   64 B               23,642           3,754                      778
///   256 B               6,362           1,330                      777
///   1 KiB               2,042             876                      774
///   4 KiB                 962             793                      775
///
/// The slopes give the clk for each copy, and their intercepts the base. 1,539
/// clk for 1024 lone packets of 16 bytes, half as many clk as pairs of them,
/// give 1.5 clk for each segment of 32 bytes.
///
/// Not measured but estimated: `round` and `gatheredLoad`.
static constexpr Costs kHopper = {
    /*linkBytes=*/21.33,  /*segment=*/1.5,         /*tile=*/10,
    /*bulkThread=*/90,    /*bulkThreadBase=*/602,
    /*bulkElected=*/12.6, /*bulkElectedBase=*/540,
    /*round=*/30,         /*gatheredLoad=*/4,
};

const Costs &tile::getCosts() { return kHopper; }

int64_t tile::bulkClk(const Costs &costs, int64_t chunkBytes, int64_t count,
                      bool elected) {
  double link = chunkBytes * count / costs.linkBytes + costs.tile;
  double issue = elected ? costs.bulkElectedBase + costs.bulkElected * count
                         : costs.bulkThreadBase + costs.bulkThread * count;
  // One copy is issued while the last one is under way.
  return std::llround(count == 1 ? link : std::max(link, issue));
}

int64_t tile::storeClk(const Costs &costs, const StoreWork &work,
                       int64_t threads) {
  double link =
      std::max(work.bytes / costs.linkBytes, work.segments * costs.segment);
  double round = costs.round + costs.gatheredLoad * (work.loadsPerRound - 1);
  double warps = std::max<int64_t>(1, threads / 32);
  double issue = std::ceil(work.rounds / warps) * round;
  return std::llround(std::max({link, double(work.bankClk), issue}) +
                      costs.tile);
}
