// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"
#include "lib/Layout/Algebra.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;

static LayoutAttr layoutOf(MemRefType type) {
  return dyn_cast<LayoutAttr>(type.getLayout());
}

/// Moves offsets that have become constants into the op's attribute; the result
/// keeps its type, whose offset may stay `?`.
template <typename Op>
static LogicalResult
foldOffsets(Op op, OperandRange offsets, ArrayRef<int64_t> staticOffsets,
            function_ref<bool(ArrayRef<int64_t>)> isValid,
            function_ref<void(ArrayRef<int64_t>, ValueRange)> replace) {
  SmallVector<int64_t> known(staticOffsets);
  SmallVector<Value> rest;
  size_t next = 0;
  bool changed = false;
  for (int64_t &offset : known) {
    if (!ShapedType::isDynamic(offset))
      continue;
    Value value = offsets[next++];
    std::optional<int64_t> constant = getConstantIntValue(value);
    if (constant && *constant >= 0) {
      offset = *constant;
      changed = true;
    } else {
      rest.push_back(value);
    }
  }
  // What is wrong may stand where it is never executed.
  if (!changed || !isValid(known))
    return failure();
  replace(known, rest);
  return success();
}

OpFoldResult ViewOp::getMixedOffset() {
  if (getOffset().empty())
    return Builder(getContext()).getIndexAttr(getStaticOffset()[0]);
  return OpFoldResult(getOffset()[0]);
}

LogicalResult ViewOp::verify() {
  MemRefType source = getSourceType(), result = getResultType();
  SmallVector<int64_t> strides;
  int64_t sourceOffset = 0;
  if (source.getRank() != 1 ||
      failed(source.getStridesAndOffset(strides, sourceOffset)) ||
      strides[0] != 1 || sourceOffset != 0 || layoutOf(source))
    return emitOpError("source must be a flat buffer (v1), got ") << source;
  if (source.getElementType() != result.getElementType() ||
      source.getMemorySpace() != result.getMemorySpace())
    return emitOpError("source and result must have the same element type and "
                       "memory space (v2), got ")
           << source << " and " << result;
  LayoutAttr attr = layoutOf(result);
  if (!attr || attr.hasDynamicOffset())
    return emitOpError("result must have a #tile.layout with a known offset "
                       "(v3), got ")
           << result;
  if (getStaticOffset().size() != 1)
    return emitOpError("must have one offset (v4), got ")
           << getStaticOffset().size();
  int64_t offset = getStaticOffset()[0];
  bool isStatic = !ShapedType::isDynamic(offset);
  if (isStatic && offset < 0)
    return emitOpError("offset must not be negative (v4), got ") << offset;
  int64_t end = 0;
  std::optional<int64_t> span = layout::cosize(attr.getLayout());
  std::optional<layout::Range> range = layout::places(attr.getLayout());
  if (range && range->lowest < 0 && (!isStatic || offset + range->lowest < 0))
    return emitOpError("layout must begin inside the source (v4), got element ")
           << range->lowest << " from the offset";
  bool tooFar = llvm::AddOverflow(isStatic ? offset : 0, *span, end);
  if (!source.isDynamicDim(0) && (tooFar || end > source.getDimSize(0))) {
    InFlightDiagnostic diag =
        emitOpError("layout must end inside the source of ");
    diag << source.getDimSize(0) << " elements (v4), got an end ";
    if (tooFar)
      diag << "beyond 2^63";
    else
      diag << "at " << end;
    diag.attachNote() << "the layout spans " << *span
                      << " elements from the offset on";
    return diag;
  }
  return success();
}

void ViewOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *) {
  patterns.add(+[](ViewOp op, PatternRewriter &rewriter) {
    auto isValid = [&](ArrayRef<int64_t> known) {
      MemRefType source = op.getSourceType();
      std::optional<int64_t> span =
          layout::cosize(layoutOf(op.getResultType()).getLayout());
      int64_t end = 0;
      return source.isDynamicDim(0) ||
             (!llvm::AddOverflow(known[0], *span, end) &&
              end <= source.getDimSize(0));
    };
    return foldOffsets(op, op.getOffset(), op.getStaticOffset(), isValid,
                       [&](ArrayRef<int64_t> known, ValueRange rest) {
                         rewriter.replaceOpWithNewOp<ViewOp>(
                             op, op.getResultType(), op.getSource(), rest,
                             known);
                       });
  });
}

