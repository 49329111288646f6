// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of the copy: what each is, and how it plans, from a problem to a
// plan or a refusal.
#ifndef TILE_PLAN_VARIANT_H
#define TILE_PLAN_VARIANT_H

#include "dialect/TileDialect.h"
#include "lib/Plan/Tile.h"

#include <functional>
#include <string>
#include <vector>

namespace tile {

/// What is to be copied, as far as the compiler knows.
struct CopyProblem {
  TracedTile src;
  TracedTile dst;
  Direction direction;
  Issue issue;
  /// Threads that execute the op together.
  int64_t threads = 1;
  /// Whether the tile is combined with the destination.
  bool reduces = false;
};

/// The numbers of a `#tile.copy_side`.
struct PlanSide {
  int64_t start = 0;
  llvm::SmallVector<int64_t> steps;
  llvm::SmallVector<int64_t> swizzle;
  llvm::SmallVector<int64_t> gather;
  /// A dimension and a factor for each step that is `ShapedType::kDynamic`.
  llvm::SmallVector<int64_t> strides;
};

/// The numbers of a `#tile.copy_plan`, and what it needs of the buffers.
struct CopyPlan {
  int64_t chunkBytes = 0;
  int64_t count = 0;
  llvm::SmallVector<int64_t> loops;
  PlanSide src;
  PlanSide dst;
  /// The alignment in bytes that buffers declared by the kernel are given.
  int64_t alignment = 1;
  /// Threads that issue the copies.
  int64_t threads = 1;
  /// The estimate by which variants are compared.
  int64_t cycles = 0;
  /// Additional remark; may be empty.
  std::string remark;
};

/// A variant declares what it is, in a file of its own, and has a line in
/// Variants.def; the legalization has another file and another line.
struct Variant : VariantTraits {
  /// Whether it is taken only where `variant = "..."` names it.
  bool explicitOnly = false;
  std::function<std::variant<CopyPlan, Refusal>(const CopyProblem &problem)>
      plan;
};

/// All variants; of two that cost the same the first one is taken.
std::vector<Variant> getVariants();

/// Adds a variant, or replaces the one of its name, for the whole process.
void registerVariant(Variant variant);

/// Makes the project's own variants known to the verifier and to every pass.
void registerVariants();

} // namespace tile

#endif // TILE_PLAN_VARIANT_H
