// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Transforms/CheckTypes.h"

#include "dialect/TileDialect.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace tile {
#define GEN_PASS_DEF_TILECHECKTYPES
#include "lib/Transforms/Passes.h.inc"
} // namespace tile

using namespace mlir;
using namespace tile;

/// Bits of LLVM's widest integer.
static constexpr unsigned kMaxIntegerBits = 1 << 23;
/// LLVM numbers address spaces in 24 bits.
static constexpr unsigned kAddressSpaces = 1 << 24;

/// LLVM's largest alignment in bytes.
static constexpr uint64_t kMaxAlignment = uint64_t(1) << 32;

/// Whether upstream can multiply the extents, those that are not known and 0
/// left out, as it does for strides.
static bool hasCountableElements(ShapedType type) {
  int64_t count = 1;
  if (type.hasRank())
    for (int64_t extent : type.getShape())
      if (extent > 0 && llvm::MulOverflow(count, extent, count))
        return false;
  return true;
}

static bool isScalable(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.isScalable();
}

static bool isOfUnknownWidth(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer &&
         (integer.getWidth() == 0 || integer.getWidth() > kMaxIntegerBits);
}

static bool isMemorySpace(Attribute space) {
  if (!space || isa<gpu::AddressSpaceAttr>(space))
    return true;
  auto number = dyn_cast<IntegerAttr>(space);
  return number &&
         (number.getType().isSignlessInteger() || number.getType().isIndex()) &&
         number.getValue().ult(kAddressSpaces);
}

/// Visits what `op` itself has of types: in its results, block arguments and
/// attributes, whatever they are part of.
static WalkResult walkTypes(Operation *op, AttrTypeWalker &walker) {
  for (Type type : op->getResultTypes())
    if (walker.walk(type).wasInterrupted())
      return WalkResult::interrupt();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type type : block.getArgumentTypes())
        if (walker.walk(type).wasInterrupted())
          return WalkResult::interrupt();
  return walker.walk(op->getAttrDictionary());
}

static WalkResult checkType(Operation *op, Type type) {
  auto memref = dyn_cast<BaseMemRefType>(type);
  if (isScalable(type)) {
    InFlightDiagnostic diag =
        op->emitOpError("vectors must be of a fixed size, got ") << type;
    diag.attachNote() << "drop the brackets";
    return diag;
  }
  if (isOfUnknownWidth(type)) {
    return op->emitOpError("integers must have 1 to ")
           << kMaxIntegerBits << " bits, got " << type;
  }
  if (isa<FloatTF32Type>(type)) {
    InFlightDiagnostic diag = op->emitOpError(
        "cannot have values of tf32: no register or memory holds them");
    diag.attachNote() << "take f32, which tensor cores round to tf32";
    return diag;
  }
  if (memref && !isMemorySpace(memref.getMemorySpace())) {
    InFlightDiagnostic diag =
        op->emitOpError("memory spaces must be numbers from 0 to ")
        << kAddressSpaces - 1 << " or #gpu.address_space, got "
        << memref.getMemorySpace();
    diag.attachNote()
        << "take #gpu.address_space<global>, <workgroup> or <private>";
    return diag;
  }
  return WalkResult::advance();
}

/// Upstream takes them from a GPU's heap or a thread's stack, whatever the
/// memory space.
static LogicalResult checkAllocation(Operation *op) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  if (!isWorkgroupMemory(type.getMemorySpace()))
    return success();
  InFlightDiagnostic diag =
      op->emitOpError("cannot allocate workgroup memory, got ") << type;
  diag.attachNote() << "declare it as a workgroup attribution of the kernel";
  return diag;
}

/// Alignments may be attributes of an op, an argument or an attribution.
static WalkResult checkAlignments(Operation *op, DictionaryAttr attributes) {
  StringRef name = LLVM::LLVMDialect::getAlignAttrName();
  Attribute attribute = attributes.get(name);
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  if (!attribute ||
      (number && number.getType().isSignlessInteger() &&
       number.getValue().isPowerOf2() && number.getValue().ule(kMaxAlignment)))
    return WalkResult::advance();
  InFlightDiagnostic diag = op->emitOpError()
                            << name << " must be a power of two of at most "
                            << kMaxAlignment << ", got " << attribute;
  diag.attachNote() << "write " << name << " = 16 : i64, for one of 16 bytes";
  return diag;
}

LogicalResult tile::checkElementCounts(Operation *root) {
  Operation *at = nullptr;
  AttrTypeWalker walker;
  walker.addWalk([&](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped || hasCountableElements(shaped))
      return WalkResult::advance();
    at->emitOpError("must have types of fewer than 2^63 elements, got ")
        << type;
    return WalkResult::interrupt();
  });
  return failure(root->walk<WalkOrder::PreOrder>([&](Operation *op) {
                       at = op;
                       return walkTypes(op, walker);
                     })
                     .wasInterrupted());
}

namespace {
struct CheckTypes : tile::impl::TileCheckTypesBase<CheckTypes> {
  void runOnOperation() override {
    if (failed(checkElementCounts(getOperation())))
      return signalPassFailure();
    Operation *at = nullptr;
    AttrTypeWalker walker;
    walker.addWalk([&](Type type) { return checkType(at, type); });
    walker.addWalk([&](DictionaryAttr attributes) {
      return checkAlignments(at, attributes);
    });
    WalkResult result =
        getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
          at = op;
          if (isa<memref::AllocOp, memref::AllocaOp>(op) &&
              failed(checkAllocation(op)))
            return WalkResult::interrupt();
          return walkTypes(op, walker);
        });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
