// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream's lowering of gpu.memcpy and gpu.memset takes the bytes from where
// a buffer begins, and as many as one of the memrefs has elements.
#include "lib/Transforms/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

namespace tile {
#define GEN_PASS_DEF_TILELEGALIZEMEMCPY
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;

static constexpr llvm::StringLiteral kExpectExtents = "mgpuExpectExtents";

/// Whether the elements follow each other in memory, in the order of their
/// indices, wherever the first is.
static bool isWithoutGaps(MemRefType type) {
  if (type.getLayout().isIdentity() || llvm::is_contained(type.getShape(), 0))
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  std::optional<int64_t> wanted = 1;
  for (auto [extent, stride] :
       llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (extent == 1)
      continue;
    if (!wanted || stride != *wanted)
      return false;
    if (ShapedType::isDynamic(extent))
      wanted = std::nullopt;
    else
      wanted = *wanted * extent;
  }
  return true;
}

static LogicalResult checkOperand(Operation *op, Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  if (type && isWithoutGaps(type))
    return success();
  InFlightDiagnostic error =
      op->emitOpError("must have memory without gaps, got ") << value.getType();
  error.attachNote() << "take a whole buffer or whole rows of one, or go "
                        "through a buffer of its own with memref.copy";
  return error;
}

namespace {
class Rebaser {
public:
  Rebaser(Operation *op, const LLVMTypeConverter &converter)
      : builder(op), loc(op->getLoc()), layout(DataLayout::closest(op)),
        converter(converter) {}

  /// The memref as one without a layout, which begins at its first element.
  Value operator()(Value value) {
    auto type = cast<MemRefType>(value.getType());
    if (type.getLayout().isIdentity())
      return value;
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, value);
    Value begin =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, value);
    Value size = arith::ConstantIndexOp::create(
        builder, loc,
        layout.getTypeSize(type.getElementType()).getFixedValue());
    Value offset =
        arith::MulIOp::create(builder, loc, metadata.getOffset(), size);
    Value address = word(arith::AddIOp::create(builder, loc, begin, offset));
    auto flat =
        MemRefType::get(type.getShape(), type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    Type structure = converter.convertType(flat);
    auto descriptor = MemRefDescriptor::poison(builder, loc, structure);
    Value pointer = LLVM::IntToPtrOp::create(
        builder, loc, descriptor.getElementPtrType(), address);
    descriptor.setAllocatedPtr(builder, loc, pointer);
    descriptor.setAlignedPtr(builder, loc, pointer);
    descriptor.setConstantOffset(builder, loc, 0);
    Value stride = constant(1);
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      Value extent = word(metadata.getSizes()[i]);
      descriptor.setSize(builder, loc, i, extent);
      descriptor.setStride(builder, loc, i, stride);
      stride = arith::MulIOp::create(builder, loc, stride, extent);
    }
    Value made = descriptor;
    return UnrealizedConversionCastOp::create(builder, loc, flat, made)
        .getResult(0);
  }

private:
  Value word(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      index);
  }
  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }

  OpBuilder builder;
  Location loc;
  DataLayout layout;
  const LLVMTypeConverter &converter;
};
} // namespace

/// Has the run-time library compare what only it can know.
static void expectSameExtents(gpu::MemcpyOp op) {
  auto target = cast<MemRefType>(op.getDst().getType());
  auto source = cast<MemRefType>(op.getSrc().getType());
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto module = op->getParentOfType<ModuleOp>();
  Type i64 = builder.getI64Type();
  for (int64_t i = 0; i < target.getRank(); ++i) {
    if (!target.isDynamicDim(i) && !source.isDynamicDim(i))
      continue;
    if (!module.lookupSymbol(kExpectExtents)) {
      OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
      auto function = func::FuncOp::create(
          top, loc, kExpectExtents, top.getFunctionType({i64, i64, i64}, {}));
      function.setPrivate();
    }
    SmallVector<Value> arguments{
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(i))};
    for (Value each : {op.getDst(), op.getSrc()}) {
      Value extent = memref::DimOp::create(builder, loc, each, i);
      arguments.push_back(
          arith::IndexCastOp::create(builder, loc, i64, extent));
    }
    func::CallOp::create(builder, loc, kExpectExtents, TypeRange(), arguments);
  }
}

namespace {
struct LegalizeMemcpy : tile::impl::TileLegalizeMemcpyBase<LegalizeMemcpy> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    WalkResult result = getOperation().walk<WalkOrder::PreOrder>(
        [&](Operation *op) -> WalkResult {
          if (isa<gpu::GPUModuleOp>(op))
            return WalkResult::skip();
          if (auto copy = dyn_cast<gpu::MemcpyOp>(op)) {
            if (failed(checkOperand(op, copy.getDst())) ||
                failed(checkOperand(op, copy.getSrc())))
              return WalkResult::interrupt();
            expectSameExtents(copy);
            Rebaser rebase(op, converter);
            copy.getDstMutable().assign(rebase(copy.getDst()));
            copy.getSrcMutable().assign(rebase(copy.getSrc()));
          } else if (auto fill = dyn_cast<gpu::MemsetOp>(op)) {
            if (failed(checkOperand(op, fill.getDst())))
              return WalkResult::interrupt();
            fill.getDstMutable().assign(Rebaser(op, converter)(fill.getDst()));
          }
          return WalkResult::advance();
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
