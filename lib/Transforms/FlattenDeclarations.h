// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tile-expand-layout does before it converts types.
#ifndef TILE_TRANSFORMS_FLATTEN_DECLARATIONS_H
#define TILE_TRANSFORMS_FLATTEN_DECLARATIONS_H

#include "mlir/IR/Operation.h"

namespace tile {

/// Refuses, by name, what cannot take a memref with a #tile.layout, and slices
/// that are not proved to be layouts.
mlir::LogicalResult refuseUnknown(mlir::Operation *root);

/// Makes attributions, allocations and globals with a #tile.layout flat, as
/// large as they span, with a tile.view where they are used.
mlir::LogicalResult flattenDeclarations(mlir::Operation *root);

/// Writes memref.copy from and to such memrefs as loops over vectors.
void expandCopies(mlir::Operation *root);

} // namespace tile

#endif // TILE_TRANSFORMS_FLATTEN_DECLARATIONS_H
