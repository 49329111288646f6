// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace tile {
#define GEN_PASS_DEF_TILEGUARDARGUMENTS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

static constexpr llvm::StringLiteral kExpectMultiple = "mgpuExpectMultiple";

/// What of a memref is promised to be a multiple; strides are numbered by their
/// dimension.
enum Part : int64_t { kBase = -2, kOffset = -1 };

namespace {
/// Builds the checks of one launch before it.
class Guard {
public:
  explicit Guard(gpu::LaunchFuncOp launch)
      : launch(launch), builder(launch), loc(launch.getLoc()) {}

  LogicalResult guard(gpu::GPUFuncOp kernel) {
    for (auto [number, operand] : llvm::enumerate(launch.getKernelOperands())) {
      auto type = dyn_cast<MemRefType>(operand.getType());
      if (!type || number >= kernel.getNumArguments())
        continue;
      auto promise = [&](StringRef name) {
        return kernel.getArgAttr(number, name);
      };
      if (auto bytes = dyn_cast_or_null<IntegerAttr>(
              promise(LLVM::LLVMDialect::getAlignAttrName())))
        if (failed(expect(number, kBase,
                          memref::ExtractAlignedPointerAsIndexOp::create(
                              builder, loc, operand),
                          bytes.getInt())))
          return failure();
      auto strides =
          dyn_cast_or_null<DenseI64ArrayAttr>(promise(tile::kMultipleOfName));
      auto offset =
          dyn_cast_or_null<IntegerAttr>(promise(tile::kOffsetMultipleOfName));
      if (!strides && !offset)
        continue;
      auto metadata =
          memref::ExtractStridedMetadataOp::create(builder, loc, operand);
      if (offset && failed(expect(number, kOffset, metadata.getOffset(),
                                  offset.getInt())))
        return failure();
      if (!strides)
        continue;
      for (auto [dim, multiple] : llvm::enumerate(strides.asArrayRef()))
        if (failed(
                expect(number, dim, strideThatCounts(metadata, dim), multiple)))
          return failure();
    }
    return success();
  }

private:
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  }

  /// That of a single element means nothing.
  Value strideThatCounts(memref::ExtractStridedMetadataOp metadata,
                         unsigned dim) {
    Value isSingle =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule,
                              metadata.getSizes()[dim], index(1));
    return arith::SelectOp::create(builder, loc, isSingle, index(0),
                                   metadata.getStrides()[dim]);
  }

  LogicalResult expect(int64_t argument, int64_t part, Value value,
                       int64_t multiple) {
    if (multiple <= 1)
      return success();
    Type i64 = builder.getI64Type();
    OpBuilder::InsertionGuard guard(builder);
    FailureOr<LLVM::LLVMFuncOp> callee =
        LLVM::lookupOrCreateFn(builder, launch->getParentOfType<ModuleOp>(),
                               kExpectMultiple, SmallVector<Type>(4, i64),
                               LLVM::LLVMVoidType::get(builder.getContext()));
    if (failed(callee))
      return failure();
    builder.setInsertionPoint(launch);
    auto constant = [&](int64_t number) -> Value {
      return LLVM::ConstantOp::create(builder, loc, i64, number);
    };
    Value given = arith::IndexCastOp::create(builder, loc, i64, value);
    SmallVector<Value> arguments{constant(argument), constant(part), given,
                                 constant(multiple)};
    LLVM::CallOp::create(builder, loc, *callee, arguments);
    return success();
  }

  gpu::LaunchFuncOp launch;
  OpBuilder builder;
  Location loc;
};

struct GuardArguments : tile::impl::TileGuardArgumentsBase<GuardArguments> {
  void runOnOperation() override {
    WalkResult result =
        getOperation().walk([](gpu::LaunchFuncOp launch) -> WalkResult {
          auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
              launch, launch.getKernelAttr());
          return kernel ? Guard(launch).guard(kernel) : success();
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
