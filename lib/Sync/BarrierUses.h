// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a kernel does with its barriers, and how often: the facts that the
// checks of the protocol share.
#ifndef TILE_SYNC_BARRIER_USES_H
#define TILE_SYNC_BARRIER_USES_H

#include "lib/Facts/KernelSizes.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Sync/SyncOps.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tile {

/// Begins a diagnostic at an op: a warning, or an error where the user asks for
/// it.
using Report = llvm::function_ref<mlir::InFlightDiagnostic(mlir::Operation *)>;

/// How many uses of a barrier there are in a loop.
struct LoopUses {
  unsigned inits = 0, arrivals = 0, waits = 0;
};

/// All that may use one barrier of a group, or, where `index` is not known, any
/// of those that some ops name by numbers which are not constant.
struct BarrierUses {
  mlir::Value barriers;
  std::optional<int64_t> index;
  llvm::SmallVector<mlir::Operation *> inits, arrives, arms, remoteArrives,
      copies, waits;
  /// Whether something else may initialise it, arrive, complete bytes or wait.
  bool hasOthers = false;

  /// Whether `op` names the barrier in the same way: each use belongs to one.
  bool owns(mlir::Operation *op) const;
  LoopUses in(mlir::LoopLikeOpInterface loop) const;
  void add(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Operation *, LoopUses> byLoop;
};

/// The barriers that are used in `kernel`.
std::vector<BarrierUses> collectBarrierUses(mlir::Operation *kernel);

/// The loops around `op` in its kernel, the innermost first.
llvm::SmallVector<mlir::LoopLikeOpInterface> loopsAround(mlir::Operation *op);

/// The sizes of a kernel, where it or its launches say them.
KernelSizes knownSizes(mlir::Operation *kernel);

/// Whether all threads of a CTA surely see the same `value`, as far as `depth`
/// ops tell.
bool isUniform(mlir::Value value, int depth = 12);

/// What `value` is for the thread at that place of its CTA, where nothing else
/// decides it; unsigned, and a truth is 0 or 1.
std::optional<int64_t> valueInThread(mlir::Value value,
                                     const std::array<int64_t, 3> &thread,
                                     int depth = 12);

/// Threads of a CTA that execute `op` at most; nothing if that is not known.
std::optional<int64_t> threadsAtMost(mlir::Operation *op,
                                     const KernelSizes &sizes);
/// Threads of a CTA that execute `op` at least, in each CTA where any does.
int64_t threadsAtLeast(mlir::Operation *op, const KernelSizes &sizes);

} // namespace tile

#endif // TILE_SYNC_BARRIER_USES_H
