// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a `tile.store_async` stores, as far as that has to be proved.
#ifndef TILE_PLAN_STORED_ELEMENTS_H
#define TILE_PLAN_STORED_ELEMENTS_H

#include "lib/Plan/Tile.h"

namespace tile {

/// Whether the elements that `op` stores into `dst` are contiguous in memory
/// and begin at a multiple of the bytes stored.
std::optional<Refusal> checkStoredElements(StoreAsyncOp op,
                                           const TracedTile &dst);

} // namespace tile

#endif // TILE_PLAN_STORED_ELEMENTS_H
