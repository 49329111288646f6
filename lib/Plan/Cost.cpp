// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Cost.h"

#include <algorithm>
#include <cmath>

using namespace tile;

/// One NVIDIA H200, CUDA 13.0, `benchmarks/dsmem.py --all-variants`: compiled
/// copies of 16 KiB in equal chunks between a pair of CTAs, two stages. Cycles
/// for one tile, of which the link alone takes 770:
///
///   chunk    bulk, one thread   bulk, elected   st.async, one warp
///   16 B               47,880          10,651                1,538
///   64 B               12,019           3,277                  791
///   128 B               6,307           1,677                  770
///   256 B               3,177             879                  770
///   512 B               1,645             770                  770
///   1 KiB                 863             770                  770
///
/// The slopes give the cycles for each copy, and their intercepts the base.
/// Stores: 1,538 cycles for 1024 lone packets of 16 bytes, half as many cycles
/// as for pairs of them, give 1.5 cycles for each segment of 32 bytes. Lone
/// pairs in a line of 128 bytes take 1,538 cycles as well, so a line takes 3 at
/// least. Bulk copies of 1 KiB that begin off a line took 6 cycles more, one
/// line's.
///
/// One warp that gathers rows to columns took 48 cycles for a round whose loads
/// keep the banks busy for 8, and 72 where it was 16.
static constexpr Costs kHopper = {
    /*linkBytes=*/21.33,
    /*segment=*/1.5,
    /*line=*/3,
    /*tile=*/2,
    /*bulkThread=*/48.9,
    /*bulkThreadBase=*/65,
    /*bulkElected=*/12.6,
    /*bulkElectedBase=*/65,
    /*round=*/24,
    /*gatheredBank=*/3,
};

const Costs &tile::getCosts() { return kHopper; }

int64_t tile::bulkCycles(const Costs &costs, int64_t chunkBytes, int64_t count,
                         int64_t alignment, bool elected) {
  // Starts at multiples of `alignment` meet a line's boundary this much more
  // often than its beginning does.
  double lines = count * (chunkBytes + kLineBytes - alignment) /
                 static_cast<double>(kLineBytes);
  double link = lines * kLineBytes / costs.linkBytes + costs.tile;
  double issue = elected ? costs.bulkElectedBase + costs.bulkElected * count
                         : costs.bulkThreadBase + costs.bulkThread * count;
  // One copy is issued while the last one is under way.
  return std::llround(count == 1 ? link : std::max(link, issue));
}

int64_t tile::storeCycles(const Costs &costs, const StoreWork &work,
                          int64_t threads) {
  double link = std::max(work.bytes / costs.linkBytes, work.packetCycles);
  double warps = std::max<int64_t>(1, threads / 32);
  double issue = std::ceil(work.rounds / warps) * costs.round;
  if (work.isGathered)
    issue += work.bankCycles / warps * costs.gatheredBank;
  return std::llround(std::max({link, double(work.bankCycles), issue}) +
                      costs.tile);
}
