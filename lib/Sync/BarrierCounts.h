// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares what barriers count to what arrives on them, and the parities of
// waits to the phases.
#ifndef TILE_SYNC_BARRIER_COUNTS_H
#define TILE_SYNC_BARRIER_COUNTS_H

#include "lib/Sync/BarrierUses.h"

namespace tile {

/// Reports initialisations with a constant count that the arrivals of one phase
/// cannot reach, or that one op alone exceeds.
void checkArrivalCounts(const BarrierUses &uses, const KernelSizes &sizes,
                        Report report);

/// Reports waits whose parity stays the same while a loop goes through more
/// phases than there are barriers.
void checkParities(const BarrierUses &uses, Report report);

} // namespace tile

#endif // TILE_SYNC_BARRIER_COUNTS_H
