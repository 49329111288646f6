// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of tile-expand-layout share. A memref with a #tile.layout
// becomes a flat one that begins where the buffer does, and, where the layout's
// offset is `?`, an index.
#ifndef TILE_TRANSFORMS_EXPAND_LAYOUT_H
#define TILE_TRANSFORMS_EXPAND_LAYOUT_H

#include "dialect/TileDialect.h"

#include "mlir/Transforms/DialectConversion.h"
#include "llvm/ADT/DenseMap.h"

namespace tile {

/// The layout of a memref type; null for other types and other layouts.
LayoutAttr tileLayoutOf(mlir::Type type);

/// How the elements of a vector transfer may be accessed: so many at once, at
/// that alignment in bytes where it is more than an element's.
struct Access {
  int64_t width = 1;
  int64_t alignment = 0;
  /// Whether an element may lie outside of the tile, or be masked off.
  bool guarded = false;
};
using Accesses = llvm::DenseMap<mlir::Operation *, Access>;

/// Finds out, before anything is rewritten, how wide each transfer under `root`
/// may be. Raises the alignment of buffers that the kernel declares.
Accesses planAccesses(mlir::Operation *root);

/// Adds the patterns for loads, stores and vector transfers.
void addAccessPatterns(const mlir::TypeConverter &converter,
                       const Accesses &accesses,
                       mlir::RewritePatternSet &patterns);

/// Index arithmetic that folds what is known.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}
  mlir::OpFoldResult known(int64_t number) {
    return builder.getIndexAttr(number);
  }
  mlir::OpFoldResult add(mlir::OpFoldResult a, mlir::OpFoldResult b);
  mlir::OpFoldResult times(mlir::OpFoldResult a, int64_t factor);
  /// `start / divisor % modulus`, of a start that is not negative; a modulus of
  /// 0 takes no remainder.
  mlir::OpFoldResult digit(mlir::OpFoldResult start, int64_t divisor,
                           int64_t modulus);
  mlir::OpFoldResult swizzle(mlir::OpFoldResult offset,
                             const layout::Swizzle &swizzle);
  /// What `index` adds to the offset in a dimension of these modes.
  mlir::OpFoldResult place(const layout::Dimension &modes,
                           mlir::OpFoldResult index);
  mlir::Value value(mlir::OpFoldResult number);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace tile

#endif // TILE_TRANSFORMS_EXPAND_LAYOUT_H
