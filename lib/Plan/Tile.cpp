// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Tile.h"

#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"
#include "lib/Facts/Origins.h"
#include "lib/Facts/ValueFacts.h"
#include "lib/Layout/Algebra.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;

/// Views that keep the aligned pointer: only offset, sizes and strides of the
/// descriptor change.
static Value sameAlignedPointer(Value memref) {
  Operation *op = memref.getDefiningOp();
  if (isa_and_nonnull<memref::SubViewOp, memref::ReinterpretCastOp,
                      memref::CastOp, memref::CollapseShapeOp,
                      memref::ExpandShapeOp, memref::TransposeOp,
                      memref::AssumeAlignmentOp, SliceOp>(op))
    return op->getOperand(0);
  return {};
}

/// Upstream asserts that the strides of an identity layout fit 64 bits; here
/// that is input.
static LogicalResult getStridesAndOffset(MemRefType type,
                                         SmallVectorImpl<int64_t> &strides,
                                         int64_t &offset) {
  int64_t stride = 1;
  if (type.getLayout().isIdentity())
    for (int64_t extent : type.getShape())
      if (extent > 0 && llvm::MulOverflow(stride, extent, stride))
        return failure();
  return type.getStridesAndOffset(strides, offset);
}

/// What is known of a stride: the number, or what divides it and how more could
/// be promised.
namespace {
struct Stride {
  std::optional<int64_t> known;
  int64_t divisor = 1;
  std::string fix;
};
} // namespace

static Stride knownStride(int64_t number) { return {number, 1, ""}; }

static Stride strideFrom(OpFoldResult given) {
  if (std::optional<int64_t> known = getConstantIntValue(given))
    return knownStride(*known);
  auto value = cast<Value>(given);
  std::string fix;
  if (mayPromise(value, 1))
    fix = "promise it with tile.assume_multiple " + nameOf(value) + ", {0}";
  return {std::nullopt, divisorOf(value), fix};
}

/// What the argument of a function promises of a stride that its type leaves
/// open.
static Stride promisedStride(BlockArgument argument, unsigned dimension) {
  Stride stride;
  auto type = cast<MemRefType>(argument.getType());
  if (type.getLayout().isIdentity())
    for (int64_t extent : type.getShape().drop_front(dimension + 1))
      if (extent > 0)
        stride.divisor = multiplyDivisors(stride.divisor, extent);
  auto func = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!func || !argument.getOwner()->isEntryBlock() ||
      argument.getArgNumber() >= func.getNumArguments())
    return stride;
  stride.fix = "promise it by tile.multiple_of on " + nameOf(argument) +
               ", with {0} for dimension " + std::to_string(dimension);
  if (auto promised = dyn_cast_or_null<DenseI64ArrayAttr>(
          func.getArgAttr(argument.getArgNumber(), kMultipleOfName));
      promised && dimension < promised.asArrayRef().size())
    stride.divisor = std::lcm(stride.divisor, promised[dimension]);
  return stride;
}

static SmallVector<Stride> allStridesOf(Value memref,
                                        llvm::SmallDenseSet<Value, 4> &seen);

/// What each stride of the view `op` is, as far as it is known.
static std::optional<SmallVector<Stride>>
stridesOfView(Operation *op, llvm::SmallDenseSet<Value, 4> &seen) {
  if (isa_and_nonnull<memref::CastOp, memref::AssumeAlignmentOp,
                      memref::MemorySpaceCastOp>(op) &&
      isa<MemRefType>(op->getOperand(0).getType()))
    return allStridesOf(op->getOperand(0), seen);
  if (auto view = dyn_cast_or_null<memref::ReinterpretCastOp>(op))
    return llvm::map_to_vector(view.getMixedStrides(), strideFrom);
  auto view = dyn_cast_or_null<memref::SubViewOp>(op);
  if (!view)
    return std::nullopt;
  SmallVector<Stride> source = allStridesOf(view.getSource(), seen), result;
  llvm::SmallBitVector dropped = view.getDroppedDims();
  for (auto [dim, step] : llvm::enumerate(view.getMixedStrides())) {
    if (dropped.test(dim))
      continue;
    Stride own = strideFrom(step);
    Stride &stride = result.emplace_back(source[dim]);
    int64_t product = 0;
    if (stride.known && own.known &&
        !llvm::MulOverflow(*stride.known, *own.known, product)) {
      stride.known = product;
      continue;
    }
    int64_t divisor = multiplyDivisors(stride.known.value_or(stride.divisor),
                                       own.known.value_or(own.divisor));
    stride = {std::nullopt, divisor, stride.known ? own.fix : stride.fix};
  }
  return result;
}

