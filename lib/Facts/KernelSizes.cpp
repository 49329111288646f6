// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Facts/KernelSizes.h"

#include "lib/Facts/ValueFacts.h"
#include "lib/Layout/Layout.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tile;

static std::optional<int64_t> productOf(const std::optional<Extents> &extents) {
  return extents ? layout::product(*extents) : std::nullopt;
}

std::optional<int64_t> KernelSizes::threads() const { return productOf(block); }

std::optional<int64_t> KernelSizes::ctas() const { return productOf(cluster); }

Operation *tile::deviceCodeAround(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (isa<gpu::GPUFuncOp, gpu::LaunchOp>(parent))
      return parent;
    if (isa<FunctionOpInterface>(parent))
      return isa_and_nonnull<gpu::GPUModuleOp>(parent->getParentOp()) ? parent
                                                                      : nullptr;
  }
  return nullptr;
}

std::optional<Extents> tile::knownExtents(Operation *kernel, StringRef name) {
  auto attr = kernel->getAttrOfType<DenseI32ArrayAttr>(name);
  if (!attr || attr.size() > 3 ||
      llvm::any_of(attr.asArrayRef(), [](int32_t size) { return size < 1; }))
    return std::nullopt;
  Extents sizes{1, 1, 1};
  llvm::copy(attr.asArrayRef(), sizes.begin());
  return sizes;
}

static std::optional<Extents> constants(const gpu::KernelDim3 &sizes) {
  std::optional<int64_t> x = constantOf(sizes.x), y = constantOf(sizes.y),
                         z = constantOf(sizes.z);
  if (!x || !y || !z)
    return std::nullopt;
  return Extents{*x, *y, *z};
}

/// A launch that names no cluster has clusters of one CTA.
template <typename Launch> static KernelSizes sizesOfLaunch(Launch launch) {
  KernelSizes sizes;
  sizes.grid = constants(launch.getGridSizeOperandValues());
  sizes.block = constants(launch.getBlockSizeOperandValues());
  sizes.cluster = Extents{1, 1, 1};
  if (launch.hasClusterSize()) {
    std::optional<gpu::KernelDim3> cluster =
        launch.getClusterSizeOperandValues();
    sizes.cluster = constants(*cluster);
  }
  return sizes;
}

KernelSizes tile::promisedSizes(Operation *kernel) {
  if (auto launch = dyn_cast<gpu::LaunchOp>(kernel))
    return sizesOfLaunch(launch);
  if (!isa<gpu::GPUFuncOp>(kernel))
    return {};
  return {knownExtents(kernel, kKnownGridSize),
          knownExtents(kernel, kKnownBlockSize),
          knownExtents(kernel, kKnownClusterSize)};
}

SmallVector<KernelSizes> tile::launchesOf(Operation *kernel, Operation *scope) {
  SmallVector<KernelSizes> launches;
  if (scope && isa<gpu::GPUFuncOp>(kernel))
    scope->walk([&](gpu::LaunchFuncOp launch) {
      if (SymbolTable::lookupNearestSymbolFrom(
              launch, launch.getKernelAttr()) == kernel)
        launches.push_back(sizesOfLaunch(launch));
    });
  return launches;
}

KernelSizes tile::agreedSizes(Operation *kernel, Operation *scope) {
  KernelSizes sizes = promisedSizes(kernel);
  SmallVector<KernelSizes> launches = launchesOf(kernel, scope);
  if (launches.empty())
    return sizes;
  for (std::optional<Extents> KernelSizes::*one :
       {&KernelSizes::grid, &KernelSizes::block, &KernelSizes::cluster})
    if (!(sizes.*one) && llvm::all_of(launches, [&](const KernelSizes &launch) {
          return launch.*one == launches.front().*one;
        }))
      sizes.*one = launches.front().*one;
  return sizes;
}
