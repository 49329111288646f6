// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variants of the copy. A variant is a function from a problem to a plan or
// a refusal, in a file of its own, and a line in Variant.cpp.
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
  Tile src;
  Tile dst;
  Issue issue;
  /// Threads that execute the op together.
  int64_t threads = 1;
};

/// The numbers of a `#tile.copy_plan`, and what it needs of the buffers.
struct CopyPlan {
  int64_t chunkBytes = 0;
  int64_t count = 0;
  llvm::SmallVector<int64_t> loops;
  int64_t srcStart = 0;
  llvm::SmallVector<int64_t> srcSteps;
  /// Bits, base and shift, in bits of bytes; empty where addresses are not
  /// swizzled.
  llvm::SmallVector<int64_t> srcSwizzle;
  int64_t dstStart = 0;
  llvm::SmallVector<int64_t> dstSteps;
  llvm::SmallVector<int64_t> dstSwizzle;
  /// The alignment in bytes that buffers declared by the kernel are given.
  int64_t alignment = 1;
  /// Where a copy is put together from parts of the source: bytes of a part,
  /// and bytes from one to the next. Empty where it lies in one piece.
  llvm::SmallVector<int64_t> srcGather;
  /// Threads that issue the copies.
  int64_t threads = 1;
  /// The estimate by which variants are compared.
  int64_t clk = 0;
  /// Additional remark; may be empty.
  std::string remark;
};

struct Variant {
  std::string name;
  /// Whether a copy that one thread executes can be this one.
  bool byOneThread;
  /// Whether it is taken only where `variant = "..."` names it.
  bool onlyByName;
  std::function<std::variant<CopyPlan, Refusal>(const CopyProblem &problem)>
      plan;
};

/// All variants; of two that cost the same the first one is taken.
std::vector<Variant> getVariants();

/// Adds a variant, or replaces the one of its name, for the whole process.
void registerVariant(Variant variant);

std::variant<CopyPlan, Refusal> planBulk(const CopyProblem &problem);
std::variant<CopyPlan, Refusal> planStAsync(const CopyProblem &problem);

} // namespace tile

#endif // TILE_PLAN_VARIANT_H