static SmallVector<Stride> allStridesOf(Value memref,
                                        llvm::SmallDenseSet<Value, 4> &seen) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> ofType;
  int64_t offset = 0;
  SmallVector<Stride> result(type.getRank());
  if (failed(getStridesAndOffset(type, ofType, offset)))
    return result;
  std::optional<SmallVector<Stride>> found;
  if (llvm::any_of(ofType, ShapedType::isDynamic)) {
    found = stridesOfView(memref.getDefiningOp(), seen);
    auto argument = dyn_cast<BlockArgument>(memref);
    std::optional<SmallVector<Value>> incoming = incomingOf(memref);
    if (!found && incoming && !incoming->empty() && seen.insert(memref).second)
      for (Value value : *incoming) {
        // Once more round a loop: the others say what divides all.
        if (seen.contains(value))
          continue;
        SmallVector<Stride> own = allStridesOf(value, seen);
        if (!found) {
          found = own;
          continue;
        }
        for (auto [stride, other] : llvm::zip_equal(*found, own))
          if (stride.known != other.known || !stride.known)
            stride = {std::nullopt,
                      std::gcd(stride.known.value_or(stride.divisor),
                               other.known.value_or(other.divisor)),
                      ""};
      }
    else if (!found && argument)
      for (unsigned dim = 0; dim < ofType.size(); ++dim)
        result[dim] = promisedStride(argument, dim);
  }
  for (auto [dim, stride] : llvm::enumerate(ofType))
    if (!ShapedType::isDynamic(stride))
      result[dim] = knownStride(stride);
    else if (found)
      result[dim] = (*found)[dim];
  return result;
}

static SmallVector<Stride> allStridesOf(Value memref) {
  llvm::SmallDenseSet<Value, 4> seen;
  return allStridesOf(memref, seen);
}

/// What an offset in a dimension of `source` adds, of whose stride only a
/// divisor is known.
static void addStrided(Offset &result, Value source, unsigned dimension,
                       OpFoldResult offset, const Stride &stride) {
  std::optional<int64_t> known = getConstantIntValue(offset);
  if (known == 0)
    return;
  Value value = known ? source : cast<Value>(offset);
  int64_t times = known ? *known : divisorOf(value);
  Offset::Term term{value, 1, multiplyDivisors(stride.divisor, times), {}};
  term.strideOf = dimension;
  term.digits.push_back(known.value_or(0));
  result.terms.push_back(std::move(term));
}

/// What a start that is known at run time only adds to the offset, through the
/// digits that it has in the modes of a nested dimension.
static Offset::Term digitsOf(Value start, const layout::RuntimePart &part) {
  Offset::Term term{start, 1, 0, layout::Range{0, 0}, {}};
  int64_t divisor = divisorOf(start);
  std::optional<layout::Range> range = rangeOf(start);
  if (range && range->lowest < 0)
    range.reset();
  for (auto [inner, modulus, stride] : part.digits) {
    term.digits.append({inner, modulus, stride});
    int64_t digit =
        divisor % inner == 0 ? std::gcd(divisor / inner, modulus) : int64_t(1);
    // A digit that is a multiple of its modulus is 0.
    if (digit != modulus || modulus == 0)
      term.divisor = std::gcd(term.divisor, multiplyDivisors(digit, stride));
    int64_t last = modulus ? modulus - 1 : 0, reached = 0;
    if (modulus == 0 && range)
      last = range->highest / inner;
    else if (modulus == 0)
      term.range.reset();
    if (!term.range)
      continue;
    int64_t &end = stride < 0 ? term.range->lowest : term.range->highest;
    if (llvm::MulOverflow(last, stride, reached) ||
        llvm::AddOverflow(end, reached, end))
      term.range.reset();
  }
  if (term.divisor == 0)
    term.divisor = kLargestDivisor;
  return term;
}

void tile::addIndex(Offset &offset, const layout::Dimension &modes,
                    OpFoldResult index) {
  layout::RuntimePart part = *layout::sliceAtRuntime(modes, 1);
  std::optional<int64_t> known = getConstantIntValue(index);
  if (part.digits.size() == 1) {
    offset.add(index, part.digits[0].stride);
  } else if (known) {
    for (auto [inner, modulus, stride] : part.digits)
      offset.addKnown(modulus ? *known / inner % modulus : *known / inner,
                      stride);
  } else {
    offset.terms.push_back(digitsOf(cast<Value>(index), part));
  }
}

