// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts made from layouts. A function returns nothing where the result is not
// a layout.
#ifndef TILE_LAYOUT_ALGEBRA_H
#define TILE_LAYOUT_ALGEBRA_H

#include "lib/Layout/Layout.h"

namespace tile::layout {

/// The same mapping with the fewest modes in each dimension; dimensions stay
/// apart.
Layout coalesce(const Layout &layout);

/// The layout that maps a coordinate of `inner` to the place in `outer` of the
/// element whose row-major index in `outer` is the place in `inner`. Offset and
/// swizzle of `outer` stay; `inner` must have no swizzle, and an offset only
/// where `outer` is linear.
std::optional<Layout> compose(const Layout &outer, const Layout &inner);

/// Cuts each dimension into tiles of `tile` coordinates: first one dimension
/// for each that counts tiles, then one for each inside a tile.
std::optional<Layout> divide(const Layout &layout,
                             llvm::ArrayRef<int64_t> tile);

/// The modes of `dimension` from coordinate `start` on, `extent` of them, and
/// the offset that `start` adds. Nothing where that region is not a layout: it
/// has to end inside the mode that it begins in, once the faster modes are
/// whole.
struct Part {
  Dimension modes;
  int64_t offset = 0;
};
std::optional<Part> slice(const Dimension &dimension, int64_t start,
                          int64_t extent);

/// The same for a start that is known at run time only.
struct RuntimePart {
  Dimension modes;
  /// What the start must be a multiple of for the region to be a layout: 1
  /// where the dimension has one mode.
  int64_t startMultiple = 1;
  /// How the start becomes an offset: the sum of `start / divisor % modulus *
  /// stride`; a modulus of 0 takes no remainder.
  struct Digit {
    int64_t divisor;
    int64_t modulus;
    int64_t stride;
  };
  llvm::SmallVector<Digit, 2> digits;
};
std::optional<RuntimePart> sliceAtRuntime(const Dimension &dimension,
                                          int64_t extent);

} // namespace tile::layout

#endif // TILE_LAYOUT_ALGEBRA_H
