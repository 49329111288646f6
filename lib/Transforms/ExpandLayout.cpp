// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/ExpandLayout.h"

#include "dialect/ElementSize.h"
#include "lib/Plan/Tile.h"
#include "lib/Transforms/FlattenDeclarations.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace tile {
#define GEN_PASS_DEF_TILEEXPANDLAYOUT
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

static MemRefType flatType(MemRefType type) {
  auto layout = StridedLayoutAttr::get(type.getContext(), ShapedType::kDynamic,
                                       ArrayRef<int64_t>{1});
  return MemRefType::get({ShapedType::kDynamic}, type.getElementType(), layout,
                         type.getMemorySpace());
}

namespace {
struct FlatTypes : TypeConverter {
  FlatTypes() {
    addConversion([](Type type) { return type; });
    addConversion(
        [](MemRefType type,
           SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
          LayoutAttr attr = tileLayoutOf(type);
          if (!attr)
            return std::nullopt;
          results.push_back(flatType(type));
          if (attr.hasDynamicOffset())
            results.push_back(IndexType::get(type.getContext()));
          return success();
        });
    addSourceMaterialization([](OpBuilder &builder, Type type,
                                ValueRange inputs, Location loc) -> Value {
      return UnrealizedConversionCastOp::create(builder, loc, type, inputs)
          .getResult(0);
    });
  }
};

struct ExpandView : OpConversionPattern<ViewOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(ViewOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int64_t span = *layout::cosize(op.getLayoutAttr().getLayout());
    SmallVector<OpFoldResult> offset{op.getMixedOffset()};
    SmallVector<OpFoldResult> size{rewriter.getIndexAttr(span)};
    SmallVector<OpFoldResult> stride{rewriter.getIndexAttr(1)};
    Value part = memref::SubViewOp::create(
        rewriter, op.getLoc(), adaptor.getSource()[0], offset, size, stride);
    rewriter.replaceOpWithNewOp<memref::CastOp>(
        op, flatType(op.getResultType()), part);
    return success();
  }
};

struct ExpandSlice : OpConversionPattern<SliceOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(SliceOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> results{adaptor.getSource()[0]};
    if (tileLayoutOf(op.getResultType()).hasDynamicOffset()) {
      IndexBuilder index(rewriter, op.getLoc());
      LayoutAttr attr = tileLayoutOf(op.getSourceType());
      layout::Layout layout = attr.getLayout();
      OpFoldResult offset = attr.hasDynamicOffset()
                                ? OpFoldResult(adaptor.getSource()[1])
                                : index.known(layout.offset);
      for (auto [modes, start] :
           llvm::zip_equal(layout.dimensions, op.getMixedOffsets()))
        offset = index.add(offset, index.place(modes, start));
      results.push_back(index.value(offset));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ExpandPeer : OpConversionPattern<PeerOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(PeerOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> results(adaptor.getSource());
    auto type = cast<MemRefType>(op.getResult().getType());
    results[0] = PeerOp::create(rewriter, op.getLoc(), flatType(type),
                                results[0], op.getRank());
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ExpandOffset : OpConversionPattern<OffsetOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(OffsetOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    LayoutAttr attr = tileLayoutOf(op.getTile().getType());
    if (attr.hasDynamicOffset())
      rewriter.replaceOp(op, adaptor.getTile()[1]);
    else
      rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, attr.getOffset());
    return success();
  }
};

struct ExpandDim : OpConversionPattern<memref::DimOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::DimOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto shape = cast<MemRefType>(op.getSource().getType()).getShape();
    Location loc = op.getLoc();
    // All extents are known, but perhaps not which one is meant.
    Value extent;
    for (auto [dim, known] : llvm::enumerate(shape)) {
      Value candidate = arith::ConstantIndexOp::create(rewriter, loc, known);
      if (!extent) {
        extent = candidate;
        continue;
      }
      Value isThis = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, op.getIndex(),
          arith::ConstantIndexOp::create(rewriter, loc, dim));
      extent = rewriter.createOrFold<arith::SelectOp>(loc, isThis, candidate,
                                                      extent);
    }
    if (std::optional<int64_t> dim = op.getConstantIndex();
        dim && *dim >= 0 && *dim < static_cast<int64_t>(shape.size()))
      extent = arith::ConstantIndexOp::create(rewriter, loc, shape[*dim]);
    rewriter.replaceOp(op, extent);
    return success();
  }
};

