// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"
#include "lib/Layout/Algebra.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;

namespace {
/// `(8, (2, 32))`: the numbers of each entry, and where the parentheses stand.
struct Modes {
  SmallVector<SmallVector<int64_t>> entries;
  std::string nesting;
};
} // namespace

/// One entry: a number, or a nested list of them.
static ParseResult parseEntry(AsmParser &parser, SmallVector<int64_t> &numbers,
                              std::string &nesting, int depth = 0) {
  if (depth > LayoutAttr::kMaxNesting)
    return parser.emitError(parser.getCurrentLocation(),
                            "layout must be nested at most ")
           << LayoutAttr::kMaxNesting << " levels deep (l1)";
  int64_t number = 0;
  OptionalParseResult isNumber = parser.parseOptionalInteger(number);
  if (isNumber.has_value()) {
    numbers.push_back(number);
    nesting += '.';
    return *isNumber;
  }
  nesting += '(';
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parseEntry(parser, numbers, nesting, depth + 1);
      }))
    return failure();
  nesting += ')';
  return success();
}

static ParseResult parseModes(AsmParser &parser, Modes &modes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return parseEntry(parser, modes.entries.emplace_back(), modes.nesting);
  });
}

/// `offset = 8` or `offset = ?`
static ParseResult parseOffset(AsmParser &parser, int64_t &offset) {
  if (parser.parseEqual())
    return failure();
  if (succeeded(parser.parseOptionalQuestion())) {
    offset = ShapedType::kDynamic;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(offset))
    return failure();
  // The number that stands for `?`.
  if (ShapedType::isDynamic(offset))
    return parser.emitError(loc, "layout offset must be above -2^63 (l4)");
  return success();
}

/// `swizzle = <3, 3, 3>`
static ParseResult parseSwizzle(AsmParser &parser,
                                SmallVectorImpl<int64_t> &swizzle) {
  SMLoc loc;
  if (parser.parseEqual() || parser.getCurrentLocation(&loc) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&] {
        return parser.parseInteger(swizzle.emplace_back());
      }))
    return failure();
  if (swizzle.size() != 3)
    return parser.emitError(loc,
                            "layout swizzle must be <bits, base, shift>, got ")
           << swizzle.size() << " numbers";
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Modes shape, strides;
  if (parser.parseLess() || parseModes(parser, shape) || parser.parseColon() ||
      parseModes(parser, strides))
    return {};
  if (shape.nesting != strides.nesting) {
    parser.emitError(
        loc, "layout shape and strides must have the same nesting (l1)");
    return {};
  }
  int64_t offset = 0;
  SmallVector<int64_t> swizzle;
  bool hasOffset = false;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    SMLoc keyLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&key))
      return {};
    bool isNew = key == "offset"    ? !hasOffset
                 : key == "swizzle" ? swizzle.empty()
                                    : false;
    if (!isNew) {
      parser.emitError(keyLoc, "layout must have at most one offset and one "
                               "swizzle behind its strides, got '")
          << key << "'";
      return {};
    }
    hasOffset |= key == "offset";
    if (key == "offset" ? parseOffset(parser, offset)
                        : parseSwizzle(parser, swizzle))
      return {};
  }
  if (parser.parseGreater())
    return {};
  SmallVector<int64_t> extents, steps, counts;
  for (auto [extentsOfMode, stepsOfMode] :
       llvm::zip_equal(shape.entries, strides.entries)) {
    llvm::append_range(extents, extentsOfMode);
    llvm::append_range(steps, stepsOfMode);
    counts.push_back(extentsOfMode.size());
  }
  return parser.getChecked<LayoutAttr>(
      loc, parser.getContext(), ArrayRef(extents), ArrayRef(steps),
      ArrayRef(counts), offset, ArrayRef(swizzle));
}

static void printModes(AsmPrinter &printer, ArrayRef<int64_t> numbers,
                       ArrayRef<int64_t> counts) {
  printer << '(';
  llvm::interleaveComma(counts, printer, [&](int64_t count) {
    if (count != 1)
      printer << '(';
    llvm::interleaveComma(numbers.take_front(count), printer);
    if (count != 1)
      printer << ')';
    numbers = numbers.drop_front(count);
  });
  printer << ')';
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printModes(printer, getExtents(), getModeCounts());
  printer << " : ";
  printModes(printer, getStrides(), getModeCounts());
  if (hasDynamicOffset())
    printer << ", offset = ?";
  else if (getOffset() != 0)
    printer << ", offset = " << getOffset();
  if (!getSwizzle().empty()) {
    printer << ", swizzle = <";
    llvm::interleaveComma(getSwizzle(), printer);
    printer << '>';
  }
  printer << '>';
}