/// What the offsets of a slice add to the offset of its source.
static Offset offsetOfSlice(SliceOp op) {
  Offset result;
  auto attr = cast<LayoutAttr>(op.getSourceType().getLayout());
  layout::Layout from = attr.getLayout();
  for (auto [modes, offset] :
       llvm::zip_equal(from.dimensions, op.getMixedOffsets()))
    addIndex(result, modes, offset);
  return result;
}

std::optional<Refusal> tile::checkSlice(SliceOp op) {
  auto attr = cast<LayoutAttr>(op.getSourceType().getLayout());
  layout::Layout from = attr.getLayout();
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    auto value = dyn_cast<Value>(offset);
    if (!value)
      continue;
    int64_t multiple =
        layout::sliceAtRuntime(from.dimensions[dim], op.getSizes()[dim])
            ->startMultiple;
    int64_t divisor = divisorOf(value);
    if (divisor % multiple == 0)
      continue;
    std::string number = std::to_string(multiple);
    return Refusal{
        "must be sliced at multiples of " + number + " in nested dimension " +
            std::to_string(dim) + ", got " + expressionOf(value) +
            ", a multiple of " + std::to_string(divisor),
        mayPromise(value, multiple) ? "promise it with tile.assume_multiple " +
                                          nameOf(value) + ", " + number
                                    : "slice at a multiple of " + number};
  }
  return std::nullopt;
}

/// What the argument of a function promises to divide an offset that its type
/// leaves open.
static int64_t promisedOffset(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  auto func =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (!func || !argument.getOwner()->isEntryBlock() ||
      argument.getArgNumber() >= func.getNumArguments())
    return 1;
  return declaredAlignment(
      func.getArgAttr(argument.getArgNumber(), kOffsetMultipleOfName));
}

using Choices = llvm::SmallDenseSet<Value, 4>;
static Offset offsetOf(Value memref, Choices &seen);

/// The offset of one of several memrefs, which only its descriptor tells: what
/// divides it, and what it lies between.
static Offset offsetOfChoice(Value memref, Choices &seen) {
  Offset result;
  Offset::Term &term = result.terms.emplace_back(
      Offset::Term{memref, 1, kLargestDivisor, std::nullopt, {}});
  // Once more round a loop: what divides the other offsets and the steps
  // divides all.
  if (!seen.insert(memref).second)
    return result;
  std::optional<SmallVector<Value>> incoming = incomingOf(memref);
  if (!incoming || incoming->empty()) {
    term.divisor = promisedOffset(memref);
    return result;
  }
  int64_t divisor = 0;
  std::optional<layout::Range> range;
  for (auto [index, value] : llvm::enumerate(*incoming)) {
    Offset offset = offsetOf(value, seen);
    int64_t known = offset.overflowed ? 1 : multiplyDivisors(offset.known, 1);
    divisor = std::gcd(divisor, std::gcd(known, runtimeDivisor(offset)));
    std::optional<layout::Range> own = rangeOfOffset(offset);
    if (index == 0)
      range = own;
    else if (range && own)
      range = layout::Range{std::min(range->lowest, own->lowest),
                            std::max(range->highest, own->highest)};
    else
      range.reset();
  }
  term.divisor = divisor == 0 ? kLargestDivisor : divisor;
  term.range = range;
  return result;
}

/// Elements from the aligned pointer to the first element of `memref`.
Offset tile::offsetOf(Value memref) {
  Choices seen;
  return ::offsetOf(memref, seen);
}

