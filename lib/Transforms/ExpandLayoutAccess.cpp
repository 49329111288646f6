// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"
#include "lib/Layout/Algebra.h"
#include "lib/Plan/Tile.h"
#include "lib/Transforms/ExpandLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace tile;

LayoutAttr tile::tileLayoutOf(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? dyn_cast<LayoutAttr>(memref.getLayout()) : LayoutAttr();
}

Value IndexBuilder::value(OpFoldResult number) {
  return getValueOrCreateConstantIndexOp(builder, loc, number);
}

/// Of an index that is out of bounds, folds wrap as the arithmetic at run time
/// does; places of elements fit.
static int64_t wrapped(uint64_t number) { return static_cast<int64_t>(number); }

OpFoldResult IndexBuilder::add(OpFoldResult a, OpFoldResult b) {
  std::optional<int64_t> x = getConstantIntValue(a), y = getConstantIntValue(b);
  if (x && y)
    return known(wrapped(uint64_t(*x) + uint64_t(*y)));
  if (x == 0)
    return b;
  if (y == 0)
    return a;
  return OpFoldResult(arith::AddIOp::create(builder, loc, value(a), value(b)));
}

OpFoldResult IndexBuilder::times(OpFoldResult a, int64_t factor) {
  if (std::optional<int64_t> x = getConstantIntValue(a))
    return known(wrapped(uint64_t(*x) * uint64_t(factor)));
  if (factor == 0)
    return known(0);
  if (factor == 1)
    return a;
  return OpFoldResult(
      arith::MulIOp::create(builder, loc, value(a), value(known(factor))));
}

OpFoldResult IndexBuilder::digit(OpFoldResult start, int64_t divisor,
                                 int64_t modulus) {
  if (std::optional<int64_t> x = getConstantIntValue(start))
    return known(modulus ? *x / divisor % modulus : *x / divisor);
  Value result = value(start);
  if (divisor != 1)
    result =
        arith::DivUIOp::create(builder, loc, result, value(known(divisor)));
  if (modulus)
    result =
        arith::RemUIOp::create(builder, loc, result, value(known(modulus)));
  return OpFoldResult(result);
}

OpFoldResult IndexBuilder::swizzle(OpFoldResult offset,
                                   const layout::Swizzle &swizzle) {
  if (std::optional<int64_t> x = getConstantIntValue(offset))
    return known(swizzle.apply(*x));
  int64_t mask = ((int64_t(1) << swizzle.bits) - 1) << swizzle.base;
  Value x = value(offset);
  Value moved =
      arith::ShRUIOp::create(builder, loc, x, value(known(swizzle.shift)));
  Value bits = arith::AndIOp::create(builder, loc, moved, value(known(mask)));
  return OpFoldResult(arith::XOrIOp::create(builder, loc, x, bits));
}

OpFoldResult IndexBuilder::place(const layout::Dimension &modes,
                                 OpFoldResult index) {
  OpFoldResult offset = known(0);
  layout::RuntimePart part = *layout::sliceAtRuntime(modes, 1);
  for (auto [divisor, modulus, stride] : part.digits)
    if (stride != 0)
      offset = add(offset, times(digit(index, divisor, modulus), stride));
  return offset;
}

/// The dimension of the tile that dimension `dim` of the vector runs along;
/// nothing if it is broadcast.
static std::optional<unsigned> dimensionOf(AffineMap map, unsigned dim) {
  if (auto expr = dyn_cast<AffineDimExpr>(map.getResult(dim)))
    return expr.getPosition();
  return std::nullopt;
}

static bool isInBounds(VectorTransferOpInterface op, unsigned dim) {
  if (op.isDimInBounds(dim))
    return true;
  std::optional<unsigned> along = dimensionOf(op.getPermutationMap(), dim);
  if (!along)
    return true;
  std::optional<int64_t> index = getConstantIntValue(op.getIndices()[*along]);
  return index && *index >= 0 &&
         *index <= op.getShapedType().getDimSize(*along) -
                       op.getVectorType().getDimSize(dim);
}

