// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layout algebra: how the coordinates of a tile map to places in a buffer. Pure
// functions over plain values; no ops, no attributes, no diagnostics. Strides
// and offsets are in elements.
#ifndef TILE_LAYOUT_LAYOUT_H
#define TILE_LAYOUT_LAYOUT_H

#include "lib/Layout/Swizzle.h"

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

/// The element at a coordinate lies at `swizzle(offset + sum of digit *
/// stride)`, the digits being the coordinate's in the modes of its dimension.
struct Layout {
  llvm::SmallVector<Dimension, 4> dimensions;
  int64_t offset = 0;
  std::optional<Swizzle> swizzle;
};

/// Addresses of shared memory, and differences between them, have 32 bits.
constexpr int64_t kMaxSharedBytes = int64_t(1) << 31;

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
struct NonNestingModes {
  unsigned dimension;
  int64_t srcExtent;
  int64_t dstExtent;
};

/// Two layouts over one tile, split at the union of their mode boundaries.
struct Refinement {
  /// Extents of 2 and more, the slowest mode of the slowest dimension first.
  llvm::SmallVector<PairedMode, 6> modes;
  std::optional<NonNestingModes> nonNesting;
};

/// Merges the modes of each side that go on from each other, then splits both
/// until their modes correspond by extent, not by index. Drops extents of 1,
/// whose strides mean nothing. Requires that the dimensions
/// have the same extents, none of them 0.
Refinement refine(const Layout &src, const Layout &dst);

/// A tile cut into runs that are contiguous on both sides. A run begins on each
/// side at `swizzle(offset + shift + sum of index * step)`.
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
  std::optional<Swizzle> srcSwizzle;
  std::optional<Swizzle> dstSwizzle;
};

/// Merges pairs of loops, neighbours or not, of which one goes on where the
/// other ends on both sides.
void mergeLoops(llvm::SmallVectorImpl<PairedMode> &loops);

/// Gathers the longest run, swizzles aside: modes whose stride equals the
/// length so far on both sides, in any order. No partition of the tile into
/// runs of one length has longer ones: with the destination's strides made
/// positive, the run that begins at its lowest element ends where the gathered
/// one does. Nothing if an offset does not fit 64 bits.
std::optional<Runs> longestCommonRuns(llvm::ArrayRef<PairedMode> modes);

/// What is enumerated where nothing shorter decides.
constexpr int64_t kMostEnumerated = int64_t(1) << 20;

/// The lowest and the highest element that a tile reaches.
struct Range {
  int64_t lowest;
  int64_t highest;
};

/// What the modes reach from the tile's start, neither offset nor swizzle
/// counted. Nothing if it does not fit 64 bits.
std::optional<Range> reach(const Layout &layout);

/// The lowest and the highest place of an element, offset and swizzle counted.
/// Nothing if they do not fit 64 bits. With a swizzle, no offset may be
/// negative. Exact, but where the swizzle permutes more than 2^16 elements at
/// an end: there it is the end of their block.
std::optional<Range> places(const Layout &layout);

/// Elements that a buffer of this layout spans from its start; 0 for an empty
/// tile. Nothing if the number does not fit 64 bits.
std::optional<int64_t> cosize(const Layout &layout);

/// Nothing if the product does not fit 64 bits.
std::optional<int64_t> product(llvm::ArrayRef<int64_t> numbers);

/// The coordinates of one dimension: the product of its extents.
int64_t extentOf(const Dimension &dimension);

/// The place of the element at `coordinate`. Requires a layout whose places fit
/// 64 bits.
int64_t place(const Layout &layout, llvm::ArrayRef<int64_t> coordinate);

/// The coordinate of a linear index in row-major order.
llvm::SmallVector<int64_t, 4> coordinateOf(const Layout &layout, int64_t index);

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

/// An element that does not go on where the one before it ends.
struct Divergence {
  /// The linear index of its coordinate in row-major order.
  int64_t index;
  int64_t src;
  int64_t dst;
};

/// The first element, in the order of the destination, behind a run that is
/// contiguous on both sides and no multiple of `granule` elements long. Nothing
/// if there is none, or the tile is too large to look at.
std::optional<Divergence> findDivergence(const Layout &src, const Layout &dst,
                                         int64_t granule);

} // namespace tile::layout

#endif // TILE_LAYOUT_LAYOUT_H
