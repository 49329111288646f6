// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Facts/KernelSizes.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tile {
#define GEN_PASS_DEF_TILEGUARDLAUNCHES
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

static constexpr llvm::StringLiteral kExpectLaunch = "mgpuExpectLaunch";

static bool isKnownToBe(gpu::KernelDim3 given, const tile::Extents &sizes) {
  const std::array<Value, 3> values{given.x, given.y, given.z};
  for (auto [value, size] : llvm::zip_equal(values, sizes)) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)) ||
        constant.getSExtValue() != size)
      return false;
  }
  return true;
}

/// Tells the run-time library for which sizes the kernel was compiled.
static LogicalResult expectSizes(gpu::LaunchFuncOp launch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      launch, launch.getKernelAttr());
  if (!kernel)
    return success();
  constexpr tile::Extents any{0, 0, 0};
  auto grid = tile::knownExtents(kernel, "gpu.known_grid_size").value_or(any);
  auto block = tile::knownExtents(kernel, "gpu.known_block_size").value_or(any);
  bool isGridRight =
      !grid[0] || isKnownToBe(launch.getGridSizeOperandValues(), grid);
  bool isBlockRight =
      !block[0] || isKnownToBe(launch.getBlockSizeOperandValues(), block);
  if (isGridRight && isBlockRight)
    return success();
  OpBuilder builder(launch);
  Type i64 = builder.getI64Type();
  FailureOr<LLVM::LLVMFuncOp> expect = LLVM::lookupOrCreateFn(
      builder, launch->getParentOfType<ModuleOp>(), kExpectLaunch,
      SmallVector<Type>(6, i64), LLVM::LLVMVoidType::get(builder.getContext()));
  if (failed(expect))
    return failure();
  SmallVector<Value> arguments;
  for (int64_t size : llvm::concat<int64_t>(grid, block))
    arguments.push_back(
        LLVM::ConstantOp::create(builder, launch.getLoc(), i64, size));
  LLVM::CallOp::create(builder, launch.getLoc(), *expect, arguments);
  return success();
}

/// A launch puts its arguments on the stack, where they stay until the function
/// returns: in a loop, that is too late.
static void restoreStack(gpu::LaunchFuncOp launch) {
  auto function = launch->getParentOfType<FunctionOpInterface>();
  if (!function || launch->getBlock() == &function.getFunctionBody().front())
    return;
  OpBuilder builder(launch);
  Value stack = LLVM::StackSaveOp::create(
      builder, launch.getLoc(),
      LLVM::LLVMPointerType::get(builder.getContext()));
  builder.setInsertionPointAfter(launch);
  LLVM::StackRestoreOp::create(builder, launch.getLoc(), stack);
}

namespace {
struct GuardLaunches : tile::impl::TileGuardLaunchesBase<GuardLaunches> {
  void runOnOperation() override {
    WalkResult result =
        getOperation().walk([](gpu::LaunchFuncOp launch) -> WalkResult {
          restoreStack(launch);
          return expectSizes(launch);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