/// What divides the offset, before the swizzle, of the first element of every
/// run of the vector in the fastest mode of its last dimension.
static int64_t divisorOfRows(VectorTransferOpInterface op,
                             const layout::Layout &layout) {
  Offset offset = offsetOf(op.getBase());
  for (auto [modes, index] :
       llvm::zip_equal(layout.dimensions, op.getIndices()))
    addIndex(offset, modes, index);
  if (offset.overflowed)
    return 1;
  int64_t divisor = std::gcd(offset.known, runtimeDivisor(offset));
  int64_t rank = op.getVectorType().getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (auto along = dimensionOf(op.getPermutationMap(), dim)) {
      ArrayRef<layout::Mode> modes = layout.dimensions[*along];
      for (layout::Mode mode : dim + 1 == rank ? modes.drop_back() : modes)
        divisor = std::gcd(divisor, mode.stride);
    }
  return divisor;
}

static Access planAccess(VectorTransferOpInterface op, Operation *root) {
  Access access;
  auto type = cast<MemRefType>(op.getShapedType());
  layout::Layout layout = layout::coalesce(tileLayoutOf(type).getLayout());
  int64_t rank = op.getVectorType().getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    access.guarded |= !isInBounds(op, dim);
  access.guarded |= static_cast<bool>(op.getMask());
  std::optional<unsigned> along;
  if (rank != 0)
    along = dimensionOf(op.getPermutationMap(), rank - 1);
  if (!along || access.guarded)
    return access;
  const layout::Dimension &modes = layout.dimensions[*along];
  if (modes.back().stride != 1)
    return access;

  int64_t rows = divisorOfRows(op, layout);
  int64_t width = op.getVectorType().getDimSize(rank - 1);
  // A piece must stay in the fastest mode, and in a unit of the swizzle.
  if (modes.size() > 1) {
    Offset index;
    index.add(op.getIndices()[*along], 1);
    width =
        std::gcd(width, std::gcd(modes.back().extent,
                                 std::gcd(index.known, runtimeDivisor(index))));
  }
  if (layout.swizzle)
    width = std::gcd(width, std::gcd(layout.swizzle->unit(), rows));
  access.width = width;

  std::variant<TracedTile, Refusal> traced = traceTile(op.getBase(), root);
  auto *tile = std::get_if<TracedTile>(&traced);
  std::optional<int64_t> bits = elementBits(type.getElementType());
  if (!tile || !bits || *bits % 8 != 0)
    return access;
  constexpr int64_t kWidest = 16;
  int64_t bytes = std::gcd(kWidest, std::gcd(rows, width) * *bits / 8);
  for (const Origin &origin : tile->origins)
    bytes = std::gcd(bytes, std::gcd(origin.shiftBytes.known,
                                     runtimeDivisor(origin.shiftBytes)));
  if (bytes <= *bits / 8)
    return access;
  alignBuffer(*tile, bytes);
  int64_t alignment = bytes;
  for (const Origin &origin : tile->origins)
    if (!origin.canAlign)
      alignment = std::gcd(alignment, origin.alignment);
  if (alignment > *bits / 8)
    access.alignment = alignment;
  return access;
}

Accesses tile::planAccesses(Operation *root) {
  Accesses accesses;
  root->walk([&](VectorTransferOpInterface op) {
    if (tileLayoutOf(op.getShapedType()))
      accesses[op] = planAccess(op, root);
  });
  return accesses;
}

/// The place of the element at `indices` in the flat buffer.
static Value flatIndex(IndexBuilder &index, LayoutAttr attr, ValueRange memref,
                       ArrayRef<OpFoldResult> indices) {
  layout::Layout layout = attr.getLayout();
  OpFoldResult offset = attr.hasDynamicOffset() ? OpFoldResult(memref[1])
                                                : index.known(layout.offset);
  for (auto [modes, position] : llvm::zip_equal(layout.dimensions, indices))
    offset = index.add(offset, index.place(modes, position));
  if (layout.swizzle)
    offset = index.swizzle(offset, *layout.swizzle);
  return index.value(offset);
}

namespace {
struct ExpandLoad : OpConversionPattern<memref::LoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::LoadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    IndexBuilder index(rewriter, op.getLoc());
    Value place =
        flatIndex(index, tileLayoutOf(op.getMemRefType()), adaptor.getMemref(),
                  getAsOpFoldResult(op.getIndices()));
    rewriter.replaceOpWithNewOp<memref::LoadOp>(op, adaptor.getMemref()[0],
                                                place, op.getNontemporal());
    return success();
  }
};