struct ExpandAlignedPointer
    : OpConversionPattern<memref::ExtractAlignedPointerAsIndexOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::ExtractAlignedPointerAsIndexOp op,
                  OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexBuilder index(rewriter, loc);
    auto type = cast<MemRefType>(op.getSource().getType());
    auto metadata = memref::ExtractStridedMetadataOp::create(
        rewriter, loc, adaptor.getSource()[0]);
    Value base = memref::ExtractAlignedPointerAsIndexOp::create(
        rewriter, loc, metadata.getBaseBuffer());
    int64_t bits = elementBits(type.getElementType()).value_or(8);
    OpFoldResult offset =
        bits % 8 == 0
            ? index.times(OpFoldResult(metadata.getOffset()), bits / 8)
            : index.digit(OpFoldResult(metadata.getOffset()), 8 / bits, 0);
    rewriter.replaceOp(op, index.value(index.add(OpFoldResult(base), offset)));
    return success();
  }
};

struct ExpandAssumeAlignment : OpConversionPattern<memref::AssumeAlignmentOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::AssumeAlignmentOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> results(adaptor.getMemref());
    results[0] = memref::AssumeAlignmentOp::create(
        rewriter, op.getLoc(), results[0], op.getAlignment());
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ExpandDealloc : OpConversionPattern<memref::DeallocOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::DeallocOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::DeallocOp>(op, adaptor.getMemref()[0]);
    return success();
  }
};

struct ExpandSelect : OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> results;
    for (auto [a, b] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      results.push_back(arith::SelectOp::create(
          rewriter, op.getLoc(), adaptor.getCondition()[0], a, b));
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

/// Kernels, launches and returns of device functions: arguments one to many.
SmallVector<Value> joined(ArrayRef<ValueRange> parts) {
  SmallVector<Value> all;
  for (ValueRange values : parts)
    llvm::append_range(all, values);
  return all;
}

struct ExpandLaunchFunc : OpConversionPattern<gpu::LaunchFuncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::LaunchFuncOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(op, [&] {
      op.getKernelOperandsMutable().assign(joined(adaptor.getKernelOperands()));
    });
    return success();
  }
};

struct ExpandGpuReturn : OpConversionPattern<gpu::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<gpu::ReturnOp>(op,
                                               joined(adaptor.getOperands()));
    return success();
  }
};

struct ExpandGpuFunc : OpConversionPattern<gpu::GPUFuncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(gpu::GPUFuncOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Block &entry = op.getBody().front();
    const TypeConverter &types = *getTypeConverter();
    TypeConverter::SignatureConversion signature(entry.getNumArguments());
    SmallVector<Type> inputs, results;
    SmallVector<Attribute> attrs;
    for (auto [i, argument] : llvm::enumerate(entry.getArguments())) {
      SmallVector<Type> converted;
      if (failed(types.convertType(argument.getType(), converted)))
        return failure();
      signature.addInputs(i, converted);
      if (i >= op.getNumArguments())
        continue;
      llvm::append_range(inputs, converted);
      auto own = op.getArgAttrDict(i);
      attrs.push_back(own ? own : rewriter.getDictionaryAttr({}));
      attrs.resize(inputs.size(), rewriter.getDictionaryAttr({}));
    }
    if (failed(types.convertTypes(op.getResultTypes(), results)))
      return failure();
    rewriter.applySignatureConversion(&entry, signature, &types);
    rewriter.modifyOpInPlace(op, [&] {
      op.setFunctionType(rewriter.getFunctionType(inputs, results));
      if (op.getArgAttrsAttr())
        op.setArgAttrsAttr(rewriter.getArrayAttr(attrs));
    });
    return success();
  }
};

