// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/FlattenDeclarations.h"

#include "dialect/ElementSize.h"
#include "lib/Plan/Tile.h"
#include "lib/Transforms/ExpandLayout.h"
#include "lib/Transforms/LowerSubbyteElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace tile;

/// Elements of a vector that are accessed one by one, if need be: each becomes
/// a few ops.
static constexpr int64_t kMostTransferred = int64_t(1) << 16;

static bool isTile(Type type) { return static_cast<bool>(tileLayoutOf(type)); }

static bool usesTiles(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(function.getArgumentTypes(), isTile) ||
           llvm::any_of(function.getResultTypes(), isTile);
  if (auto global = dyn_cast<memref::GlobalOp>(op))
    return isTile(global.getType());
  if (auto launch = dyn_cast<gpu::LaunchOp>(op))
    return llvm::any_of(launch.getBody().getArgumentTypes(), isTile);
  return llvm::any_of(op->getOperandTypes(), isTile) ||
         llvm::any_of(op->getResultTypes(), isTile);
}

static bool isKnown(Operation *op) {
  return isa<memref::LoadOp, memref::StoreOp, memref::CopyOp,
             vector::TransferReadOp, vector::TransferWriteOp, ViewOp, SliceOp,
             PeerOp, StoreAsyncOp, OffsetOp, memref::DimOp, memref::AllocOp,
             memref::AllocaOp, memref::DeallocOp, memref::GlobalOp,
             memref::GetGlobalOp, memref::ExtractAlignedPointerAsIndexOp,
             memref::AssumeAlignmentOp, arith::SelectOp, func::FuncOp,
             func::CallOp, func::ReturnOp, gpu::GPUFuncOp, gpu::ReturnOp,
             gpu::LaunchFuncOp, scf::ForOp, scf::IfOp, scf::WhileOp,
             scf::YieldOp, scf::ConditionOp, cf::BranchOp, cf::CondBranchOp>(
      op);
}

static LogicalResult refuseOp(Operation *op) {
  if (auto slice = dyn_cast<SliceOp>(op))
    if (std::optional<Refusal> refusal = checkSlice(slice)) {
      InFlightDiagnostic diag = op->emitOpError() << refusal->rule;
      diag.attachNote() << refusal->fix;
      return diag;
    }
  if (!usesTiles(op))
    return success();
  if (isa<CopyAsyncOp>(op)) {
    InFlightDiagnostic diag =
        op->emitOpError("must be legalized before its layouts are expanded");
    diag.attachNote() << "run tile-legalize-to-nvvm first";
    return diag;
  }
  if (!isKnown(op)) {
    InFlightDiagnostic diag =
        op->emitOpError("cannot take a memref with a #tile.layout");
    diag.attachNote()
        << "load and store its elements or vectors of them, slice "
           "it with tile.slice, or give it a strided layout";
    return diag;
  }
  if (failed(checkElementAccess(op)))
    return failure();
  if (auto transfer = dyn_cast<VectorTransferOpInterface>(op))
    if (std::optional<int64_t> count =
            layout::product(transfer.getVectorType().getShape());
        !count || *count > kMostTransferred) {
      InFlightDiagnostic diag = op->emitOpError("vector must have at most ");
      diag << kMostTransferred << " elements, got " << transfer.getVectorType();
      diag.attachNote() << "transfer smaller vectors in a loop";
      return diag;
    }
  return success();
}

