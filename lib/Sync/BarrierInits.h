// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares the uses of barriers to their initialisations.
#ifndef TILE_SYNC_BARRIER_INITS_H
#define TILE_SYNC_BARRIER_INITS_H

#include "lib/Sync/BarrierUses.h"
#include "lib/Sync/SyncGraph.h"

namespace tile {

/// Reports a barrier that is used and that nothing initialises, and one that is
/// initialised in each round of a loop.
void checkInits(const BarrierUses &uses, Report report);

/// Reports ops by which all threads of a CTA use a barrier that one of them
/// initialises, where no barrier of the CTA or of the cluster comes between.
void checkInitialisedUses(const SyncGraph &graph, const KernelSizes &sizes,
                          Report report);

} // namespace tile

#endif // TILE_SYNC_BARRIER_INITS_H
