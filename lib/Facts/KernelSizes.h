// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many threads and CTAs run a kernel: the one reader of its attributes and
// of its launches.
#ifndef TILE_FACTS_KERNEL_SIZES_H
#define TILE_FACTS_KERNEL_SIZES_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <optional>

namespace tile {

/// Along x, y and z.
using Extents = std::array<int64_t, 3>;

/// The attributes by which a `gpu.func` promises its sizes.
constexpr llvm::StringLiteral kKnownBlockSize = "known_block_size",
                              kKnownGridSize = "known_grid_size",
                              kKnownClusterSize = "known_cluster_size";

struct KernelSizes {
  std::optional<Extents> grid, block, cluster;

  /// Threads of a CTA, and CTAs of a cluster.
  std::optional<int64_t> threads() const;
  std::optional<int64_t> ctas() const;
};

/// The kernel, device function or launch that `op` is in; null on the host.
mlir::Operation *deviceCodeAround(mlir::Operation *op);

/// What attribute `name` of a kernel says; nothing if there is none that makes
/// sense.
std::optional<Extents> knownExtents(mlir::Operation *kernel,
                                    llvm::StringRef name);

/// What holds whoever launches `kernel`: the attributes of a function, the
/// constants of a `gpu.launch`.
KernelSizes promisedSizes(mlir::Operation *kernel);

/// The sizes of each launch of `kernel` under `scope`, as far as they are
/// constants.
llvm::SmallVector<KernelSizes> launchesOf(mlir::Operation *kernel,
                                          mlir::Operation *scope);

/// What `kernel` promises, or else what all of its launches under `scope` agree
/// on. Whoever relies on the launches must make it a promise: others may launch
/// the kernel, too.
KernelSizes agreedSizes(mlir::Operation *kernel, mlir::Operation *scope);

} // namespace tile

#endif // TILE_FACTS_KERNEL_SIZES_H