LogicalResult tile::refuseUnknown(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    return failed(refuseOp(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The flat buffer of a declaration; null, after an error, where its layout
/// says an offset of `?`.
static MemRefType flatBuffer(Operation *op, MemRefType type) {
  LayoutAttr attr = tileLayoutOf(type);
  if (attr.hasDynamicOffset()) {
    InFlightDiagnostic diag = op->emitOpError(
        "must declare a buffer whose layout has a known offset, got ");
    diag << type;
    diag.attachNote() << "declare the whole buffer and take a tile.slice of it";
    return {};
  }
  return MemRefType::get({*layout::cosize(attr.getLayout())},
                         type.getElementType(), MemRefLayoutAttrInterface(),
                         type.getMemorySpace());
}

/// Has `value`, now flat, seen as what it was.
static void viewAs(OpBuilder &builder, Value value, MemRefType type) {
  auto view = ViewOp::create(builder, value.getLoc(), type, value, ValueRange{},
                             ArrayRef<int64_t>{0});
  value.replaceAllUsesExcept(view.getResult(), view);
}

static LogicalResult flattenAttributions(gpu::GPUFuncOp func) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  auto flatten = [&](ArrayRef<BlockArgument> attributions) {
    for (BlockArgument argument : attributions) {
      auto type = cast<MemRefType>(argument.getType());
      if (!isTile(type))
        continue;
      MemRefType flat = flatBuffer(func, type);
      if (!flat)
        return failure();
      argument.setType(flat);
      viewAs(builder, argument, type);
      // Reports tell where elements are by what was declared.
      argument.setLoc(FusedLoc::get(func.getContext(), argument.getLoc(),
                                    TypeAttr::get(type)));
    }
    return success();
  };
  return failure(failed(flatten(func.getWorkgroupAttributions())) ||
                 failed(flatten(func.getPrivateAttributions())));
}

template <typename Alloc> static LogicalResult flattenAlloc(Alloc op) {
  MemRefType type = op.getType();
  MemRefType flat = flatBuffer(op, type);
  if (!flat)
    return failure();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  op.getResult().setType(flat);
  viewAs(builder, op.getResult(), type);
  return success();
}

/// Elements of an initial value that are written out one by one.
static constexpr int64_t kMostPlaced = int64_t(1) << 24;
/// The initial value in the order of places; what lies between the elements is
/// 0.
static Attribute placed(DenseElementsAttr value, LayoutAttr attr,
                        MemRefType flat) {
  auto type = RankedTensorType::get(flat.getShape(), flat.getElementType());
  if (value.isSplat())
    return DenseElementsAttr::get(type, value.getSplatValue<Attribute>());
  layout::Layout layout = attr.getLayout();
  SmallVector<Attribute> elements(
      flat.getNumElements(),
      Builder(attr.getContext()).getZeroAttr(flat.getElementType()));
  for (auto [index, element] : llvm::enumerate(value.getValues<Attribute>()))
    elements[layout::place(layout, layout::coordinateOf(layout, index))] =
        element;
  return DenseElementsAttr::get(type, elements);
}

static LogicalResult flattenGlobal(memref::GlobalOp op) {
  MemRefType type = op.getType();
  MemRefType flat = flatBuffer(op, type);
  if (!flat)
    return failure();
  if (std::optional<Attribute> value = op.getInitialValue();
      value && !isa<UnitAttr>(*value)) {
    auto dense = dyn_cast<DenseElementsAttr>(*value);
    if (!dense)
      return op.emitOpError("initial value must be dense to be laid out, got ")
             << *value;
    if (!dense.isSplat() && flat.getNumElements() > kMostPlaced) {
      InFlightDiagnostic diag = op.emitOpError("initial value must be laid out "
                                               "over at most ");
      diag << kMostPlaced << " elements, got " << flat.getNumElements();
      diag.attachNote() << "choose smaller strides, or store the value in code";
      return diag;
    }
    op.setInitialValueAttr(placed(dense, tileLayoutOf(type), flat));
  }
  op.setType(flat);
  return success();
}

LogicalResult tile::flattenDeclarations(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (auto func = dyn_cast<gpu::GPUFuncOp>(op))
      return flattenAttributions(func);
    if (!usesTiles(op))
      return success();
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return flattenAlloc(alloc);
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      return flattenAlloc(alloca);
    if (auto get = dyn_cast<memref::GetGlobalOp>(op))
      return flattenAlloc(get);
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      return flattenGlobal(global);
    return success();
  });
  return failure(result.wasInterrupted());
}

/// Whether vectors can run along the last dimension; of a tile with a layout,
/// transfers find out how wide.
static bool hasRows(MemRefType type) {
  if (isTile(type))
    return true;
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         !strides.empty() && strides.back() == 1;
}

/// Elements of a vector of at most 16 bytes that divide the fastest extent.
static int64_t copyWidth(MemRefType source, MemRefType target) {
  std::optional<int64_t> bits = elementBits(source.getElementType());
  if (!bits || *bits < 8 || *bits > 128 || source.getRank() == 0 ||
      !VectorType::isValidElementType(source.getElementType()) ||
      !hasRows(source) || !hasRows(target))
    return 1;
  return std::gcd(128 / *bits, source.getShape().back());
}

static void expandCopy(memref::CopyOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<MemRefType>(op.getSource().getType());
  int64_t width = copyWidth(type, cast<MemRefType>(op.getTarget().getType()));
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  SmallVector<Value> lower, upper, steps;
  for (int64_t extent : type.getShape()) {
    lower.push_back(constant(0));
    upper.push_back(constant(extent));
    steps.push_back(constant(1));
  }
  if (width != 1)
    steps.back() = constant(width);
  scf::buildLoopNest(
      builder, loc, lower, upper, steps,
      [&](OpBuilder &builder, Location loc, ValueRange indices) {
        if (width == 1) {
          Value element =
              memref::LoadOp::create(builder, loc, op.getSource(), indices);
          memref::StoreOp::create(builder, loc, element, op.getTarget(),
                                  indices);
          return;
        }
        auto vector = VectorType::get({width}, type.getElementType());
        SmallVector<bool> inBounds{true};
        Value read;
        if (isTile(type)) {
          Value padding = arith::ConstantOp::create(
              builder, loc, builder.getZeroAttr(type.getElementType()));
          read = vector::TransferReadOp::create(
              builder, loc, vector, op.getSource(), indices, padding,
              ArrayRef<bool>(inBounds));
        } else {
          read = vector::LoadOp::create(builder, loc, vector, op.getSource(),
                                        indices);
        }
        if (isTile(op.getTarget().getType()))
          vector::TransferWriteOp::create(builder, loc, read, op.getTarget(),
                                          indices, ArrayRef<bool>(inBounds));
        else
          vector::StoreOp::create(builder, loc, read, op.getTarget(), indices);
      });
  op.erase();
}

void tile::expandCopies(Operation *root) {
  SmallVector<memref::CopyOp> copies;
  root->walk([&](memref::CopyOp op) {
    if (usesTiles(op))
      copies.push_back(op);
  });
  for (memref::CopyOp op : copies)
    expandCopy(op);
}
