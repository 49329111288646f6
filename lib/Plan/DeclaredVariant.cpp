// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/DeclaredVariant.h"

#include "lib/Plan/CommonRuns.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace tile;

/// Cuts each run into equal copies of at most `max` bytes. A run is contiguous
/// after the swizzles, too, so that its parts need no new proof.
static void cutRuns(CopyPlan &plan, int64_t granule, int64_t max) {
  if (max == 0 || plan.chunkBytes <= max)
    return;
  int64_t granules = plan.chunkBytes / granule, parts = 1;
  for (int64_t n = max / granule; n >= 1 && parts == 1; --n)
    if (granules % n == 0)
      parts = granules / n;
  int64_t bytes = plan.chunkBytes / parts;
  plan.chunkBytes = bytes;
  plan.count *= parts;
  plan.loops.push_back(parts);
  plan.src.steps.push_back(bytes);
  plan.dst.steps.push_back(bytes);
}

static std::variant<CopyPlan, Refusal>
planDeclared(const VariantDeclaration &declaration,
             const CopyProblem &problem) {
  std::variant<CopyPlan, Refusal> result =
      planCommonRuns(problem, declaration.granuleBytes);
  auto *plan = std::get_if<CopyPlan>(&result);
  if (!plan || plan->count == 0)
    return result;
  cutRuns(*plan, declaration.granuleBytes, declaration.maxBytes);
  plan->threads = declaration.isCooperative ? problem.threads : 1;
  if (const std::optional<DeclaredCost> &cost = declaration.cost)
    plan->cycles = std::llround(
        cost->base +
        cost->perCopy * llvm::divideCeil(plan->count, plan->threads) +
        cost->perByte * plan->chunkBytes * plan->count);
  return result;
}

void tile::declareVariant(const VariantDeclaration &declaration) {
  assert(llvm::isPowerOf2_64(declaration.granuleBytes) &&
         declaration.maxBytes % declaration.granuleBytes == 0 &&
         "the caller checks what it declares");
  Variant variant;
  static_cast<VariantTraits &>(variant) = declaration;
  variant.explicitOnly = !declaration.cost;
  variant.plan = [declaration](const CopyProblem &problem) {
    return planDeclared(declaration, problem);
  };
  registerVariant(std::move(variant));
}