SmallVector<OpFoldResult> SliceOp::getMixedOffsets() {
  Builder builder(getContext());
  return getMixedValues(getStaticOffsets(), getOffsets(), builder);
}

std::optional<MemRefType>
SliceOp::inferResultType(MemRefType source, ArrayRef<int64_t> staticOffsets,
                         ArrayRef<int64_t> sizes, unsigned &dimension) {
  LayoutAttr attr = layoutOf(source);
  layout::Layout from = attr.getLayout(), to;
  to.offset = from.offset;
  to.swizzle = from.swizzle;
  bool isDynamic = attr.hasDynamicOffset();
  for (dimension = 0; dimension < sizes.size(); ++dimension) {
    const layout::Dimension &modes = from.dimensions[dimension];
    int64_t start = staticOffsets[dimension], size = sizes[dimension];
    if (ShapedType::isDynamic(start)) {
      auto part = layout::sliceAtRuntime(modes, size);
      if (!part)
        return std::nullopt;
      to.dimensions.push_back(std::move(part->modes));
      isDynamic = true;
    } else {
      auto part = layout::slice(modes, start, size);
      if (!part)
        return std::nullopt;
      to.dimensions.push_back(std::move(part->modes));
      to.offset += part->offset;
    }
  }
  return MemRefType::get(sizes, source.getElementType(),
                         LayoutAttr::get(source.getContext(), to, isDynamic),
                         source.getMemorySpace());
}

/// Whether `type` is `inferred`, perhaps without dimensions of size 1 and with
/// an offset of `?`.
static bool isSliceType(MemRefType inferred, MemRefType type) {
  LayoutAttr attr = layoutOf(type);
  if (!attr || inferred.getElementType() != type.getElementType() ||
      inferred.getMemorySpace() != type.getMemorySpace())
    return false;
  LayoutAttr wanted = layoutOf(inferred);
  if (attr.getOffset() != wanted.getOffset() && !attr.hasDynamicOffset())
    return false;
  if (attr.getSwizzle() != wanted.getSwizzle())
    return false;
  auto sameModes = [](const layout::Dimension &a, const layout::Dimension &b) {
    return llvm::equal(a, b, [](layout::Mode a, layout::Mode b) {
      return a.extent == b.extent && (a.extent == 1 || a.stride == b.stride);
    });
  };
  layout::Layout all = layout::coalesce(wanted.getLayout());
  layout::Layout kept = layout::coalesce(attr.getLayout());
  size_t next = 0;
  for (const layout::Dimension &modes : all.dimensions) {
    if (next < kept.dimensions.size() &&
        sameModes(modes, kept.dimensions[next]))
      ++next;
    else if (layout::extentOf(modes) != 1)
      return false;
  }
  return next == kept.dimensions.size();
}

