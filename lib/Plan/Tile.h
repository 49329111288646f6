// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a tile lies: looks through views, from the memref that an op names down
// to the buffer.
#ifndef TILE_PLAN_TILE_H
#define TILE_PLAN_TILE_H

#include "dialect/TileDialect.h"
#include "lib/Layout/Layout.h"
#include "lib/Plan/Offset.h"
#include "lib/Plan/Refusal.h"

#include "mlir/IR/BuiltinTypes.h"

#include <string>
#include <variant>

namespace tile {

/// A buffer in which a tile may be, and where its aligned pointer points there.
struct Origin {
  /// What the views lead to: an attribution, an argument, or an op's result.
  mlir::Value buffer;
  /// Bytes from the buffer's start to the tile's aligned pointer; `memref.view`
  /// moves it.
  Offset shiftBytes;
  /// Bytes that the buffer spans, where known.
  std::optional<int64_t> bufferBytes;
  /// The alignment of the buffer's start in bytes that is known; see
  /// `canAlign`.
  int64_t alignment = 1;
  /// What `memref.assume_alignment` says on the way: the place `shiftBytes`
  /// before the tile's aligned pointer is aligned.
  struct {
    int64_t alignment = 1;
    Offset shiftBytes;
  } assumed;
  /// Whether the kernel declares the buffer itself, so that its alignment may
  /// be raised.
  bool canAlign = false;
  /// What to do where the alignment is too small and cannot be raised, with
  /// `{0}` for the bytes.
  std::string alignmentFix;
};

/// A stride that only the run time knows.
struct RuntimeStride {
  unsigned dimension;
  /// What surely divides it, in elements.
  int64_t divisor = 1;
  /// How it could be promised to be a multiple of more, with `{0}` for the
  /// multiple.
  std::string fix;
};

/// One side of a copy.
struct TracedTile {
  /// Whether it is in global memory.
  bool isGlobal = false;
  mlir::Type elementType;
  int64_t elementBits = 0;
  /// Modes and swizzle; its offset is not counted here. Dimensions of
  /// `runtimeStrides` have a stride of 0.
  layout::Layout layout;
  llvm::SmallVector<RuntimeStride, 2> runtimeStrides;
  /// Elements from the memref's aligned pointer to the tile's first element.
  Offset offset;
  /// Whether the memref's type leaves that offset to its descriptor, from which
  /// it is then taken whole.
  bool offsetInDescriptor = false;
  /// All buffers of which a selection, a branch or a loop makes it one; at
  /// least one.
  llvm::SmallVector<Origin, 1> origins;
};

/// Follows `memref` to its buffers. `scope` is the op under which alignments
/// may be changed.
std::variant<TracedTile, Refusal> traceTile(mlir::Value memref,
                                            mlir::Operation *scope);

/// Elements from the aligned pointer to the first element of `memref`.
Offset offsetOf(mlir::Value memref);

/// Adds what `index` adds to the offset in a dimension of these modes.
void addIndex(Offset &offset, const layout::Dimension &modes,
              mlir::OpFoldResult index);

/// A run-time offset into a nested dimension must be a multiple of what makes
/// the region a layout.
std::optional<Refusal> checkSlice(SliceOp op);

/// Raises the alignment of the buffers that the kernel declares to at least
/// `bytes`.
void alignBuffer(const TracedTile &tile, int64_t bytes);

/// The alignment in bytes that an attribute asks for or promises, 1 where it
/// says nothing.
int64_t declaredAlignment(mlir::Attribute attr);

/// The discardable attribute by which `gpu.dynamic_shared_memory` asks for an
/// alignment in bytes.
constexpr llvm::StringLiteral kAlignmentAttrName = "tile.alignment";

} // namespace tile

#endif // TILE_PLAN_TILE_H
