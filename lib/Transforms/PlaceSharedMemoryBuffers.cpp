// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What declarations of shared memory span, and how they have to be aligned.
#include "lib/Transforms/PlaceSharedMemory.h"

#include "dialect/ElementSize.h"
#include "lib/Plan/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;
using namespace tile::placement;

/// Stands for every size that is too large to matter, and can still be added
/// up.
static constexpr int64_t kHugeBytes = int64_t(1) << 48;

static int64_t saturatingMul(int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflowed = llvm::MulOverflow(a, b, result);
  return overflowed ? kHugeBytes : std::min(result, kHugeBytes);
}

static bool hasKnownSize(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return hasKnownSize(complex.getElementType());
  if (auto vector = dyn_cast<VectorType>(type))
    return !vector.isScalable() && hasKnownSize(vector.getElementType());
  return (type.isIntOrIndexOrFloat() && !type.isInteger(0)) ||
         isa<DataLayoutTypeInterface>(type);
}

/// Bytes from one element to the next in an array of LLVM's.
static int64_t arrayStep(Operation *op, Type type) {
  DataLayout layout = DataLayout::closest(op);
  return llvm::alignTo(layout.getTypeSize(type).getFixedValue(),
                       layout.getTypeABIAlignment(type));
}

/// Elements from the buffer's start to the end of its last one; fails with an
/// error at `op`.
static FailureOr<int64_t> spannedElements(Operation *op, const Twine &subject,
                                          MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset))) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have strides, got " << type;
    diag.attachNote() << "give the buffer a strided layout";
    return diag;
  }
  // Of no elements, upstream takes the strides for unknown.
  bool isEmpty =
      type.hasStaticShape() && llvm::is_contained(type.getShape(), 0);
  if (!isEmpty && (!type.hasStaticShape() || ShapedType::isDynamic(offset) ||
                   llvm::any_of(strides, ShapedType::isDynamic))) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have a static size, got " << type;
    diag.attachNote() << "give it static extents and strides, or view "
                         "gpu.dynamic_shared_memory";
    return diag;
  }
  if (!hasKnownSize(type.getElementType())) {
    InFlightDiagnostic diag = op->emitOpError(subject)
                              << " must have elements of a known size, got "
                              << type;
    diag.attachNote() << "use integers, floats or vectors of them";
    return diag;
  }
  if (isEmpty)
    return 0;
  if (offset < 0) {
    InFlightDiagnostic diag =
        op->emitOpError(subject)
        << " must not reach before its start, got an offset of " << offset;
    diag.attachNote() << "declare the buffer from its first element on";
    return diag;
  }
  int64_t last = std::min(offset, kHugeBytes);
  for (auto [extent, stride] : llvm::zip_equal(type.getShape(), strides)) {
    if (extent > 1 && stride < 0) {
      InFlightDiagnostic diag =
          op->emitOpError(subject)
          << " must not reach before its start, got a stride of " << stride;
      diag.attachNote()
          << "declare a larger buffer and view it with memref.reinterpret_cast";
      return diag;
    }
    last = std::min(last + saturatingMul(extent - 1, stride), kHugeBytes);
  }
  return last + 1;
}

/// The alignment that `memref.assume_alignment` promises for the start of
/// `buffer`.
static int64_t assumedAlignment(Value buffer) {
  int64_t alignment = 1;
  for (Operation *user : buffer.getUsers()) {
    APInt shift;
    if (auto assume = dyn_cast<memref::AssumeAlignmentOp>(user))
      alignment = std::max<int64_t>(alignment, assume.getAlignment());
    if (isa<memref::AssumeAlignmentOp, memref::CastOp>(user)) {
      alignment = std::max(alignment, assumedAlignment(user->getResult(0)));
    } else if (auto view = dyn_cast<memref::ViewOp>(user);
               view &&
               matchPattern(view.getByteShift(), m_ConstantInt(&shift))) {
      int64_t promised = assumedAlignment(view);
      if (shift.getSExtValue() % promised == 0)
        alignment = std::max(alignment, promised);
    }
  }
  return alignment;
}

static LogicalResult checkAlignment(Operation *op, const Twine &subject,
                                    int64_t alignment) {
  if (alignment > 0 && llvm::isPowerOf2_64(alignment) &&
      alignment <= kMaxAlignment)
    return success();
  InFlightDiagnostic diag = op->emitOpError(subject)
                            << " must be aligned to a power of two of at most "
                            << kMaxAlignment << " bytes, got " << alignment;
  diag.attachNote() << "shared memory begins at a multiple of " << kMaxAlignment
                    << " bytes: ask for that, and round the address up";
  return diag;
}

/// The name that a location gives, with the sigil of values; null for others.
static StringAttr nameAt(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return StringAttr::get(location.getContext(),
                           "%" + name.getName().getValue());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (StringAttr name = nameAt(part))
        return name;
  return {};
}

/// What the attribution was declared as, before its layout was expanded.
static MemRefType declaredType(BlockArgument argument) {
  if (auto fused = dyn_cast<FusedLoc>(argument.getLoc()))
    if (auto type = dyn_cast_or_null<TypeAttr>(fused.getMetadata()))
      if (auto declared = dyn_cast<MemRefType>(type.getValue()))
        return declared;
  return cast<MemRefType>(argument.getType());
}

/// Elements of less than a byte are packed; a row of them has no type of its
/// own that upstream would give their bytes.
static bool isPacked(Type element) {
  std::optional<int64_t> bits = elementBits(element);
  return bits && *bits < 8;
}

/// Bytes of `elements` in a row.
static int64_t rowBytes(Operation *op, Type element, int64_t elements) {
  if (!isPacked(element))
    return saturatingMul(elements, arrayStep(op, element));
  return llvm::divideCeil(saturatingMul(elements, *elementBits(element)), 8);
}

