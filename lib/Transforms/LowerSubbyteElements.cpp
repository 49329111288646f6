// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gives elements of less than a byte one meaning. Upstream's lowering steps
// over a byte for each, packs them in vectors, and ends the process on some.
#include "lib/Transforms/LowerSubbyteElements.h"

#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILELOWERSUBBYTEELEMENTS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

static bool isBool(Type element) { return element.isInteger(1); }

static bool isSubbyte(Type element) {
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8;
}

/// Whether vectors pack such elements more densely than memory does.
static bool isPadded(Type element) {
  return element.isIntOrFloat() &&
         !llvm::isPowerOf2_32(element.getIntOrFloatBitWidth());
}

/// The element type of the first memref, among operands and results or
/// declared, whose elements are `kind`; null without one.
static Type elementOf(Operation *op, llvm::function_ref<bool(Type)> kind) {
  if (auto global = dyn_cast<memref::GlobalOp>(op)) {
    Type element = global.getType().getElementType();
    return kind(element) ? element : Type();
  }
  auto find = [&](TypeRange types) -> Type {
    for (Type type : types)
      if (auto memref = dyn_cast<BaseMemRefType>(type))
        if (kind(memref.getElementType()))
          return memref.getElementType();
    return {};
  };
  Type found = find(op->getOperandTypes());
  return found ? found : find(op->getResultTypes());
}

namespace {
/// What an access moves: operands to memory, or results from it.
struct Moved {
  SmallVector<OpOperand *, 1> operands;
  SmallVector<OpResult, 1> results;
};
} // namespace

/// Nothing for other ops than loads and stores.
static std::optional<Moved> movedBy(Operation *op) {
  if (isa<memref::LoadOp, vector::LoadOp>(op))
    return Moved{{}, {op->getResult(0)}};
  if (isa<memref::StoreOp, vector::StoreOp>(op))
    return Moved{{&op->getOpOperand(0)}, {}};
  if (auto read = dyn_cast<vector::TransferReadOp>(op))
    return Moved{{&read.getPaddingMutable()}, {op->getResult(0)}};
  if (auto write = dyn_cast<vector::TransferWriteOp>(op))
    return Moved{{&write.getValueToStoreMutable()}, {}};
  if (auto load = dyn_cast<vector::MaskedLoadOp>(op))
    return Moved{{&load.getPassThruMutable()}, {op->getResult(0)}};
  if (auto load = dyn_cast<vector::ExpandLoadOp>(op))
    return Moved{{&load.getPassThruMutable()}, {op->getResult(0)}};
  if (auto gather = dyn_cast<vector::GatherOp>(op))
    return Moved{{&gather.getPassThruMutable()}, {op->getResult(0)}};
  if (auto store = dyn_cast<vector::MaskedStoreOp>(op))
    return Moved{{&store.getValueToStoreMutable()}, {}};
  if (auto store = dyn_cast<vector::CompressStoreOp>(op))
    return Moved{{&store.getValueToStoreMutable()}, {}};
  if (auto scatter = dyn_cast<vector::ScatterOp>(op))
    return Moved{{&scatter.getValueToStoreMutable()}, {}};
  if (auto set = dyn_cast<gpu::MemsetOp>(op))
    return Moved{{&set.getValueMutable()}, {}};
  return std::nullopt;
}

/// Whether an op moves whole elements, whatever they are.
static bool movesElements(Operation *op) {
  return isa<memref::CopyOp, gpu::MemcpyOp, nvgpu::DeviceAsyncCopyOp>(op);
}

/// Whether an op hands memrefs on, or computes where they lie, and touches no
/// element.
static bool handsOn(Operation *op) {
  if (auto global = dyn_cast<memref::GlobalOp>(op))
    return global.isExternal() || global.isUninitialized();
  return isa<memref::AllocOp, memref::AllocaOp, memref::DeallocOp,
             memref::AssumeAlignmentOp, memref::CastOp, memref::CollapseShapeOp,
             memref::DimOp, memref::ExpandShapeOp,
             memref::ExtractAlignedPointerAsIndexOp,
             memref::ExtractStridedMetadataOp, memref::GetGlobalOp,
             memref::MemorySpaceCastOp, memref::RankOp,
             memref::ReinterpretCastOp, memref::ReshapeOp, memref::SubViewOp,
             memref::TransposeOp, memref::ViewOp, arith::SelectOp, gpu::AllocOp,
             gpu::DeallocOp, gpu::HostRegisterOp, gpu::HostUnregisterOp,
             gpu::LaunchFuncOp, gpu::LaunchOp, UnrealizedConversionCastOp>(
             op) ||
         isa<FunctionOpInterface, CallOpInterface, BranchOpInterface,
             RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(op) ||
         op->hasTrait<OpTrait::ReturnLike>() ||
         isa_and_present<TileDialect>(op->getDialect());
}

