// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a tile stays inside its buffer.
#ifndef TILE_PLAN_BOUNDS_H
#define TILE_PLAN_BOUNDS_H

#include "lib/Plan/Tile.h"

#include "mlir/IR/Builders.h"

namespace tile {

/// Refuses a tile that surely leaves its buffer. With a run-time offset, what
/// is not known is taken for right.
std::optional<Refusal> checkRegion(llvm::StringRef side,
                                   const TracedTile &tile);

/// Whether the tile of `memref` stays inside its buffer in every execution.
bool isProvedInside(mlir::Value memref, const TracedTile &tile);

/// Whether the two tiles surely share a byte: elements of one buffer at offsets
/// that are known.
bool surelyOverlap(const TracedTile &a, const TracedTile &b);

/// Builds a trap that stops the kernel where the tile of `memref` leaves its
/// buffer. False if that cannot be told, because the size of the buffer is not
/// known.
bool buildBoundsCheck(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef side, mlir::Value memref,
                      const TracedTile &tile);

} // namespace tile

#endif // TILE_PLAN_BOUNDS_H
