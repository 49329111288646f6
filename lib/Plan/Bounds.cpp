// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Bounds.h"

#include "lib/Facts/Origins.h"
#include "lib/Facts/ValueFacts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;
using llvm::Twine;

/// The elements that a tile reaches where its offset is in `offset`, behind its
/// swizzle.
static std::optional<layout::Range> placesAt(const TracedTile &tile,
                                             layout::Range offset) {
  layout::Layout layout = tile.layout;
  if (offset.lowest == offset.highest) {
    layout.offset = offset.lowest;
    std::optional<layout::Range> reached = layout::reach(layout);
    int64_t first = 0;
    if (!reached || llvm::AddOverflow(reached->lowest, offset.lowest, first))
      return std::nullopt;
    if (first < 0)
      layout.swizzle.reset();
    return layout::places(layout);
  }
  std::optional<layout::Range> range = layout::reach(layout);
  if (!range ||
      llvm::AddOverflow(range->lowest, offset.lowest, range->lowest) ||
      llvm::AddOverflow(range->highest, offset.highest, range->highest))
    return std::nullopt;
  if (layout.swizzle && range->lowest >= 0) {
    int64_t block = layout.swizzle->block();
    range->lowest = range->lowest / block * block;
    if (llvm::AddOverflow(range->highest, block - 1 - range->highest % block,
                          range->highest))
      return std::nullopt;
  }
  return range;
}

/// The bits from the buffer's start that elements in `places` take, with the
/// shift of the view in `shift` bytes.
static std::optional<layout::Range> bitsOfPlaces(const TracedTile &tile,
                                                 layout::Range places,
                                                 layout::Range shift) {
  int64_t end = 0, shiftLow = 0, shiftHigh = 0;
  layout::Range bits{};
  if (llvm::AddOverflow(places.highest, int64_t(1), end) ||
      llvm::MulOverflow(places.lowest, tile.elementBits, bits.lowest) ||
      llvm::MulOverflow(end, tile.elementBits, bits.highest) ||
      llvm::MulOverflow(shift.lowest, int64_t(8), shiftLow) ||
      llvm::MulOverflow(shift.highest, int64_t(8), shiftHigh) ||
      llvm::AddOverflow(bits.lowest, shiftLow, bits.lowest) ||
      llvm::AddOverflow(bits.highest, shiftHigh, bits.highest))
    return std::nullopt;
  return bits;
}

static std::optional<Refusal>
checkRegionIn(StringRef side, const TracedTile &tile, const Origin &origin) {
  Refusal tooFar{(side + " must reach fewer than 2^63 bits").str(), ""};
  if (tile.offset.overflowed || origin.shiftBytes.overflowed)
    return tooFar;
  int64_t offset = tile.offset.known, shift = origin.shiftBytes.known;
  std::optional<layout::Range> places = placesAt(tile, {offset, offset});
  std::optional<layout::Range> bits;
  if (places)
    bits = bitsOfPlaces(tile, *places, {shift, shift});
  if (!bits)
    return tooFar;
  for (int64_t byte : {bits->lowest / 8, bits->highest / 8})
    if (byte < -layout::kMaxSharedBytes || byte >= layout::kMaxSharedBytes)
      return Refusal{
          (side +
           " must stay within 2^31 bytes of its buffer's start, got byte " +
           Twine(byte))
              .str(),
          tile.isGlobal
              ? "move the buffer's start there with memref.reinterpret_cast, "
                "or leave offsets to the run time"
              : "choose smaller strides and offsets: shared memory is far "
                "smaller"};
  if (!tile.offset.isStatic() || !origin.shiftBytes.isStatic())
    return std::nullopt;
  if (bits->lowest < 0)
    return Refusal{(side + " must begin inside its buffer, got byte " +
                    Twine(bits->lowest / 8))
                       .str(),
                   ""};
  if (origin.bufferBytes && bits->highest > 8 * *origin.bufferBytes)
    return Refusal{(side + " must end inside its buffer of " +
                    Twine(*origin.bufferBytes) + " bytes, got byte " +
                    Twine(llvm::divideCeil(bits->highest, 8)))
                       .str(),
                   ""};
  return std::nullopt;
}

std::optional<Refusal> tile::checkRegion(StringRef side,
                                         const TracedTile &tile) {
  for (const Origin &origin : tile.origins)
    if (std::optional<Refusal> refusal = checkRegionIn(side, tile, origin))
      return refusal;
  return std::nullopt;
}