struct ExpandAssumption : OpConversionPattern<AssumeMultipleOp> {
  ExpandAssumption(const TypeConverter &converter, MLIRContext *context,
                   bool check)
      : OpConversionPattern(converter, context), check(check) {}
  LogicalResult
  matchAndRewrite(AssumeMultipleOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value value = adaptor.getValue()[0];
    if (check) {
      Location loc = op.getLoc();
      auto constant = [&](int64_t number) -> Value {
        return arith::ConstantOp::create(
            rewriter, loc, rewriter.getIntegerAttr(value.getType(), number));
      };
      Value rest = arith::RemSIOp::create(rewriter, loc, value,
                                          constant(op.getDivisor()));
      Value isMultiple = arith::CmpIOp::create(
          rewriter, loc, arith::CmpIPredicate::eq, rest, constant(0));
      cf::AssertOp::create(
          rewriter, loc, isMultiple,
          "tile.assume_multiple: the value is no multiple of " +
              std::to_string(op.getDivisor()));
    }
    rewriter.replaceOp(op, value);
    return success();
  }
  bool check;
};

/// Whether nothing under `root` is left to be expanded.
bool isExpanded(Operation *root, const FlatTypes &types) {
  auto isFlat = [&](TypeRange all) { return types.isLegal(all); };
  WalkResult result = root->walk([&](Operation *op) -> WalkResult {
    bool flat = !isa<ViewOp, SliceOp, OffsetOp, AssumeMultipleOp>(op) &&
                isFlat(op->getOperandTypes()) && isFlat(op->getResultTypes());
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      flat &= isFlat(function.getArgumentTypes()) &&
              isFlat(function.getResultTypes());
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      flat &= isFlat(global.getType());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        flat &= isFlat(block.getArgumentTypes());
    return flat ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

struct ExpandLayout : tile::impl::TileExpandLayoutBase<ExpandLayout> {
  using TileExpandLayoutBase::TileExpandLayoutBase;

  void runOnOperation() override {
    Operation *root = getOperation();
    FlatTypes types;
    if (failed(refuseUnknown(root)))
      return signalPassFailure();
    if (isExpanded(root, types))
      return markAllAnalysesPreserved();
    if (failed(flattenDeclarations(root)))
      return signalPassFailure();
    expandCopies(root);
    Accesses accesses = planAccesses(root);

    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    patterns
        .add<ExpandView, ExpandSlice, ExpandPeer, ExpandOffset, ExpandDim,
             ExpandAlignedPointer, ExpandAssumeAlignment, ExpandDealloc,
             ExpandSelect, ExpandLaunchFunc, ExpandGpuReturn, ExpandGpuFunc>(
            types, &getContext());
    patterns.add<ExpandAssumption>(types, &getContext(), checkAssumptions);
    addAccessPatterns(types, accesses, patterns);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                   types);
    populateCallOpTypeConversionPattern(patterns, types);
    populateReturnOpTypeConversionPattern(patterns, types);
    scf::populateSCFStructuralTypeConversionsAndLegality(types, patterns,
                                                         target);
    cf::populateCFStructuralTypeConversionsAndLegality(types, patterns, target);
    target.addDynamicallyLegalOp<func::FuncOp>([&](func::FuncOp op) {
      return types.isSignatureLegal(op.getFunctionType());
    });
    target.addDynamicallyLegalOp<gpu::GPUFuncOp>([&](gpu::GPUFuncOp op) {
      return types.isSignatureLegal(op.getFunctionType());
    });
    target.addIllegalOp<ViewOp, SliceOp, OffsetOp, AssumeMultipleOp>();
    target.markUnknownOpDynamicallyLegal(
        [&](Operation *op) { return types.isLegal(op); });
    if (failed(applyFullConversion(root, target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
