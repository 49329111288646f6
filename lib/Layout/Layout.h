// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layout algebra: how the coordinates of a tile map to places in a buffer. Pure
// functions over plain values; no ops, no attributes, no diagnostics. Strides
// and offsets are in elements.
#ifndef TILE_LAYOUT_LAYOUT_H
#define TILE_LAYOUT_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace tile::layout {

struct Mode {
  int64_t extent;
  int64_t stride;
};

/// The modes of one dimension of the tile, the slowest first; plain strided
/// dimensions have one.
using Dimension = llvm::SmallVector<Mode, 2>;

struct Layout {
  llvm::SmallVector<Dimension, 4> dimensions;
};

/// The layout of a strided buffer: one mode for each dimension.
Layout strided(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// A mode of two layouts over one tile at once.
struct PairedMode {
  int64_t extent;
  int64_t src;
  int64_t dst;
};

/// Where two layouts of one dimension cannot be split at common places:
/// `srcExtent` and `dstExtent` are the parts that do not divide each other.
struct Misfit {
  unsigned dimension;
  int64_t srcExtent;
  int64_t dstExtent;
};

/// Two layouts over one tile, split at the union of their mode boundaries.
struct Refinement {
  /// Extents of 2 and more, the slowest mode of the slowest dimension first.
  llvm::SmallVector<PairedMode, 6> modes;
  std::optional<Misfit> misfit;
};

/// Splits both layouts until their modes correspond by extent, not by index.
/// Drops extents of 1, whose strides mean nothing. Requires that the dimensions
/// have the same extents, none of them 0.
Refinement refine(const Layout &src, const Layout &dst);

/// A tile cut into runs that are contiguous on both sides.
struct Runs {
  /// Elements of one run.
  int64_t length = 1;
  /// The loops over the runs, merged as far as both sides allow, the slowest
  /// first.
  llvm::SmallVector<PairedMode, 6> loops;
  /// What to add to the offset of each side so that every stride of the
  /// destination is positive.
  int64_t srcShift = 0;
  int64_t dstShift = 0;
};

/// Gathers the longest run: modes whose stride equals the length so far on both
/// sides, in any order. No partition of the tile into runs of one length has
/// longer ones: with the destination's strides made positive, the run that
/// begins at its lowest element ends where the gathered one does. Nothing if an
/// offset does not fit 64 bits.
std::optional<Runs> gatherRuns(llvm::ArrayRef<PairedMode> modes);

/// The lowest and the highest element that a tile reaches from its start.
struct Range {
  int64_t lowest;
  int64_t highest;
};

/// Nothing if the range does not fit 64 bits.
std::optional<Range> reach(const Layout &layout);

/// Two coordinates, as linear indices of the tile in row-major order, that
/// share one place.
struct Overlap {
  int64_t first;
  int64_t second;
};

/// Looks for an overlap. Exact: enumerates the tile where the strides alone do
/// not decide, so call it on tiles of bounded size only.
std::optional<Overlap> findOverlap(const Layout &layout);

/// Number of elements; nothing if it does not fit 64 bits.
std::optional<int64_t> size(const Layout &layout);

} // namespace tile::layout

#endif // TILE_LAYOUT_LAYOUT_H
