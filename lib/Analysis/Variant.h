// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of the copy. A variant is a function from a problem to a plan or
// a refusal, in a file of its own, and a line in Variant.cpp.
#ifndef TILE_ANALYSIS_VARIANT_H
#define TILE_ANALYSIS_VARIANT_H

#include "dialect/TileDialect.h"
#include "lib/Analysis/Tile.h"

namespace tile {

/// What is to be copied, as far as the compiler knows.
struct CopyProblem {
  Tile src;
  Tile dst;
  Issue issue;
};

/// The numbers of a `#tile.copy_plan`, and what it needs of the buffers.
struct CopyPlan {
  int64_t chunkBytes = 0;
  int64_t count = 0;
  llvm::SmallVector<int64_t> loops;
  int64_t srcStart = 0;
  llvm::SmallVector<int64_t> srcSteps;
  int64_t dstStart = 0;
  llvm::SmallVector<int64_t> dstSteps;
  /// The alignment in bytes that both buffers must have.
  int64_t alignment = 1;
};

struct Variant {
  llvm::StringLiteral name;
  std::variant<CopyPlan, Refusal> (*plan)(const CopyProblem &problem);
};

/// All variants, the preferred one first.
llvm::ArrayRef<Variant> getVariants();

std::variant<CopyPlan, Refusal> planBulk(const CopyProblem &problem);

} // namespace tile

#endif // TILE_ANALYSIS_VARIANT_H
