// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variant `bulk`: one `cp.async.bulk` for each chunk, by one thread. PTX wants
// both addresses aligned to 16 bytes and a size that is a positive multiple
// of 16.
#include "lib/Plan/CommonRuns.h"
#include "lib/Plan/Cost.h"

#include <numeric>

using namespace mlir;
using namespace tile;

static constexpr int64_t kBulkBytes = 16;

/// What divides the starts of all chunks on both sides, up to a line. Offsets
/// known at run time only are taken for the beginning of a line.
static int64_t startAlignment(const CopyPlan &plan) {
  int64_t alignment = std::gcd(kLineBytes, plan.src.start);
  alignment = std::gcd(alignment, plan.dst.start);
  for (ArrayRef<int64_t> steps :
       {ArrayRef(plan.src.steps), ArrayRef(plan.dst.steps)})
    for (int64_t step : steps)
      alignment = std::gcd(alignment, step);
  return std::gcd(alignment, plan.chunkBytes);
}

static std::variant<CopyPlan, Refusal> planBulk(const CopyProblem &problem) {
  std::variant<CopyPlan, Refusal> result = planCommonRuns(problem, kBulkBytes);
  auto *plan = std::get_if<CopyPlan>(&result);
  if (!plan || plan->count == 0)
    return result;
  plan->threads = 1;
  // The table has what the link between SMs takes.
  if (problem.direction != Direction::Peer)
    return result;
  plan->cycles =
      bulkCycles(getCosts(), plan->chunkBytes, plan->count,
                 startAlignment(*plan), problem.issue != Issue::Thread);
  return result;
}

namespace tile {
Variant bulkVariant() {
  Variant variant;
  variant.name = "bulk";
  variant.isCooperative = false;
  variant.usesAsyncProxy = true;
  variant.threadsLoad = false;
  variant.directions = {Direction::Peer, Direction::Load, Direction::Store};
  variant.reduces = true;
  variant.minPtx = 80;
  variant.plan = planBulk;
  return variant;
}
} // namespace tile