namespace {
/// A dimension in which a subview is not proved to stay inside its source.
struct OpenDimension {
  memref::SubViewOp view;
  unsigned dimension;
};
} // namespace

/// Where a subview begins and ends in a dimension, as far as that is known, and
/// whether it is inside in every execution.
static bool isInsideIn(memref::SubViewOp view, unsigned dimension) {
  int64_t extent = view.getSourceType().getDimSize(dimension);
  OpFoldResult offset = view.getMixedOffsets()[dimension];
  std::optional<int64_t> first = getConstantIntValue(offset);
  std::optional<int64_t> size =
      getConstantIntValue(view.getMixedSizes()[dimension]);
  std::optional<int64_t> step =
      getConstantIntValue(view.getMixedStrides()[dimension]);
  std::optional<layout::Range> range;
  if (first)
    range = layout::Range{*first, *first};
  else
    range = rangeOf(cast<Value>(offset));
  int64_t reached = 0, last = 0;
  return range && range->lowest >= 0 && size && step && *size > 0 &&
         *step >= 0 && !ShapedType::isDynamic(extent) &&
         !llvm::MulOverflow(*size - 1, *step, reached) &&
         !llvm::AddOverflow(range->highest, reached, last) && last < extent;
}

/// The dimensions that leave it open whether `memref` is inside the buffer that
/// it is a view of. Nothing where it is another kind of view.
static std::optional<SmallVector<OpenDimension>>
openDimensionsOf(Value memref) {
  SmallVector<OpenDimension> open;
  while (Operation *op = memref.getDefiningOp()) {
    if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      for (int64_t dim = 0; dim < view.getSourceType().getRank(); ++dim)
        if (!isInsideIn(view, dim))
          open.push_back({view, unsigned(dim)});
    } else if (!isa<memref::CastOp, memref::AssumeAlignmentOp,
                    memref::MemorySpaceCastOp>(op)) {
      break;
    }
    memref = op->getOperand(0);
    if (!isa<MemRefType>(memref.getType()))
      return std::nullopt;
  }
  if (isa_and_nonnull<memref::ReinterpretCastOp, ViewLikeOpInterface>(
          memref.getDefiningOp()) ||
      incomingOf(memref))
    return std::nullopt;
  return open;
}

bool tile::isProvedInside(Value memref, const TracedTile &tile) {
  std::optional<SmallVector<OpenDimension>> open = openDimensionsOf(memref);
  if (open && open->empty())
    return true;
  std::optional<layout::Range> offset = rangeOfOffset(tile.offset);
  if (!offset || !tile.runtimeStrides.empty())
    return false;
  std::optional<layout::Range> places = placesAt(tile, *offset);
  return places && llvm::all_of(tile.origins, [&](const Origin &origin) {
           std::optional<layout::Range> shift =
               rangeOfOffset(origin.shiftBytes);
           std::optional<layout::Range> bits;
           if (shift)
             bits = bitsOfPlaces(tile, *places, *shift);
           return bits && bits->lowest >= 0 && origin.bufferBytes &&
                  bits->highest <= 8 * *origin.bufferBytes;
         });
}

bool tile::surelyOverlap(const TracedTile &a, const TracedTile &b) {
  if (a.origins.size() != 1 || b.origins.size() != 1)
    return false;
  const Origin &first = a.origins.front(), &second = b.origins.front();
  std::optional<int64_t> elements = layout::size(a.layout);
  if (!declareSameMemory(first.buffer, second.buffer) || !elements ||
      *elements > layout::kMostEnumerated)
    return false;
  for (const Offset *offset :
       {&a.offset, &b.offset, &first.shiftBytes, &second.shiftBytes})
    if (!offset->isStatic())
      return false;
  if (!layout::reach(a.layout) || !layout::reach(b.layout))
    return false;
  auto bitsOf = [](const TracedTile &tile, int64_t index) {
    layout::Layout layout = tile.layout;
    layout.offset = tile.offset.known;
    return layout::place(layout, layout::coordinateOf(layout, index)) *
               tile.elementBits +
           8 * tile.origins.front().shiftBytes.known;
  };
  DenseSet<int64_t> places;
  for (int64_t index = 0; index < *elements; ++index)
    places.insert(bitsOf(a, index));
  for (int64_t index = 0; index < *elements; ++index)
    if (places.contains(bitsOf(b, index)))
      return true;
  return false;
}

