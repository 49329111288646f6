// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variant `bulk`: one `cp.async.bulk.shared::cluster.shared::cta` for each
// chunk, by one thread. PTX wants both addresses aligned to 16 bytes and a size
// that is a positive multiple of 16.
#include "lib/Analysis/CommonRuns.h"
#include "lib/Analysis/Cost.h"

using namespace tile;

static constexpr int64_t kBulkBytes = 16;

std::variant<CopyPlan, Refusal> tile::planBulk(const CopyProblem &problem) {
  std::variant<CopyPlan, Refusal> result = planCommonRuns(problem, kBulkBytes);
  auto *plan = std::get_if<CopyPlan>(&result);
  if (!plan || plan->count == 0)
    return result;
  plan->threads = 1;
  plan->clk = bulkClk(getCosts(), plan->chunkBytes, plan->count,
                      problem.issue != Issue::Thread);
  return result;
}