static layout::Layout toLayout(ArrayRef<int64_t> extents,
                               ArrayRef<int64_t> strides,
                               ArrayRef<int64_t> modeCounts, int64_t offset,
                               ArrayRef<int64_t> swizzle) {
  layout::Layout result;
  size_t next = 0;
  for (int64_t count : modeCounts) {
    layout::Dimension &dimension = result.dimensions.emplace_back();
    for (int64_t i = 0; i < count; ++i, ++next)
      dimension.push_back({extents[next], strides[next]});
  }
  result.offset = ShapedType::isDynamic(offset) ? 0 : offset;
  if (!swizzle.empty())
    result.swizzle = layout::Swizzle{swizzle[0], swizzle[1], swizzle[2]};
  return result;
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> extents,
                                 ArrayRef<int64_t> strides,
                                 ArrayRef<int64_t> modeCounts, int64_t offset,
                                 ArrayRef<int64_t> swizzle) {
  int64_t modes = 0;
  for (int64_t count : modeCounts) {
    if (count < 1)
      return emitError() << "layout must have at least one entry in each mode";
    modes += count;
  }
  if (static_cast<int64_t>(extents.size()) != modes ||
      static_cast<int64_t>(strides.size()) != modes)
    return emitError()
           << "layout shape and strides must have the same nesting (l1)";
  for (int64_t extent : extents)
    if (extent < 1)
      return emitError() << "layout extents must be positive (l2), got "
                         << extent;
  if (!swizzle.empty()) {
    if (swizzle.size() != 3)
      return emitError() << "layout swizzle must be <bits, base, shift>, got "
                         << swizzle.size() << " numbers";
    int64_t bits = swizzle[0], base = swizzle[1], shift = swizzle[2];
    if (bits < 1)
      return emitError() << "layout swizzle must have at least 1 bit (l3), got "
                         << bits;
    if (base < 0)
      return emitError()
             << "layout swizzle base must not be negative (l3), got " << base;
    if (shift < bits)
      return emitError() << "layout swizzle shift must be at least its bits "
                            "(l3), got shift "
                         << shift << " and bits " << bits;
    if (shift > layout::kMaxSwizzleBits || base > layout::kMaxSwizzleBits ||
        bits + base + shift > layout::kMaxSwizzleBits)
      return emitError()
             << "layout swizzle bits, base and shift must add up to "
             << layout::kMaxSwizzleBits << " or less (l3), got " << bits << ", "
             << base << " and " << shift;
  }
  layout::Layout result = toLayout(extents, strides, modeCounts, offset, {});
  auto tooFar = [&] {
    return emitError() << "layout must reach fewer than 2^63 elements (l4)";
  };
  std::optional<layout::Range> range = layout::places(result);
  // A slice may begin at any element, and -2^63 stands for an offset of `?`.
  if (!layout::size(result) || !range || !layout::cosize(result) ||
      ShapedType::isDynamic(range->lowest))
    return tooFar();
  if (swizzle.empty() || ShapedType::isDynamic(offset))
    return success();
  if (range->lowest < 0)
    return emitError() << "swizzled layout must not reach before the buffer's "
                          "start (l4), got element "
                       << range->lowest;
  result.swizzle = layout::Swizzle{swizzle[0], swizzle[1], swizzle[2]};
  return layout::cosize(result) ? success() : tooFar();
}

namespace {
/// A layout as the parameters of the attribute.
struct Parameters {
  explicit Parameters(const layout::Layout &layout, bool dynamicOffset)
      : offset(dynamicOffset ? ShapedType::kDynamic : layout.offset) {
    for (const layout::Dimension &dimension : layout.dimensions) {
      counts.push_back(dimension.size());
      for (layout::Mode mode : dimension) {
        extents.push_back(mode.extent);
        strides.push_back(mode.stride);
      }
    }
    if (layout.swizzle)
      swizzle = {layout.swizzle->bits, layout.swizzle->base,
                 layout.swizzle->shift};
  }
  SmallVector<int64_t> extents, strides, counts, swizzle;
  int64_t offset;
};
} // namespace