LogicalResult tile::checkElementAccess(Operation *op) {
  if (Type element = elementOf(op, isSubbyte);
      element && !isBool(element) && !handsOn(op)) {
    InFlightDiagnostic diag =
        op->emitOpError("must access elements of whole bytes, or i1, got ")
        << element;
    if (elementBits(element))
      diag.attachNote()
          << "they are packed: declare the buffer as i8, and view "
             "it as "
          << element << " where tiles of it are copied";
    else
      diag.attachNote() << "keep them as i8, and truncate what is loaded";
    return diag;
  }
  if (Type element = elementOf(op, isPadded);
      element && isa_and_present<vector::VectorDialect>(op->getDialect()) &&
      movedBy(op)) {
    InFlightDiagnostic diag =
        op->emitOpError("must access elements of a power of two of bits, got ");
    diag << element;
    diag.attachNote() << "memory pads them and vectors do not: load and store "
                         "them one by one, or keep them in a wider type";
    return diag;
  }
  if (Type element = elementOf(op, isBool);
      element && !handsOn(op) && !movesElements(op) && !movedBy(op) &&
      !isa<memref::GlobalOp>(op)) {
    InFlightDiagnostic diag = op->emitOpError("cannot take a memref of ")
                              << element;
    diag.attachNote() << "load and store its elements or vectors of them, or "
                         "keep them as i8";
    return diag;
  }
  return success();
}

/// `type`, which is or has bools as elements, with `element` instead.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.clone(element) : element;
}

/// Makes an access to bools one to bytes: stores 0 or 1, and takes what is not
/// 0 for true.
static void accessBytes(const Moved &moved) {
  for (OpOperand *operand : moved.operands) {
    OpBuilder builder(operand->getOwner());
    Location loc = operand->getOwner()->getLoc();
    Value value = operand->get();
    Type bits = withElement(value.getType(), builder.getI1Type());
    if (bits != value.getType())
      value = UnrealizedConversionCastOp::create(builder, loc, bits, value)
                  .getResult(0);
    operand->set(arith::ExtUIOp::create(
        builder, loc, withElement(bits, builder.getI8Type()), value));
  }
  for (OpResult result : moved.results) {
    OpBuilder builder(result.getContext());
    Location loc = result.getLoc();
    builder.setInsertionPointAfter(result.getOwner());
    Type type = result.getType();
    Type bytes = withElement(type, builder.getI8Type());
    result.setType(bytes);
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(bytes));
    Operation *isTrue = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, result, zero);
    Value value = isTrue->getResult(0);
    if (value.getType() != type)
      value = UnrealizedConversionCastOp::create(builder, loc, type, value)
                  .getResult(0);
    result.replaceUsesWithIf(
        value, [&](OpOperand &use) { return use.getOwner() != isTrue; });
  }
}

/// The initial value of bools, as bytes.
static LogicalResult initializeBytes(memref::GlobalOp global) {
  std::optional<Attribute> value = global.getInitialValue();
  if (!value || isa<UnitAttr>(*value))
    return success();
  auto dense = dyn_cast<DenseIntElementsAttr>(*value);
  if (!dense) {
    InFlightDiagnostic diag =
        global.emitOpError("initial value of bools must be dense, got ")
        << *value;
    diag.attachNote() << "write it as dense<...>, or keep it as i8";
    return diag;
  }
  global.setInitialValueAttr(
      dense.mapValues(IntegerType::get(global.getContext(), 8),
                      [](const APInt &bit) { return bit.zext(8); }));
  return success();
}

namespace {
struct LowerSubbyteElements
    : tile::impl::TileLowerSubbyteElementsBase<LowerSubbyteElements> {
  void runOnOperation() override {
    SmallVector<Moved> accesses;
    WalkResult checked = getOperation()->walk([&](Operation *op) -> WalkResult {
      if (failed(checkElementAccess(op)))
        return failure();
      if (!elementOf(op, isBool))
        return success();
      if (auto global = dyn_cast<memref::GlobalOp>(op))
        return initializeBytes(global);
      if (std::optional<Moved> moved = movedBy(op))
        accesses.push_back(*moved);
      return success();
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    for (const Moved &moved : accesses)
      accessBytes(moved);

    AttrTypeReplacer types;
    Type byte = IntegerType::get(&getContext(), 8);
    types.addReplacement([&](BaseMemRefType type) -> std::optional<Type> {
      if (!isBool(type.getElementType()))
        return std::nullopt;
      return type.cloneWith(std::nullopt, byte);
    });
    types.recursivelyReplaceElementsIn(getOperation(), /*replaceAttrs=*/true,
                                       /*replaceLocs=*/false,
                                       /*replaceTypes=*/true);
  }
};
} // namespace