struct ExpandStore : OpConversionPattern<memref::StoreOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    IndexBuilder index(rewriter, op.getLoc());
    Value place =
        flatIndex(index, tileLayoutOf(op.getMemRefType()), adaptor.getMemref(),
                  getAsOpFoldResult(op.getIndices()));
    rewriter.replaceOpWithNewOp<memref::StoreOp>(op, op.getValueToStore(),
                                                 adaptor.getMemref()[0], place,
                                                 op.getNontemporal());
    return success();
  }
};

struct ExpandStoreAsync : OpConversionPattern<StoreAsyncOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult
  matchAndRewrite(StoreAsyncOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    IndexBuilder index(rewriter, op.getLoc());
    Value place =
        flatIndex(index, tileLayoutOf(op.getDst().getType()), adaptor.getDst(),
                  getAsOpFoldResult(op.getIndices()));
    rewriter.replaceOpWithNewOp<StoreAsyncOp>(
        op, op.getValue(), adaptor.getDst()[0], place, op.getRank(),
        op.getBarriers(), op.getBarrierIndex(), op.getReduceAttr(),
        op.getAlignedAttr());
    return success();
  }
};

/// Visits the pieces of a transfer: `visit(position in the vector, indices in
/// the tile)`.
template <typename Visit>
void forEachPiece(VectorTransferOpInterface op, int64_t width,
                  IndexBuilder &index, Visit visit) {
  VectorType type = op.getVectorType();
  SmallVector<int64_t> steps(type.getRank(), 1);
  if (!steps.empty())
    steps.back() = width;
  SmallVector<int64_t> position(type.getRank(), 0);
  while (true) {
    SmallVector<OpFoldResult> indices = getAsOpFoldResult(op.getIndices());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (auto along = dimensionOf(op.getPermutationMap(), dim))
        indices[*along] =
            index.add(indices[*along], index.known(position[dim]));
    visit(position, indices);
    int64_t dim = type.getRank();
    while (dim-- > 0) {
      position[dim] += steps[dim];
      if (position[dim] < type.getDimSize(dim))
        break;
      position[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// Whether the element at `indices` is there: inside the tile, and not masked
/// off. Null if it is.
Value guardOf(VectorTransferOpInterface op, IndexBuilder &index,
              ArrayRef<int64_t> position, ArrayRef<OpFoldResult> indices,
              OpBuilder &builder) {
  Value guard;
  auto both = [&](Value condition) {
    guard = guard
                ? arith::AndIOp::create(builder, op.getLoc(), guard, condition)
                : condition;
  };
  for (int64_t dim = 0; dim < op.getVectorType().getRank(); ++dim) {
    if (isInBounds(op, dim))
      continue;
    unsigned along = *dimensionOf(op.getPermutationMap(), dim);
    both(arith::CmpIOp::create(
        builder, op.getLoc(), arith::CmpIPredicate::ult,
        index.value(indices[along]),
        index.value(index.known(op.getShapedType().getDimSize(along)))));
  }
  if (op.getMask()) {
    // A mask has the dimensions of the tile that the vector runs along, in the
    // tile's order.
    SmallVector<std::pair<unsigned, int64_t>> places;
    for (int64_t dim = 0; dim < op.getVectorType().getRank(); ++dim)
      if (auto along = dimensionOf(op.getPermutationMap(), dim))
        places.push_back({*along, position[dim]});
    llvm::sort(places);
    SmallVector<int64_t> bit =
        llvm::map_to_vector(places, [](auto place) { return place.second; });
    both(vector::ExtractOp::create(builder, op.getLoc(), op.getMask(), bit));
  }
  return guard;
}

struct ExpandTransferRead : OpConversionPattern<vector::TransferReadOp> {
  ExpandTransferRead(const TypeConverter &converter, MLIRContext *context,
                     const Accesses &accesses)
      : OpConversionPattern(converter, context), accesses(accesses) {}

  LogicalResult
  matchAndRewrite(vector::TransferReadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Access access = accesses.lookup(op);
    Location loc = op.getLoc();
    IndexBuilder index(rewriter, loc);
    VectorType type = op.getVectorType();
    LayoutAttr attr = tileLayoutOf(op.getShapedType());
    Value flat = adaptor.getBase()[0];
    bool isWhole = type.getRank() == 1 && type.getDimSize(0) == access.width;
    Value result;
    if (!isWhole)
      result =
          arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type));
    forEachPiece(
        op, access.width, index,
        [&](ArrayRef<int64_t> position, ArrayRef<OpFoldResult> indices) {
          auto load = [&](OpBuilder &builder) -> Value {
            IndexBuilder index(builder, loc);
            Value place = flatIndex(index, attr, adaptor.getBase(), indices);
            if (access.width == 1)
              return memref::LoadOp::create(builder, loc, flat, place);
            auto piece = VectorType::get({access.width}, type.getElementType());
            return vector::LoadOp::create(builder, loc, piece, flat, place,
                                          false,
                                          llvm::MaybeAlign(access.alignment));
          };
          Value loaded;
          Value guard;
          if (access.guarded)
            guard = guardOf(op, index, position, indices, rewriter);
          if (guard)
            loaded = scf::IfOp::create(
                         rewriter, loc, guard,
                         [&](OpBuilder &builder, Location) {
                           scf::YieldOp::create(builder, loc, load(builder));
                         },
                         [&](OpBuilder &builder, Location) {
                           scf::YieldOp::create(builder, loc, op.getPadding());
                         })
                         .getResult(0);
          else
            loaded = load(rewriter);
          if (isWhole)
            result =
                access.width == 1
                    ? vector::BroadcastOp::create(rewriter, loc, type, loaded)
                          .getResult()
                    : loaded;
          else if (access.width == 1)
            result = vector::InsertOp::create(rewriter, loc, loaded, result,
                                              position);
          else
            result = vector::InsertStridedSliceOp::create(
                rewriter, loc, loaded, result, position, ArrayRef<int64_t>{1});
        });
    rewriter.replaceOp(op, result);
    return success();
  }

  const Accesses &accesses;
};

struct ExpandTransferWrite : OpConversionPattern<vector::TransferWriteOp> {
  ExpandTransferWrite(const TypeConverter &converter, MLIRContext *context,
                      const Accesses &accesses)
      : OpConversionPattern(converter, context), accesses(accesses) {}

  LogicalResult
  matchAndRewrite(vector::TransferWriteOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Access access = accesses.lookup(op);
    Location loc = op.getLoc();
    IndexBuilder index(rewriter, loc);
    LayoutAttr attr = tileLayoutOf(op.getShapedType());
    Value flat = adaptor.getBase()[0];
    forEachPiece(
        op, access.width, index,
        [&](ArrayRef<int64_t> position, ArrayRef<OpFoldResult> indices) {
          auto store = [&](OpBuilder &builder) {
            IndexBuilder index(builder, loc);
            Value place = flatIndex(index, attr, adaptor.getBase(), indices);
            if (access.width == 1) {
              Value element = vector::ExtractOp::create(
                  builder, loc, op.getVector(), position);
              memref::StoreOp::create(builder, loc, element, flat, place);
              return;
            }
            Value row = op.getVector();
            if (position.size() > 1)
              row = vector::ExtractOp::create(builder, loc, row,
                                              position.drop_back());
            if (op.getVectorType().getShape().back() != access.width)
              row = vector::ExtractStridedSliceOp::create(
                  builder, loc, row, ArrayRef<int64_t>{position.back()},
                  ArrayRef<int64_t>{access.width}, ArrayRef<int64_t>{1});
            vector::StoreOp::create(builder, loc, row, flat, place, false,
                                    llvm::MaybeAlign(access.alignment));
          };
          Value guard;
          if (access.guarded)
            guard = guardOf(op, index, position, indices, rewriter);
          if (!guard)
            return store(rewriter);
          scf::IfOp::create(rewriter, loc, guard,
                            [&](OpBuilder &builder, Location) {
                              store(builder);
                              scf::YieldOp::create(builder, loc);
                            });
        });
    rewriter.eraseOp(op);
    return success();
  }

  const Accesses &accesses;
};
} // namespace

void tile::addAccessPatterns(const TypeConverter &converter,
                             const Accesses &accesses,
                             RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<ExpandLoad, ExpandStore, ExpandStoreAsync>(converter, context);
  patterns.add<ExpandTransferRead, ExpandTransferWrite>(converter, context,
                                                        accesses);
}