static Offset offsetOf(Value memref, Choices &seen) {
  Offset result;
  auto type = cast<MemRefType>(memref.getType());
  if (auto attr = dyn_cast<LayoutAttr>(type.getLayout())) {
    if (!attr.hasDynamicOffset()) {
      result.known = attr.getOffset();
    } else if (auto slice = memref.getDefiningOp<SliceOp>()) {
      result = offsetOf(slice.getSource(), seen);
      result.add(offsetOfSlice(slice));
    } else if (auto assume =
                   memref.getDefiningOp<memref::AssumeAlignmentOp>()) {
      return offsetOf(assume.getMemref(), seen);
    } else {
      return offsetOfChoice(memref, seen);
    }
    return result;
  }
  SmallVector<int64_t> strides;
  int64_t known = 0;
  if (succeeded(getStridesAndOffset(type, strides, known)) &&
      !ShapedType::isDynamic(known)) {
    result.known = known;
    return result;
  }
  Operation *op = memref.getDefiningOp();
  if (auto view = dyn_cast_or_null<memref::ReinterpretCastOp>(op)) {
    result.add(view.getMixedOffsets()[0], 1);
    return result;
  }
  if (auto view = dyn_cast_or_null<memref::SubViewOp>(op)) {
    if (!isa<LayoutAttr>(view.getSourceType().getLayout())) {
      result = offsetOf(view.getSource(), seen);
      for (auto [dim, offset, stride] : llvm::enumerate(
               view.getMixedOffsets(), allStridesOf(view.getSource())))
        if (stride.known)
          result.add(offset, *stride.known);
        else
          addStrided(result, view.getSource(), dim, offset, stride);
      return result;
    }
  }
  if (Value source = sameAlignedPointer(memref);
      source && !isa<memref::SubViewOp>(op) &&
      isa<MemRefType>(source.getType()))
    return offsetOf(source, seen);
  return offsetOfChoice(memref, seen);
}

/// Bytes that a memref spans from its aligned pointer.
static std::optional<int64_t> spannedBytes(MemRefType type, int64_t bits) {
  SmallVector<int64_t> strides;
  int64_t offset = 0, elements = 0, total = 0;
  if (auto attr = dyn_cast<LayoutAttr>(type.getLayout())) {
    if (attr.hasDynamicOffset() ||
        llvm::MulOverflow(*layout::cosize(attr.getLayout()), bits, total))
      return std::nullopt;
    return llvm::divideCeil(total, 8);
  }
  if (!type.hasStaticShape() ||
      failed(getStridesAndOffset(type, strides, offset)) ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return std::nullopt;
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  std::optional<layout::Range> range =
      layout::reach(layout::strided(type.getShape(), strides));
  if (!range || llvm::AddOverflow(range->highest, offset, elements) ||
      llvm::AddOverflow(elements, int64_t(1), elements) ||
      llvm::MulOverflow(elements, bits, total))
    return std::nullopt;
  return llvm::divideCeil(total, 8);
}

/// The elements of a buffer behind a view may be of any type.
static int64_t bitsOf(Type type) { return elementBits(type).value_or(8); }

int64_t tile::declaredAlignment(Attribute attr) {
  auto number = dyn_cast_or_null<IntegerAttr>(attr);
  if (!number || !number.getValue().isStrictlyPositive())
    return 1;
  return number.getValue().trySExtValue().value_or(
      std::numeric_limits<int64_t>::max());
}

static memref::GlobalOp globalOf(memref::GetGlobalOp op) {
  return SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
}

static void describeArgument(BlockArgument argument, Origin &origin) {
  Operation *parent = argument.getOwner()->getParentOp();
  StringRef align = LLVM::LLVMDialect::getAlignAttrName();
  if (auto func = dyn_cast<gpu::GPUFuncOp>(parent);
      func && argument.getOwner()->isEntryBlock() &&
      argument.getArgNumber() >= func.getNumArguments()) {
    unsigned index = argument.getArgNumber() - func.getNumArguments();
    origin.alignment =
        declaredAlignment(func.getWorkgroupAttributionAttr(index, align));
    origin.canAlign = true;
  } else if (isa<gpu::LaunchOp>(parent)) {
    origin.alignmentFix =
        "run gpu-kernel-outlining first: gpu.launch cannot say "
        "how its workgroup buffers are aligned";
  } else {
    if (auto func = dyn_cast<FunctionOpInterface>(parent);
        func && argument.getOwner()->isEntryBlock())
      origin.alignment =
          declaredAlignment(func.getArgAttr(argument.getArgNumber(), align));
    origin.alignmentFix = "say how the buffer is aligned: llvm.align = {0} on "
                          "the argument, or memref.assume_alignment";
  }
}

static void describeBuffer(Origin &origin, Operation *scope) {
  if (auto argument = dyn_cast<BlockArgument>(origin.buffer))
    return describeArgument(argument, origin);
  Operation *op = origin.buffer.getDefiningOp();
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    if (memref::GlobalOp global = globalOf(get)) {
      origin.alignment = global.getAlignment().value_or(1);
      origin.canAlign = scope->isProperAncestor(global);
    }
    origin.alignmentFix = "give the memref.global an alignment of {0}";
  } else if (isa<gpu::DynamicSharedMemoryOp>(op)) {
    origin.alignment = declaredAlignment(op->getAttr(kAlignmentAttrName));
    origin.canAlign = true;
  } else {
    origin.alignmentFix =
        "say how the buffer is aligned with memref.assume_alignment";
  }
}