/// Compares the coordinates of subviews to the extents of what they are of.
static void buildCoordinateChecks(OpBuilder &builder, Location loc,
                                  StringRef side,
                                  ArrayRef<OpenDimension> open) {
  auto valueOf = [&](OpFoldResult given) {
    return getValueOrCreateConstantIndexOp(builder, loc, given);
  };
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  for (auto [view, dim] : open) {
    Value first = valueOf(view.getMixedOffsets()[dim]);
    Value size = valueOf(view.getMixedSizes()[dim]);
    Value step = valueOf(view.getMixedStrides()[dim]);
    Value last = arith::AddIOp::create(
        builder, loc, first,
        arith::MulIOp::create(builder, loc,
                              arith::SubIOp::create(builder, loc, size, one),
                              step));
    Value extent = memref::DimOp::create(builder, loc, view.getSource(), dim);
    auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
      return arith::CmpIOp::create(builder, loc, predicate, a, b);
    };
    Value inside = arith::AndIOp::create(
        builder, loc, compare(arith::CmpIPredicate::sge, first, zero),
        compare(arith::CmpIPredicate::slt, last, extent));
    cf::AssertOp::create(
        builder, loc, inside,
        ("tile.copy_async: the " + side + " leaves its buffer").str());
  }
}

bool tile::buildBoundsCheck(OpBuilder &builder, Location loc, StringRef side,
                            Value memref, const TracedTile &tile) {
  std::optional<layout::Range> reached = layout::reach(tile.layout);
  // Of several buffers it is not known which one it is, unless all are alike.
  const Origin &origin = tile.origins.front();
  bool areAlike =
      llvm::all_of(llvm::drop_begin(tile.origins), [&](const Origin &other) {
        return other.bufferBytes == origin.bufferBytes &&
               other.shiftBytes.isStatic() && origin.shiftBytes.isStatic() &&
               other.shiftBytes.known == origin.shiftBytes.known;
      });
  if (!origin.bufferBytes || !tile.runtimeStrides.empty()) {
    // Extents of run time can be compared, strides of run time need not be.
    std::optional<SmallVector<OpenDimension>> open = openDimensionsOf(memref);
    if (open)
      buildCoordinateChecks(builder, loc, side, *open);
    return open.has_value();
  }
  if (!areAlike || !reached)
    return false;
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b);
  };
  auto multiply = [&](Value a, Value b) -> Value {
    return arith::MulIOp::create(builder, loc, a, b);
  };
  Value offset;
  if (!tile.offsetInDescriptor)
    offset = constant(tile.offset.known);
  else if (isa<LayoutAttr>(cast<MemRefType>(memref.getType()).getLayout()))
    offset = OffsetOp::create(builder, loc, memref);
  else
    offset = memref::ExtractStridedMetadataOp::create(builder, loc, memref)
                 .getOffset();
  Value first = add(offset, constant(reached->lowest));
  Value last = add(offset, constant(reached->highest));
  if (tile.layout.swizzle) {
    // A swizzle keeps elements in their block, a power of two; the one before
    // element 0 begins below it.
    Value mask = constant(-tile.layout.swizzle->block());
    auto blockOf = [&](Value element) -> Value {
      return arith::AndIOp::create(builder, loc, element, mask);
    };
    first = blockOf(first);
    last = add(blockOf(last), constant(tile.layout.swizzle->block() - 1));
  }
  Value bits = constant(tile.elementBits);
  Value begin = multiply(first, bits);
  Value end = multiply(add(last, constant(1)), bits);
  Value shift = constant(origin.shiftBytes.known);
  for (const Offset::Term &term : origin.shiftBytes.terms) {
    Value part = multiply(term.value, constant(term.factor));
    if (term.divisor)
      part =
          arith::DivSIOp::create(builder, loc, part, constant(term.digits[0]));
    shift = add(shift, part);
  }
  Value shiftBits = multiply(shift, constant(8));
  auto isLess = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b);
  };
  Value inside = arith::AndIOp::create(
      builder, loc, isLess(constant(0), add(begin, shiftBits)),
      isLess(add(end, shiftBits), constant(8 * *origin.bufferBytes)));
  cf::AssertOp::create(
      builder, loc, inside,
      ("tile.copy_async: the " + side + " leaves its buffer").str());
  return true;
}