/// The row that a buffer of this type becomes; the type itself where it is what
/// upstream allocates rightly.
static MemRefType rowType(MemRefType type, int64_t elements, int64_t bytes) {
  auto row = [&](int64_t extent, Type element) {
    return MemRefType::get({extent}, element, AffineMap(),
                           type.getMemorySpace());
  };
  Type element = type.getElementType();
  bool isPlain = type.getLayout().isIdentity();
  // Of no elements, upstream takes the strides for unknown.
  bool hasStrides = elements != 0 || type.getRank() == 1;
  if (isPacked(element) || (isPlain && !hasStrides))
    return row(bytes, IntegerType::get(type.getContext(), 8));
  return isPlain ? type : row(elements, element);
}

/// Makes `flat`, which was a `type`, a `row`, and its users use a view as a
/// `type` of it.
static void flatten(Value flat, MemRefType type, MemRefType row,
                    int64_t elements) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : flat.getUses())
    uses.push_back(&use);
  flat.setType(row);
  OpBuilder builder(flat.getContext());
  builder.setInsertionPointAfterValue(flat);
  Location loc = flat.getLoc();
  bool isPlain = type.getLayout().isIdentity();
  Value view = flat;
  if (isPlain || row.getElementType() != type.getElementType()) {
    auto elementRow = MemRefType::get({elements}, type.getElementType(),
                                      AffineMap(), type.getMemorySpace());
    Value start = arith::ConstantIndexOp::create(builder, loc, 0);
    view = memref::ViewOp::create(builder, loc, isPlain ? type : elementRow,
                                  view, start, ValueRange());
  }
  if (!isPlain) {
    auto [strides, offset] = type.getStridesAndOffset();
    auto strided = MemRefType::get(
        type.getShape(), type.getElementType(),
        StridedLayoutAttr::get(type.getContext(), offset, strides),
        type.getMemorySpace());
    view = memref::ReinterpretCastOp::create(builder, loc, strided, view,
                                             offset, type.getShape(), strides);
    if (strided != type)
      view = memref::CastOp::create(builder, loc, type, view);
  }
  for (OpOperand *use : uses)
    use->set(view);
}

FailureOr<Buffer> placement::spanAttribution(gpu::GPUFuncOp func,
                                             unsigned index) {
  BlockArgument argument = func.getWorkgroupAttributions()[index];
  std::string subject = ("workgroup buffer " + Twine(index)).str();
  auto type = cast<MemRefType>(argument.getType());
  FailureOr<int64_t> elements = spannedElements(func, subject, type);
  if (failed(elements))
    return failure();
  StringRef attrName = LLVM::LLVMDialect::getAlignAttrName();
  Buffer buffer;
  buffer.attribution = argument;
  buffer.name = nameAt(argument.getLoc());
  buffer.type = declaredType(argument);
  buffer.bytes = rowBytes(func, type.getElementType(), *elements);
  buffer.alignment = std::max(
      {kMinAlignment, assumedAlignment(argument),
       declaredAlignment(func.getWorkgroupAttributionAttr(index, attrName))});
  if (failed(checkAlignment(func, subject, buffer.alignment)))
    return failure();
  func.setWorkgroupAttributionAttr(
      index, attrName, Builder(func).getI64IntegerAttr(buffer.alignment));
  MemRefType row = rowType(type, *elements, buffer.bytes);
  if (row != type)
    flatten(argument, type, row, *elements);
  return buffer;
}

FailureOr<Buffer> placement::spanGlobal(memref::GlobalOp global,
                                        ArrayRef<memref::GetGlobalOp> gets) {
  MemRefType type = global.getType();
  if (!global.isExternal() && !global.isUninitialized()) {
    InFlightDiagnostic diag = global.emitOpError(
        "in workgroup memory must be uninitialized, got an initial value");
    diag.attachNote() << "store the value in the kernel";
    return diag;
  }
  FailureOr<int64_t> elements =
      spannedElements(global, "in workgroup memory", type);
  if (failed(elements))
    return failure();
  Buffer buffer;
  buffer.global = global;
  buffer.type = type;
  for (memref::GetGlobalOp get : gets)
    buffer.name = buffer.name ? buffer.name : nameAt(get.getLoc());
  buffer.bytes = rowBytes(global, type.getElementType(), *elements);
  buffer.alignment =
      std::max<int64_t>(kMinAlignment, global.getAlignment().value_or(1));
  for (memref::GetGlobalOp get : gets)
    buffer.alignment = std::max(buffer.alignment, assumedAlignment(get));
  if (failed(checkAlignment(global, "in workgroup memory", buffer.alignment)))
    return failure();
  global.setAlignment(buffer.alignment);
  // A public one without a value would be declared, and nobody would define it.
  global.setPrivate();
  MemRefType row = rowType(type, *elements, buffer.bytes);
  if (row == type)
    return buffer;
  for (memref::GetGlobalOp get : gets)
    flatten(get, type, row, *elements);
  global.setType(row);
  return buffer;
}

Buffer placement::spanGlobal(LLVM::GlobalOp global) {
  Buffer buffer;
  buffer.bytes = arrayStep(global, global.getType());
  buffer.alignment = std::max<int64_t>(
      global.getAlignment().value_or(1),
      DataLayout::closest(global).getTypeABIAlignment(global.getType()));
  return buffer;
}

FailureOr<int64_t> placement::alignmentOf(gpu::DynamicSharedMemoryOp op) {
  int64_t alignment = std::max(
      declaredAlignment(op->getAttr(kAlignmentAttrName)), assumedAlignment(op));
  if (failed(checkAlignment(op, "memory", alignment)))
    return failure();
  return alignment;
}