/// Elements of less than a byte count in bytes only where they are surely whole
/// ones.
static std::optional<Offset> inBytes(const Offset &elements, int64_t bits) {
  if (bits % 8 == 0)
    return elements.times(bits / 8);
  int64_t perByte = 8 / bits;
  if (elements.known % perByte != 0)
    return std::nullopt;
  Offset bytes;
  bytes.known = elements.known / perByte;
  for (const Offset::Term &term : elements.terms) {
    int64_t divisor = term.factor * divisorOf(term.value);
    if (divisor % perByte != 0)
      return std::nullopt;
    std::optional<layout::Range> range = rangeOf(term.value);
    if (range)
      range = layout::Range{range->lowest * term.factor / perByte,
                            range->highest * term.factor / perByte};
    bytes.terms.push_back({term.value, 1, divisor / perByte, range, {perByte}});
  }
  return bytes;
}

/// Elements of less than a byte that begin nowhere near one.
static Refusal refuseView(ViewOp view) {
  int64_t perByte = 8 / bitsOf(view.getSourceType().getElementType());
  std::string number = std::to_string(perByte);
  auto value = dyn_cast<Value>(view.getMixedOffset());
  return {"must be viewed at a whole number of bytes",
          value && mayPromise(value, perByte)
              ? "promise it with tile.assume_multiple " + nameOf(value) + ", " +
                    number
              : "view it from a multiple of " + number + " elements on"};
}

static bool areSame(const Offset &a, const Offset &b) {
  return a.known == b.known && !a.overflowed && !b.overflowed &&
         sameRuntimePart(a, b);
}

namespace {
/// Goes from a memref through views and choices to all buffers that it may be
/// in.
class OriginTrace {
public:
  OriginTrace(Operation *scope, bool isGlobal)
      : scope(scope), isGlobal(isGlobal) {}

  SmallVector<Origin, 1> origins;

  /// `path` says how far the tile's aligned pointer is from that of `value`.
  std::optional<Refusal> follow(Value value, Origin path) {
    while (true) {
      if (auto assume = value.getDefiningOp<memref::AssumeAlignmentOp>())
        noteAssumption(assume, path);
      if (auto slice = value.getDefiningOp<SliceOp>())
        if (std::optional<Refusal> refusal = checkSlice(slice))
          return refusal;
      if (Value source = sameAlignedPointer(value)) {
        value = source;
      } else if (auto view = value.getDefiningOp<ViewOp>()) {
        Offset elements;
        elements.add(view.getMixedOffset(), 1);
        std::optional<Offset> bytes =
            inBytes(elements, bitsOf(view.getSourceType().getElementType()));
        if (!bytes)
          return refuseView(view);
        path.shiftBytes.add(*bytes);
        value = view.getSource();
      } else if (auto view = value.getDefiningOp<memref::ViewOp>()) {
        path.shiftBytes.add(OpFoldResult(view.getByteShift()), 1);
        value = view.getSource();
      } else {
        break;
      }
      if (!isa<MemRefType>(value.getType()))
        return Refusal{"must be a view of a ranked buffer", ""};
    }
    if (isGlobal) {
      Operation *op = value.getDefiningOp();
      if (auto cast = dyn_cast_or_null<memref::MemorySpaceCastOp>(op)) {
        Value source = cast.getSource();
        auto type = dyn_cast<MemRefType>(source.getType());
        if (type && isGlobalMemory(type.getMemorySpace()))
          return follow(source, std::move(path));
        return refuse("must be in global memory, got a cast of other memory",
                      "name the buffer itself, in its own memory space");
      }
      if (isa_and_nonnull<memref::AllocaOp>(op))
        return refuse("must be in global memory, got memory of one thread",
                      "pass the buffer to the kernel");
    } else if (isa_and_nonnull<memref::AllocOp, memref::AllocaOp>(
                   value.getDefiningOp()))
      return Refusal{
          "must be in shared memory, got what the kernel allocates elsewhere",
          "declare it as a workgroup attribution of the kernel"};
    std::optional<SmallVector<Value>> incoming = incomingOf(value);
    if (!incoming || incoming->empty()) {
      end(value, std::move(path));
      return std::nullopt;
    }
    auto [before, isNew] = choices.try_emplace(value, path);
    if (!isNew) {
      // Once more round a loop: where the pointer moved on the way, or less is
      // promised this time, it may be anywhere.
      if (!areSame(before->second.shiftBytes, path.shiftBytes) ||
          before->second.assumed.alignment > path.assumed.alignment)
        end(value, std::move(path));
      return std::nullopt;
    }
    for (Value one : *incoming)
      if (std::optional<Refusal> refusal = follow(one, path))
        return refusal;
    return std::nullopt;
  }

private:
  /// Upstream leaves open whether the aligned pointer or the first element is
  /// meant: take it only where both are aligned alike.
  static void noteAssumption(memref::AssumeAlignmentOp assume, Origin &path) {
    Offset before = offsetOf(assume.getMemref());
    auto type = cast<MemRefType>(assume.getType());
    int64_t alignment = assume.getAlignment();
    std::optional<int64_t> bits =
        llvm::checkedMul(before.known, bitsOf(type.getElementType()));
    if (alignment > path.assumed.alignment && before.isStatic() && bits &&
        *bits % (8 * alignment) == 0)
      path.assumed = {alignment, path.shiftBytes};
  }

