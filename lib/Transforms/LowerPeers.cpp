// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/Passes.h"

#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tile {
#define GEN_PASS_DEF_TILELOWERPEERS
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// The counterpart in CTA `rank` of an address in the CTA's own shared memory,
/// an index or an i64.
static Value mapped(ImplicitLocOpBuilder &b, Value address, Value rank) {
  MLIRContext *context = b.getContext();
  if (isa<IndexType>(address.getType()))
    address = arith::IndexCastOp::create(b, b.getI64Type(), address);
  auto own = LLVM::LLVMPointerType::get(context, 3);
  auto peers = LLVM::LLVMPointerType::get(context, kClusterMemorySpace);
  return NVVM::MapaOp::create(b, peers,
                              LLVM::IntToPtrOp::create(b, own, address), rank);
}

/// The 32 bits of a pointer into shared memory.
static Value numberOf(ImplicitLocOpBuilder &b, Value pointer) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), pointer);
}

static LogicalResult refuseLayout(Operation *op, Value memref) {
  if (!isa<LayoutAttr>(cast<MemRefType>(memref.getType()).getLayout()))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("must have a strided memref once it is lowered, got ");
  diag << memref.getType();
  diag.attachNote() << "run tile-expand-layout first";
  return diag;
}

/// A descriptor that differs from the source's in its pointers only.
static LogicalResult lowerPeer(PeerOp op) {
  if (failed(refuseLayout(op, op.getSource())))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<MemRefType>(op.getResult().getType());
  LLVMTypeConverter types(b.getContext());
  Type descriptorType = types.convertType(type);
  if (!descriptorType)
    return op.emitOpError("cannot have a descriptor of ") << type;
  auto metadata = memref::ExtractStridedMetadataOp::create(b, op.getSource());
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(
      b, metadata.getBaseBuffer());
  Value pointer = mapped(b, base, op.getRank());
  auto descriptor = MemRefDescriptor::poison(b, op.getLoc(), descriptorType);
  descriptor.setAllocatedPtr(b, op.getLoc(), pointer);
  descriptor.setAlignedPtr(b, op.getLoc(), pointer);
  auto number = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, b.getI64Type(), index);
  };
  descriptor.setOffset(b, op.getLoc(), number(metadata.getOffset()));
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    descriptor.setSize(b, op.getLoc(), dim, number(metadata.getSizes()[dim]));
    descriptor.setStride(b, op.getLoc(), dim,
                         number(metadata.getStrides()[dim]));
  }
  auto cast = UnrealizedConversionCastOp::create(b, type, Value(descriptor));
  op.replaceAllUsesWith(cast.getResult(0));
  op.erase();
  return success();
}

/// Upstream has no ops for `st.async` and `red.async`.
static std::string instructionOf(StoreAsyncOp op, size_t words, bool isLong) {
  std::string text = "$1", type = isLong ? "b64" : "b32", vector;
  if (words > 1) {
    vector = ".v" + std::to_string(words);
    for (size_t word = 2; word <= words; ++word)
      text += ", $" + std::to_string(word);
    text = "{" + text + "}";
  }
  std::string operands =
      " [$0], " + text + ", [$" + std::to_string(words + 1) + "];";
  std::string way = ".shared::cluster.mbarrier::complete_tx::bytes";
  std::optional<ReductionKind> reduce = op.getReduce();
  if (!reduce)
    return "st.async.weak" + way + vector + "." + type + operands;
  std::string name = stringifyReductionKind(*reduce).str();
  switch (*reduce) {
  case ReductionKind::MinSI:
  case ReductionKind::MaxSI:
    name = name.substr(0, 3);
    type = "s32";
    break;
  case ReductionKind::MinUI:
  case ReductionKind::MaxUI:
    name = name.substr(0, 3);
    [[fallthrough]];
  case ReductionKind::Add:
  case ReductionKind::Inc:
  case ReductionKind::Dec:
    type = isLong ? "u64" : "u32";
    break;
  default:
    break;
  }
  return "red.async.relaxed.cluster" + way + "." + name + "." + type + operands;
}

/// The value in registers of 32 bits, or in one of 64.
static SmallVector<Value> registersOf(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType();
  auto vector = dyn_cast<VectorType>(type);
  if (vector) {
    if (isa<IndexType>(vector.getElementType()))
      value =
          arith::IndexCastOp::create(b, vector.clone(b.getI64Type()), value);
    int64_t bits = cast<VectorType>(value.getType()).getElementTypeBitWidth() *
                   vector.getNumElements();
    auto words = VectorType::get({bits / 32}, b.getI32Type());
    value = vector::BitCastOp::create(b, words, value);
    SmallVector<Value> registers;
    for (int64_t word = 0; word < words.getNumElements(); ++word)
      registers.push_back(vector::ExtractOp::create(b, value, word));
    return registers;
  }
  if (isa<IndexType>(type))
    return {arith::IndexCastOp::create(b, b.getI64Type(), value)};
  if (isa<FloatType>(type))
    return {arith::BitcastOp::create(
        b, b.getIntegerType(type.getIntOrFloatBitWidth()), value)};
  return {value};
}

static LogicalResult lowerStore(StoreAsyncOp op) {
  if (failed(refuseLayout(op, op.getDst())))
    return failure();
  if (!op.getAligned()) {
    InFlightDiagnostic diag =
        op.emitOpError("has no proof that its destination is aligned");
    diag.attachNote() << "run tile-analyze-layout first";
    return diag;
  }
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<MemRefType>(op.getDst().getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(b, op.getDst());
  Value offset = metadata.getOffset();
  for (auto [index, stride] :
       llvm::zip_equal(op.getIndices(), metadata.getStrides()))
    offset = arith::AddIOp::create(b, offset,
                                   arith::MulIOp::create(b, index, stride));
  int64_t elementBytes = *elementBits(type.getElementType()) / 8;
  Value bytes = arith::MulIOp::create(
      b, arith::IndexCastOp::create(b, b.getI32Type(), offset),
      arith::ConstantOp::create(b, b.getI32IntegerAttr(elementBytes)));
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(
      b, metadata.getBaseBuffer());
  Value address = arith::AddIOp::create(
      b, numberOf(b, mapped(b, base, op.getRank())), bytes);
  Value barrier = nvgpu::MBarrierGetOp::create(
      b, b.getI64Type(), op.getBarriers(), op.getBarrierIndex());
  SmallVector<Value> registers = registersOf(b, op.getValue());
  bool isLong = registers[0].getType().isInteger(64);
  SmallVector<Value> operands{address};
  llvm::append_range(operands, registers);
  operands.push_back(numberOf(b, mapped(b, barrier, op.getRank())));
  std::string constraints = "r,";
  for (size_t i = 0; i < registers.size(); ++i)
    constraints += isLong ? "l," : "r,";
  LLVM::InlineAsmOp::create(
      b, TypeRange{}, operands, instructionOf(op, registers.size(), isLong),
      constraints + "r,~{memory}",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  op.erase();
  return success();
}

namespace {
struct LowerPeers : tile::impl::TileLowerPeersBase<LowerPeers> {
  using TileLowerPeersBase::TileLowerPeersBase;

  void runOnOperation() override {
    bool isRight = true;
    getOperation()->walk([&](Operation *op) {
      if (auto peer = dyn_cast<PeerOp>(op))
        isRight &= succeeded(lowerPeer(peer));
      else if (auto store = dyn_cast<StoreAsyncOp>(op))
        isRight &= succeeded(lowerStore(store));
    });
    if (!isRight)
      signalPassFailure();
  }
};
} // namespace
