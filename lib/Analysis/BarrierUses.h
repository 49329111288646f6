// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel does with its barriers, and how often: the facts that the
// checks of the protocol share.
#ifndef TILE_ANALYSIS_BARRIER_USES_H
#define TILE_ANALYSIS_BARRIER_USES_H

#include "dialect/TileDialect.h"
#include "lib/Analysis/ValueFacts.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tile {

/// Begins a diagnostic at an op: a warning, or an error where the user asks for
/// it.
using Report = llvm::function_ref<mlir::InFlightDiagnostic(mlir::Operation *)>;

/// All uses of one barrier group.
struct BarrierUses {
  mlir::Value barriers;
  llvm::SmallVector<mlir::Operation *> inits, arrives, arms, remoteArrives,
      copies, waits;
  /// Whether something else may arrive, complete bytes or wait.
  bool hasOthers = false;
};

/// The barrier groups that are used in `kernel`.
std::vector<BarrierUses> collectBarrierUses(mlir::Operation *kernel);

/// The place in the group that `op` uses.
mlir::Value barrierIndexOf(mlir::Operation *op);
/// Whether both ops may use the same barrier of their group.
bool mayUseSameBarrier(mlir::Operation *a, mlir::Operation *b);

/// The loops around `op` in its kernel, the innermost first.
llvm::SmallVector<mlir::LoopLikeOpInterface> loopsAround(mlir::Operation *op);

/// CTAs of a cluster and threads of a CTA along x, y and z, where the kernel or
/// its launches say it.
struct KernelSizes {
  std::optional<int64_t> cluster;
  std::optional<std::array<int64_t, 3>> block;
};
KernelSizes knownSizes(mlir::Operation *kernel);

/// Whether all threads of a CTA surely see the same `value`, as far as `depth`
/// ops tell.
bool isUniform(mlir::Value value, int depth = 12);

/// Threads of a CTA that execute `op` at most; nothing if that is not known.
std::optional<int64_t> threadsAtMost(mlir::Operation *op,
                                     const KernelSizes &sizes);
/// Threads of a CTA that execute `op` at least, in each CTA where any does.
int64_t threadsAtLeast(mlir::Operation *op, const KernelSizes &sizes);

} // namespace tile

#endif // TILE_ANALYSIS_BARRIER_USES_H
