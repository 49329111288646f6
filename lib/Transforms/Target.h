// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which GPUs and PTX versions there are, and which of them can copy between
// CTAs: LLVM ends the process on the others.
#ifndef TILE_TRANSFORMS_TARGET_H
#define TILE_TRANSFORMS_TARGET_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tile {

/// What is wrong with a target, as `targets ...`, and how to mend it.
struct TargetFault {
  std::string what;
  std::string fix;
};

/// A processor by LLVM's name, and a PTX version times ten.
struct PtxTarget {
  llvm::StringRef chip;
  int version;
};

/// The processors, each with the first PTX version that knows it.
llvm::ArrayRef<std::pair<llvm::StringLiteral, int>> getFirstPtx();

/// The PTX versions that LLVM writes.
llvm::ArrayRef<int> getPtxVersions();

/// 81 as `8.1`.
std::string dotted(int version);

/// The fault of options, given as text; none if they can copy between CTAs.
std::optional<TargetFault> faultOfTarget(llvm::StringRef chip,
                                         llvm::StringRef features);

/// The fault of what a `gpu.module` has in its list of targets.
std::optional<TargetFault> faultOfTarget(mlir::Attribute target);

/// Refuses, with an error at the `gpu.module`, chips whose names upstream's
/// verifier ends the process on, so `root` need not be verified.
mlir::LogicalResult checkChips(mlir::Operation *root);

/// A target without a fault. Where the attribute is silent about the version,
/// the oldest counts.
PtxTarget getPtxTarget(mlir::NVVM::NVVMTargetAttr target);

} // namespace tile

#endif // TILE_TRANSFORMS_TARGET_H
