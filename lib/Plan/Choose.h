// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The question that the analysis answers of one copy: which variant, by which
// plan, or why none. The answer is values; its text is made of them here, too.
#ifndef TILE_PLAN_CHOOSE_H
#define TILE_PLAN_CHOOSE_H

#include "lib/Facts/KernelSizes.h"
#include "lib/Plan/Variant.h"

namespace tile {

/// A variant, and what it made of a copy.
struct Considered {
  Variant variant;
  std::variant<CopyPlan, Refusal> result;

  const CopyPlan *plan() const { return std::get_if<CopyPlan>(&result); }
  const Refusal *refusal() const { return std::get_if<Refusal>(&result); }
};

/// A diagnostic of the op without its place.
struct Message {
  std::string text;
  std::vector<std::string> notes;
};

struct Answer {
  /// Both sides, as far as they could be traced.
  std::optional<TracedTile> src, dst;
  Issue issue = Issue::Thread;
  /// Why no variant was asked, if so.
  std::optional<Refusal> refusal;
  std::vector<Considered> considered;
  /// The cheapest of those that can copy the tile.
  std::optional<size_t> chosen;
  /// What would copy what was refused, in words; may be empty.
  std::string otherWay;

  const CopyPlan *plan() const {
    return chosen ? considered[*chosen].plan() : nullptr;
  }
  CopyPlanAttr planAttr(mlir::MLIRContext *context) const;
  /// The remark on a plan, or the error.
  Message message() const;
};

/// Ops of the dialect act on shared memory.
std::optional<Refusal> checkOnDevice(mlir::Operation *op);

/// A constant rank must be in the cluster, as far as that is known.
std::optional<Refusal> checkRank(mlir::Value rank, const KernelSizes &sizes);

/// What completes bytes on the barrier of CTA `rank` needs another CTA.
std::optional<Refusal> checkPeer(mlir::Value rank, const KernelSizes &sizes);

/// Traces one side of an op; a refusal names it.
std::optional<Refusal> traceSide(llvm::StringRef side, mlir::Value memref,
                                 mlir::Operation *scope,
                                 std::optional<TracedTile> &tile);

/// What a copy may rely on: the promises of its kernel, or of all launches of
/// it under `scope`; of several sizes of clusters the smallest.
KernelSizes sizesForCopies(mlir::Operation *device, mlir::Operation *scope);

/// Plans `op`, in a kernel of such sizes. Changes nothing; `scope` is the op
/// under which alignments may be changed.
Answer planCopy(CopyAsyncOp op, const KernelSizes &sizes,
                mlir::Operation *scope);

} // namespace tile

#endif // TILE_PLAN_CHOOSE_H