// As ArrayRefs: otherwise the template for any types fits better.
LayoutAttr LayoutAttr::get(MLIRContext *context, const layout::Layout &layout,
                           bool dynamicOffset) {
  Parameters of(layout, dynamicOffset);
  return get(context, ArrayRef(of.extents), ArrayRef(of.strides),
             ArrayRef(of.counts), of.offset, ArrayRef(of.swizzle));
}

LayoutAttr
LayoutAttr::getChecked(llvm::function_ref<InFlightDiagnostic()> emitError,
                       MLIRContext *context, const layout::Layout &layout,
                       bool dynamicOffset) {
  Parameters of(layout, dynamicOffset);
  return getChecked(emitError, context, ArrayRef(of.extents),
                    ArrayRef(of.strides), ArrayRef(of.counts), of.offset,
                    ArrayRef(of.swizzle));
}

layout::Layout LayoutAttr::getLayout() const {
  return toLayout(getExtents(), getStrides(), getModeCounts(), getOffset(),
                  getSwizzle());
}

SmallVector<int64_t> LayoutAttr::getShape() const {
  return llvm::map_to_vector(getLayout().dimensions, layout::extentOf);
}

/// XOR of two bits is their sum modulo 2, which an affine map can say.
static AffineExpr swizzled(AffineExpr offset, const layout::Swizzle &swizzle) {
  auto bitsFrom = [&](int64_t bit) {
    return offset.floorDiv(int64_t(1) << bit);
  };
  int64_t block = swizzle.block();
  AffineExpr place = offset.floorDiv(block) * block + offset % swizzle.unit();
  for (int64_t i = 0; i < swizzle.bits; ++i) {
    int64_t bit = swizzle.base + i;
    AffineExpr digit = (bitsFrom(bit) + bitsFrom(bit + swizzle.shift)) % 2;
    place = place + digit * (int64_t(1) << bit);
  }
  return place;
}

AffineMap LayoutAttr::getAffineMap() const {
  MLIRContext *context = getContext();
  layout::Layout layout = getLayout();
  AffineExpr offset = hasDynamicOffset()
                          ? getAffineSymbolExpr(0, context)
                          : getAffineConstantExpr(layout.offset, context);
  for (auto [position, dimension] : llvm::enumerate(layout.dimensions)) {
    int64_t inner = 1;
    for (size_t i = dimension.size(); i-- > 0; inner *= dimension[i].extent) {
      AffineExpr digit = getAffineDimExpr(position, context).floorDiv(inner);
      if (i != 0)
        digit = digit % dimension[i].extent;
      offset = offset + digit * dimension[i].stride;
    }
  }
  if (layout.swizzle)
    offset = swizzled(offset, *layout.swizzle);
  return AffineMap::get(layout.dimensions.size(), hasDynamicOffset() ? 1 : 0,
                        offset);
}

bool LayoutAttr::isIdentity() const { return getAffineMap().isIdentity(); }

LogicalResult
LayoutAttr::verifyLayout(ArrayRef<int64_t> shape,
                         function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<int64_t> own = getShape();
  if (ArrayRef<int64_t>(own) == shape)
    return success();
  InFlightDiagnostic diag = emitError();
  diag << "memref must have the extents of its layout (l5), got ";
  llvm::interleave(
      shape,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          diag << '?';
        else
          diag << extent;
      },
      [&] { diag << 'x'; });
  diag << " and layout " << *this;
  return diag;
}

LogicalResult LayoutAttr::getStridesAndOffset(ArrayRef<int64_t>,
                                              SmallVectorImpl<int64_t> &strides,
                                              int64_t &offset) const {
  if (!getSwizzle().empty())
    return failure();
  layout::Layout layout = layout::coalesce(getLayout());
  strides.clear();
  for (const layout::Dimension &dimension : layout.dimensions) {
    if (dimension.size() != 1)
      return failure();
    strides.push_back(dimension[0].stride);
  }
  offset = getOffset();
  return success();
}