LogicalResult SliceOp::verify() {
  MemRefType source = getSourceType();
  if (!layoutOf(source)) {
    InFlightDiagnostic diag =
        emitOpError("source must have a #tile.layout (s1), got ") << source;
    diag.attachNote() << "use memref.subview for strided memrefs";
    return diag;
  }
  size_t rank = source.getRank();
  if (getStaticOffsets().size() != rank || getSizes().size() != rank)
    return emitOpError("must have one offset and one size for each of ")
           << rank << " dimensions (s2), got " << getStaticOffsets().size()
           << " and " << getSizes().size();
  for (auto [dim, offset, size] :
       llvm::enumerate(getStaticOffsets(), getSizes())) {
    int64_t extent = source.getDimSize(dim);
    int64_t start = ShapedType::isDynamic(offset) ? 0 : offset;
    if (size < 1 || start < 0 || start > extent || size > extent - start)
      return emitOpError("region must be inside its source (s3), got offset ")
             << start << " and size " << size << " in dimension " << dim
             << " of extent " << extent;
  }
  unsigned dimension = 0;
  std::optional<MemRefType> inferred =
      inferResultType(source, getStaticOffsets(), getSizes(), dimension);
  if (!inferred)
    return emitOpError("region must end inside the mode that it begins in "
                       "(s4), got size ")
           << getSizes()[dimension] << " in dimension " << dimension << " of "
           << source;
  if (!isSliceType(*inferred, getResultType())) {
    InFlightDiagnostic diag =
        emitOpError("result must have the type of the region (s5), got ")
        << getResultType();
    diag.attachNote() << "the region has type " << *inferred;
    return diag;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool isWhole = getSourceType() == getResultType() &&
                 llvm::all_of(getStaticOffsets(),
                              [](int64_t offset) { return offset == 0; });
  return isWhole ? OpFoldResult(getSource()) : OpFoldResult();
}

/// Whether there is a slice at these offsets, and `type` is its type.
static bool isSlice(MemRefType source, ArrayRef<int64_t> staticOffsets,
                    ArrayRef<int64_t> sizes, MemRefType type) {
  for (auto [dim, offset, size] : llvm::enumerate(staticOffsets, sizes))
    if (!ShapedType::isDynamic(offset) &&
        offset > source.getDimSize(dim) - size)
      return false;
  unsigned dimension = 0;
  std::optional<MemRefType> inferred =
      SliceOp::inferResultType(source, staticOffsets, sizes, dimension);
  return inferred && isSliceType(*inferred, type);
}

/// A slice of a slice is one of the first source, where no two run-time offsets
/// would have to be added.
static LogicalResult mergeSlices(SliceOp op, PatternRewriter &rewriter) {
  auto outer = op.getSource().getDefiningOp<SliceOp>();
  if (!outer ||
      outer.getResultType().getRank() != outer.getSourceType().getRank())
    return failure();
  SmallVector<int64_t> known;
  SmallVector<Value> rest;
  for (auto [a, b] :
       llvm::zip_equal(outer.getMixedOffsets(), op.getMixedOffsets())) {
    std::optional<int64_t> knownA = getConstantIntValue(a);
    std::optional<int64_t> knownB = getConstantIntValue(b);
    if (knownA && knownB) {
      int64_t sum = 0;
      if (*knownA < 0 || *knownB < 0 ||
          llvm::AddOverflow(*knownA, *knownB, sum))
        return failure();
      known.push_back(sum);
    } else if (knownA == 0 || knownB == 0) {
      known.push_back(ShapedType::kDynamic);
      rest.push_back(cast<Value>(knownA ? b : a));
    } else {
      return failure();
    }
  }
  if (!isSlice(outer.getSourceType(), known, op.getSizes(), op.getResultType()))
    return failure();
  rewriter.replaceOpWithNewOp<SliceOp>(
      op, op.getResultType(), outer.getSource(), rest, known, op.getSizes());
  return success();
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(mergeSlices);
  patterns.add(+[](SliceOp op, PatternRewriter &rewriter) {
    auto isValid = [&](ArrayRef<int64_t> known) {
      return isSlice(op.getSourceType(), known, op.getSizes(),
                     op.getResultType());
    };
    return foldOffsets(op, op.getOffsets(), op.getStaticOffsets(), isValid,
                       [&](ArrayRef<int64_t> known, ValueRange rest) {
                         rewriter.replaceOpWithNewOp<SliceOp>(
                             op, op.getResultType(), op.getSource(), rest,
                             known, op.getSizes());
                       });
  });
}

LogicalResult OffsetOp::verify() {
  if (!layoutOf(cast<MemRefType>(getTile().getType())))
    return emitOpError("operand must have a #tile.layout (o1), got ")
           << getTile().getType();
  return success();
}

OpFoldResult OffsetOp::fold(FoldAdaptor) {
  LayoutAttr attr = layoutOf(cast<MemRefType>(getTile().getType()));
  if (attr.hasDynamicOffset())
    return {};
  return Builder(getContext()).getIndexAttr(attr.getOffset());
}

LogicalResult AssumeMultipleOp::verify() {
  if (getDivisor() < 1)
    return emitOpError("divisor must be at least 1 (m1), got ") << getDivisor();
  if (auto type = dyn_cast<IntegerType>(getValue().getType());
      type && !llvm::isIntN(std::min(type.getWidth(), 64u), getDivisor()))
    return emitOpError("divisor must be a number of the type ")
           << type << " (m2), got " << getDivisor();
  return success();
}

OpFoldResult AssumeMultipleOp::fold(FoldAdaptor adaptor) {
  if (getDivisor() == 1)
    return getValue();
  auto constant = dyn_cast_or_null<IntegerAttr>(adaptor.getValue());
  std::optional<int64_t> number;
  if (constant)
    number = constant.getValue().trySExtValue();
  if (number && *number % getDivisor() == 0)
    return getValue();
  auto inner = getValue().getDefiningOp<AssumeMultipleOp>();
  if (inner && inner.getDivisor() % getDivisor() == 0)
    return getValue();
  return {};
}

Value ViewOp::getViewSource() { return getSource(); }
Value SliceOp::getViewSource() { return getSource(); }