  void end(Value buffer, Origin path) {
    path.buffer = buffer;
    auto type = cast<MemRefType>(buffer.getType());
    path.bufferBytes = spannedBytes(type, bitsOf(type.getElementType()));
    describeBuffer(path, scope);
    origins.push_back(std::move(path));
  }

  Operation *scope;
  bool isGlobal;
  llvm::DenseMap<Value, Origin> choices;
};
} // namespace

std::variant<TracedTile, Refusal> tile::traceTile(Value memref,
                                                  Operation *scope) {
  auto type = cast<MemRefType>(memref.getType());
  TracedTile tile;
  tile.elementType = type.getElementType();
  tile.elementBits = bitsOf(tile.elementType);
  tile.isGlobal = isGlobalMemory(type.getMemorySpace());
  auto attr = dyn_cast<LayoutAttr>(type.getLayout());
  SmallVector<int64_t> strides;
  if (!attr) {
    SmallVector<int64_t> typeStrides;
    int64_t typeOffset = 0;
    bool isStrided =
        succeeded(getStridesAndOffset(type, typeStrides, typeOffset));
    for (auto [dim, stride] : llvm::enumerate(allStridesOf(memref))) {
      strides.push_back(stride.known.value_or(0));
      // That of a single element means nothing.
      if (stride.known || type.getDimSize(dim) == 1)
        continue;
      tile.runtimeStrides.push_back(
          {unsigned(dim), std::max<int64_t>(stride.divisor, 1), stride.fix});
      isStrided &= tile.isGlobal;
    }
    if (!isStrided) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return Refusal{"must have a layout of constant strides, got " + text,
                     "give the memref a strided layout with static strides"};
    }
  }
  if (attr) {
    tile.layout = attr.getLayout();
    tile.layout.offset = 0;
    tile.offsetInDescriptor = attr.hasDynamicOffset();
  } else {
    SmallVector<int64_t> typeStrides;
    int64_t typeOffset = 0;
    tile.offsetInDescriptor =
        succeeded(getStridesAndOffset(type, typeStrides, typeOffset)) &&
        ShapedType::isDynamic(typeOffset);
    tile.layout = layout::strided(type.getShape(), strides);
  }
  tile.offset = offsetOf(memref);

  OriginTrace trace(scope, tile.isGlobal);
  if (std::optional<Refusal> refusal = trace.follow(memref, {}))
    return *refusal;
  tile.origins = std::move(trace.origins);
  // A loop that nothing enters.
  if (tile.origins.empty())
    return Refusal{"must be in a buffer", ""};
  return tile;
}

void tile::alignBuffer(const TracedTile &tile, int64_t bytes) {
  Builder builder(tile.elementType.getContext());
  IntegerAttr alignment = builder.getI64IntegerAttr(bytes);
  for (const Origin &origin : tile.origins) {
    if (!origin.canAlign || origin.alignment >= bytes)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(origin.buffer)) {
      auto func = cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
      func.setWorkgroupAttributionAttr(
          argument.getArgNumber() - func.getNumArguments(),
          LLVM::LLVMDialect::getAlignAttrName(), alignment);
      continue;
    }
    Operation *op = origin.buffer.getDefiningOp();
    if (auto get = dyn_cast<memref::GetGlobalOp>(op))
      globalOf(get).setAlignmentAttr(alignment);
    else
      op->setAttr(kAlignmentAttrName, alignment);
  }
}
