// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Facts/ValueFacts.h"

#include "lib/Facts/KernelSizes.h"

#include "dialect/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace tile;
using Interval = layout::Range;
using llvm::APInt;

/// Chains of arithmetic that are followed; longer ones are not understood.
static constexpr int kDepth = 16;

int64_t tile::clampDivisor(int64_t divisor) {
  if (divisor <= kLargestDivisor)
    return divisor;
  return std::min<int64_t>(kLargestDivisor, divisor & -divisor);
}

static int64_t magnitude(int64_t number) {
  return number == INT64_MIN ? kLargestDivisor : clampDivisor(std::abs(number));
}

int64_t tile::multiplyDivisors(int64_t a, int64_t b) {
  return clampDivisor(magnitude(a) * magnitude(b));
}

std::optional<int64_t> tile::constantOf(Value value) {
  IntegerAttr constant;
  if (!value || !matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  return constant.getValue().trySExtValue();
}

/// Bits of a number of this type, an index being one of 64; 0 if it is none.
static unsigned widthOf(Type type) {
  return type.isIntOrIndex() ? ConstantIntRanges::getStorageBitwidth(type) : 0;
}

/// The odd part of a number, or 1 if that is too large to be of use; 0 of 0.
static int64_t oddPart(const APInt &magnitude) {
  if (magnitude.isZero())
    return 0;
  APInt odd = magnitude.lshr(magnitude.countr_zero());
  return odd.getActiveBits() < 32 ? odd.getZExtValue() : 1;
}

/// Both divide; as much of their common multiple as is of use.
static int64_t bothOdd(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  int64_t common = std::lcm(a, b);
  return common <= kLargestDivisor ? common : std::max(a, b);
}

static int64_t timesOdd(int64_t a, int64_t b) {
  return a * b <= kLargestDivisor ? a * b : std::max(a, b);
}

namespace {
/// Which reading of the operands and the result of an operation leaves its
/// result unwrapped.
struct Exact {
  bool asSigned = false;
  bool asUnsigned = false;
};

/// What is known of a number in a register. Powers of two that divide it are
/// seen in its bits, which wrapping leaves alone. Odd divisors are not: they
/// hold for the number as it is read, with a sign or without, and only while
/// nothing wraps.
struct Facts {
  ConstantIntRanges range;
  llvm::KnownBits bits;
  /// Odd divisors; 0 of the number 0.
  int64_t oddSigned = 1;
  int64_t oddUnsigned = 1;

  explicit Facts(unsigned width)
      : range(ConstantIntRanges::maxRange(width)), bits(width) {}
  explicit Facts(const APInt &number)
      : range(ConstantIntRanges::constant(number)),
        bits(llvm::KnownBits::makeConstant(number)),
        oddSigned(oddPart(number.abs())), oddUnsigned(oddPart(number)) {}
  Facts(ConstantIntRanges range, llvm::KnownBits bits, int64_t oddSigned,
        int64_t oddUnsigned)
      : range(std::move(range)), bits(std::move(bits)), oddSigned(oddSigned),
        oddUnsigned(oddUnsigned) {
    settle();
  }

  unsigned width() const { return bits.getBitWidth(); }
  unsigned lowZeros() const { return bits.countMinTrailingZeros(); }
  bool isNonNegative() const { return !range.smin().isNegative(); }
  std::optional<APInt> constant() const {
    if (bits.isConstant())
      return bits.getConstant();
    return range.getConstantValue();
  }

private:
  /// Lets each kind of knowledge profit from the others.
  void settle() {
    unsigned alike = (range.umin() ^ range.umax()).countl_zero();
    APInt high = APInt::getHighBitsSet(width(), alike);
    bits.Zero |= ~range.umin() & high;
    bits.One |= range.umin() & high;
    // Only what never runs contradicts itself.
    if (bits.hasConflict())
      bits.resetAll();
    if (std::optional<APInt> number = constant())
      *this = Facts(*number);
    else if (isNonNegative())
      oddSigned = oddUnsigned = bothOdd(oddSigned, oddUnsigned);
  }
};

/// What is read of values, each once for each depth: the operands of affine
/// maps may be the same value many times over.
class Reader {
public:
  const Facts &read(Value value, int depth = kDepth);

private:
  Facts readNew(Value value, int depth);
  Facts readArith(Operation *op, int depth);
  Facts readLoop(scf::ForOp loop, int depth);
  Facts readAffine(affine::AffineApplyOp op, int depth);

  std::map<std::pair<void *, int>, Facts> known;
};
} // namespace

static Exact exactSum(const Facts &a, const Facts &b) {
  bool low = false, high = false, top = false;
  (void)a.range.smin().sadd_ov(b.range.smin(), low);
  (void)a.range.smax().sadd_ov(b.range.smax(), high);
  (void)a.range.umax().uadd_ov(b.range.umax(), top);
  return {!low && !high, !top};
}

static Exact exactDifference(const Facts &a, const Facts &b) {
  bool low = false, high = false;
  (void)a.range.smin().ssub_ov(b.range.smax(), low);
  (void)a.range.smax().ssub_ov(b.range.smin(), high);
  return {!low && !high, a.range.umin().uge(b.range.umax())};
}

static Exact exactProduct(const Facts &a, const Facts &b) {
  bool overflows = false;
  for (const APInt &x : {a.range.smin(), a.range.smax()})
    for (const APInt &y : {b.range.smin(), b.range.smax()}) {
      bool here = false;
      (void)x.smul_ov(y, here);
      overflows |= here;
    }
  bool top = false;
  (void)a.range.umax().umul_ov(b.range.umax(), top);
  return {!overflows, !top};
}

static Facts sumOf(const Facts &a, const Facts &b, Exact exact,
                   ConstantIntRanges range, llvm::KnownBits bits) {
  return {std::move(range), std::move(bits),
          exact.asSigned ? std::gcd(a.oddSigned, b.oddSigned) : 1,
          exact.asUnsigned ? std::gcd(a.oddUnsigned, b.oddUnsigned) : 1};
}

static Facts productOf(const Facts &a, const Facts &b, Exact exact,
                       ConstantIntRanges range) {
  return {std::move(range), llvm::KnownBits::mul(a.bits, b.bits),
          exact.asSigned ? timesOdd(a.oddSigned, b.oddSigned) : 1,
          exact.asUnsigned ? timesOdd(a.oddUnsigned, b.oddUnsigned) : 1};
}

/// One of the two, whichever.
static Facts eitherOf(const Facts &a, const Facts &b, ConstantIntRanges range,
                      llvm::KnownBits bits) {
  return {std::move(range), std::move(bits), std::gcd(a.oddSigned, b.oddSigned),
          std::gcd(a.oddUnsigned, b.oddUnsigned)};
}

/// A quotient of `a`, read with a sign or without, by `by`, a magnitude that
/// leaves no remainder or, where `isExact`, is promised to leave none. However
/// it is rounded; where there may be a remainder nothing is known.
static Facts quotientOf(const Facts &a, const APInt &by, bool isSigned,
                        bool isExact, ConstantIntRanges range) {
  llvm::KnownBits bits(a.width());
  int64_t odd = isSigned ? a.oddSigned : a.oddUnsigned;
  unsigned twos = by.countr_zero();
  int64_t oddBy = oddPart(by);
  bool fits = by.lshr(twos).getActiveBits() < 32;
  bool divides = fits && a.lowZeros() >= twos && (odd == 0 || odd % oddBy == 0);
  if (divides || isExact) {
    unsigned left = a.lowZeros() - std::min(a.lowZeros(), twos);
    bits.Zero.setLowBits(left);
    odd = fits ? odd / std::gcd(odd, oddBy) : 1;
  } else {
    odd = 1;
  }
  return {std::move(range), std::move(bits), isSigned ? odd : 1,
          isSigned ? 1 : odd};
}

/// Of as many bits, from a number that is read with a sign or without.
static Facts converted(const Facts &from, unsigned width, bool isSigned,
                       Exact exact = {}) {
  if (width == from.width())
    return from;
  if (width > from.width()) {
    int64_t odd = isSigned ? from.oddSigned : from.oddUnsigned;
    return {isSigned ? intrange::extSIRange(from.range, width)
                     : intrange::extUIRange(from.range, width),
            isSigned ? from.bits.sext(width) : from.bits.zext(width),
            isSigned ? from.oddSigned : odd, isSigned ? 1 : odd};
  }
  exact.asSigned |= from.range.smin().isSignedIntN(width) &&
                    from.range.smax().isSignedIntN(width);
  exact.asUnsigned |= from.range.umax().isIntN(width);
  return {intrange::truncRange(from.range, width), from.bits.trunc(width),
          exact.asSigned ? from.oddSigned : 1,
          exact.asUnsigned ? from.oddUnsigned : 1};
}

/// What is known of the bits in `kept` alone.
static llvm::KnownBits lowBits(llvm::KnownBits bits, const APInt &kept) {
  bits.Zero &= kept;
  bits.One &= kept;
  return bits;
}

/// Upstream's inference of quotients that are not rounded to zero leaves out
/// the one of the lowest number.
static ConstantIntRanges trusted(const Facts &a, ConstantIntRanges inferred) {
  return a.range.smin().isMinSignedValue()
             ? ConstantIntRanges::maxRange(a.width())
             : inferred;
}

/// `a mod by` of affine maps, which is never negative.
static Facts moduloOf(const Facts &a, int64_t by) {
  if (by < 1)
    return Facts(a.width());
  APInt modulus(a.width(), by);
  ConstantIntRanges range =
      ConstantIntRanges::fromUnsigned(APInt::getZero(a.width()), modulus - 1);
  if (a.isNonNegative() && a.range.smax().slt(modulus))
    range = a.range;
  // Below its lowest set bit the modulus takes nothing away.
  APInt kept = APInt::getLowBitsSet(a.width(), modulus.countr_zero());
  int64_t odd = std::gcd(a.oddSigned, oddPart(modulus));
  return {std::move(range), lowBits(a.bits, kept), odd, odd};
}

static Facts readAffineExpr(AffineExpr expr, unsigned dims, ValueRange operands,
                            llvm::function_ref<const Facts &(Value)> read) {
  constexpr unsigned width = IndexType::kInternalStorageBitWidth;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Facts(APInt(width, constant.getValue(), /*isSigned=*/true));
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return read(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return read(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Facts lhs = readAffineExpr(binary.getLHS(), dims, operands, read);
  Facts rhs = readAffineExpr(binary.getRHS(), dims, operands, read);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t by = constant ? constant.getValue() : 0;
  std::array<ConstantIntRanges, 2> ranges{lhs.range, rhs.range};
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return sumOf(lhs, rhs, exactSum(lhs, rhs), intrange::inferAdd(ranges),
                 llvm::KnownBits::add(lhs.bits, rhs.bits));
  case AffineExprKind::Mul:
    return productOf(lhs, rhs, exactProduct(lhs, rhs),
                     intrange::inferMul(ranges));
  case AffineExprKind::Mod:
    return moduloOf(lhs, by);
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (by < 1)
      return Facts(width);
    return quotientOf(lhs, APInt(width, by), /*isSigned=*/true,
                      /*isExact=*/false,
                      trusted(lhs, expr.getKind() == AffineExprKind::FloorDiv
                                       ? intrange::inferFloorDivS(ranges)
                                       : intrange::inferCeilDivS(ranges)));
  default:
    return Facts(width);
  }
}

Facts Reader::readAffine(affine::AffineApplyOp op, int depth) {
  return readAffineExpr(
      op.getAffineMap().getResult(0), op.getAffineMap().getNumDims(),
      op.getMapOperands(),
      [&](Value value) -> const Facts & { return read(value, depth); });
}

static scf::ForOp loopOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

/// The induction variable: the lower bound and any number of steps, below the
/// upper bound.
Facts Reader::readLoop(scf::ForOp loop, int depth) {
  Facts lower = read(loop.getLowerBound(), depth);
  Facts upper = read(loop.getUpperBound(), depth);
  Facts step = read(loop.getStep(), depth);
  unsigned width = lower.width();
  // Steps leave alone what is below their lowest set bit.
  APInt kept = APInt::getLowBitsSet(width, step.lowZeros());
  llvm::KnownBits bits = lowBits(lower.bits, kept);
  bool isUnsigned = loop.getUnsignedCmp();
  APInt first = isUnsigned ? lower.range.umin() : lower.range.smin();
  APInt last = isUnsigned ? upper.range.umax() : upper.range.smax();
  APInt mostStep = isUnsigned ? step.range.umax() : step.range.smax();
  bool isEmpty = isUnsigned ? last.ule(first) : last.sle(first);
  bool wraps = false;
  if (!isEmpty) {
    --last;
    (void)(isUnsigned ? last.uadd_ov(mostStep, wraps)
                      : last.sadd_ov(mostStep, wraps));
  }
  // Beyond its type a loop would start again from below.
  if (isEmpty || wraps ||
      (!isUnsigned && !step.range.smin().isStrictlyPositive()))
    return {ConstantIntRanges::maxRange(width), bits, 1, 1};
  std::optional<APInt> by = step.constant();
  if (by && lower.constant())
    last -= (last - first).urem(*by);
  return {isUnsigned ? ConstantIntRanges::fromUnsigned(first, last)
                     : ConstantIntRanges::fromSigned(first, last),
          bits, isUnsigned ? 1 : std::gcd(lower.oddSigned, step.oddSigned),
          isUnsigned ? std::gcd(lower.oddUnsigned, step.oddUnsigned) : 1};
}

/// The result of an operation on integers. Upstream's inference says between
/// what it lies.
Facts Reader::readArith(Operation *op, int depth) {
  unsigned width = widthOf(op->getResult(0).getType());
  std::optional<ConstantIntRanges> inferred;
  SmallVector<Facts, 3> operands;
  SmallVector<ConstantIntRanges, 3> ranges;
  for (Value operand : op->getOperands()) {
    if (widthOf(operand.getType()) == 0)
      return Facts(width);
    operands.push_back(read(operand, depth));
    ranges.push_back(operands.back().range);
  }
  if (auto infers = dyn_cast<InferIntRangeInterface>(op))
    infers.inferResultRanges(
        ranges,
        [&](Value, const ConstantIntRanges &range) { inferred = range; });
  ConstantIntRanges range =
      inferred.value_or(ConstantIntRanges::maxRange(width));
  if (isa<arith::CeilDivSIOp, arith::FloorDivSIOp>(op))
    range = trusted(operands[0], range);
  if (operands.empty())
    return Facts(range, llvm::KnownBits(width), 1, 1);
  const Facts &a = operands[0], &b = operands[operands.size() > 1 ? 1 : 0];
  auto promised = [&](Exact exact) {
    if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op)) {
      exact.asSigned |= flags.hasNoSignedWrap();
      exact.asUnsigned |= flags.hasNoUnsignedWrap();
    }
    return exact;
  };
  bool isExact =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<arith::DivUIOp, arith::DivSIOp, arith::ShRUIOp, arith::ShRSIOp>(
              [](auto divides) { return divides.getIsExact(); })
          .Default(false);
  auto quotient = [&](bool isSigned) {
    std::optional<APInt> by = b.constant();
    if (!by || by->isZero())
      return Facts(range, llvm::KnownBits(width), 1, 1);
    return quotientOf(a, isSigned ? by->abs() : *by, isSigned, isExact, range);
  };
  using llvm::KnownBits;
  return llvm::TypeSwitch<Operation *, Facts>(op)
      .Case([&](arith::AddIOp) {
        return sumOf(a, b, promised(exactSum(a, b)), range,
                     KnownBits::add(a.bits, b.bits));
      })
      .Case([&](arith::SubIOp) {
        return sumOf(a, b, promised(exactDifference(a, b)), range,
                     KnownBits::sub(a.bits, b.bits));
      })
      .Case([&](arith::MulIOp) {
        return productOf(a, b, promised(exactProduct(a, b)), range);
      })
      .Case([&](arith::ShLIOp) {
        uint64_t most = b.range.umax().getLimitedValue(width);
        if (most >= width)
          return Facts(range, KnownBits::shl(a.bits, b.bits), 1, 1);
        bool low = false, high = false, top = false;
        (void)a.range.smin().sshl_ov(most, low);
        (void)a.range.smax().sshl_ov(most, high);
        (void)a.range.umax().ushl_ov(most, top);
        Exact exact = promised({!low && !high, !top});
        return Facts(range, KnownBits::shl(a.bits, b.bits),
                     exact.asSigned ? a.oddSigned : 1,
                     exact.asUnsigned ? a.oddUnsigned : 1);
      })
      .Case<arith::ShRUIOp, arith::ShRSIOp>([&](Operation *) {
        bool isSigned = isa<arith::ShRSIOp>(op);
        bool keepsOdd =
            isExact || b.range.umax().getLimitedValue(width) <= a.lowZeros();
        KnownBits bits = isSigned ? KnownBits::ashr(a.bits, b.bits)
                                  : KnownBits::lshr(a.bits, b.bits);
        return Facts(range, bits, keepsOdd && isSigned ? a.oddSigned : 1,
                     keepsOdd && !isSigned ? a.oddUnsigned : 1);
      })
      .Case<arith::DivUIOp, arith::CeilDivUIOp>(
          [&](Operation *) { return quotient(/*isSigned=*/false); })
      .Case<arith::DivSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(
          [&](Operation *) { return quotient(/*isSigned=*/true); })
      .Case([&](arith::RemUIOp) {
        return Facts(range, KnownBits::urem(a.bits, b.bits), 1,
                     std::gcd(a.oddUnsigned, b.oddUnsigned));
      })
      .Case([&](arith::RemSIOp) {
        return Facts(range, KnownBits::srem(a.bits, b.bits),
                     std::gcd(a.oddSigned, b.oddSigned), 1);
      })
      .Case([&](arith::AndIOp) {
        // A mask that takes nothing away leaves the odd divisors alone.
        auto keeps = [](const Facts &all, const Facts &mask) {
          return (all.bits.Zero | mask.bits.One).isAllOnes();
        };
        const Facts *whole = keeps(a, b) ? &a : keeps(b, a) ? &b : nullptr;
        return Facts(range, a.bits & b.bits, whole ? whole->oddSigned : 1,
                     whole ? whole->oddUnsigned : 1);
      })
      .Case<arith::OrIOp, arith::XOrIOp>([&](Operation *) {
        // Without a common bit they add, and nothing carries.
        bool adds = KnownBits::haveNoCommonBitsSet(a.bits, b.bits);
        return sumOf(a, b, {adds, adds}, range,
                     isa<arith::OrIOp>(op) ? a.bits | b.bits : a.bits ^ b.bits);
      })
      .Case([&](arith::MinUIOp) {
        return eitherOf(a, b, range, KnownBits::umin(a.bits, b.bits));
      })
      .Case([&](arith::MaxUIOp) {
        return eitherOf(a, b, range, KnownBits::umax(a.bits, b.bits));
      })
      .Case([&](arith::MinSIOp) {
        return eitherOf(a, b, range, KnownBits::smin(a.bits, b.bits));
      })
      .Case([&](arith::MaxSIOp) {
        return eitherOf(a, b, range, KnownBits::smax(a.bits, b.bits));
      })
      .Case([&](arith::SelectOp) {
        const Facts &c = operands[2];
        return eitherOf(b, c, range, b.bits.intersectWith(c.bits));
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp>(
          [&](Operation *) { return converted(a, width, /*isSigned=*/true); })
      .Case<arith::IndexCastUIOp, arith::ExtUIOp>(
          [&](Operation *) { return converted(a, width, /*isSigned=*/false); })
      .Case([&](arith::TruncIOp) {
        return converted(a, width, /*isSigned=*/true, promised({}));
      })
      .Default(
          [&](Operation *) { return Facts(range, KnownBits(width), 1, 1); });
}

/// A size or a number of the launch, where the kernel or the op says what it is
/// below.
static Facts factsOfId(Operation *op,
                       std::optional<Extents> KernelSizes::*sizes,
                       gpu::Dimension dimension,
                       const std::optional<APInt> &upperBound, bool isSize) {
  constexpr unsigned width = IndexType::kInternalStorageBitWidth;
  int64_t extent = 0;
  if (auto func = op->getParentOfType<gpu::GPUFuncOp>())
    if (std::optional<Extents> known = promisedSizes(func).*sizes)
      extent = (*known)[static_cast<unsigned>(dimension)];
  if (isSize)
    return extent < 1 ? Facts(width) : Facts(APInt(width, extent));
  if (upperBound)
    extent = upperBound->getSExtValue();
  if (extent < 1)
    return Facts(width);
  return {ConstantIntRanges::fromUnsigned(APInt::getZero(width),
                                          APInt(width, extent - 1)),
          llvm::KnownBits(width), 1, 1};
}

static std::optional<Facts> readLaunch(Operation *op) {
  constexpr auto block = &KernelSizes::block, grid = &KernelSizes::grid,
                 cluster = &KernelSizes::cluster;
  using Result = std::optional<Facts>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](gpu::ThreadIdOp id) -> Result {
        return factsOfId(id, block, id.getDimension(), id.getUpperBound(),
                         false);
      })
      .Case([&](gpu::BlockIdOp id) -> Result {
        return factsOfId(id, grid, id.getDimension(), id.getUpperBound(),
                         false);
      })
      .Case([&](gpu::ClusterBlockIdOp id) -> Result {
        return factsOfId(id, cluster, id.getDimension(), id.getUpperBound(),
                         false);
      })
      .Case([&](gpu::BlockDimOp size) -> Result {
        return factsOfId(size, block, size.getDimension(), {}, true);
      })
      .Case([&](gpu::GridDimOp size) -> Result {
        return factsOfId(size, grid, size.getDimension(), {}, true);
      })
      .Case([&](gpu::ClusterDimBlocksOp size) -> Result {
        return factsOfId(size, cluster, size.getDimension(), {}, true);
      })
      .Case([&](gpu::LaneIdOp) -> Result {
        constexpr unsigned width = IndexType::kInternalStorageBitWidth;
        return Facts(ConstantIntRanges::fromUnsigned(APInt::getZero(width),
                                                     APInt(width, 31)),
                     llvm::KnownBits(width), 1, 1);
      })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

const Facts &Reader::read(Value value, int depth) {
  std::pair<void *, int> key{value.getAsOpaquePointer(), depth};
  auto found = known.find(key);
  if (found == known.end())
    found = known.emplace(key, readNew(value, depth)).first;
  return found->second;
}

Facts Reader::readNew(Value value, int depth) {
  unsigned width = widthOf(value.getType());
  IntegerAttr number;
  if (matchPattern(value, m_Constant(&number)))
    return Facts(number.getValue());
  if (depth == 0)
    return Facts(width);
  if (scf::ForOp loop = loopOf(value))
    return readLoop(loop, depth - 1);
  Operation *op = value.getDefiningOp();
  if (!op)
    return Facts(width);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return readAffine(apply, depth - 1);
  if (auto assume = dyn_cast<AssumeMultipleOp>(op)) {
    const Facts &from = read(assume.getValue(), depth - 1);
    uint64_t divisor = assume.getDivisor();
    llvm::KnownBits bits = from.bits;
    bits.Zero.setLowBits(std::min(llvm::countr_zero(divisor), int(width)));
    return {from.range, bits,
            bothOdd(from.oddSigned, oddPart(APInt(64, divisor))),
            from.oddUnsigned};
  }
  if (std::optional<Facts> launch = readLaunch(op))
    return *launch;
  if (isa_and_nonnull<arith::ArithDialect>(op->getDialect()) &&
      op->getNumResults() == 1)
    return readArith(op, depth - 1);
  return Facts(width);
}

/// Facts of a number; nothing of another type.
static std::optional<Facts> factsOf(Value value) {
  if (widthOf(value.getType()) == 0)
    return std::nullopt;
  return Reader().read(value);
}

int64_t tile::divisorOf(Value value) {
  std::optional<Facts> facts = factsOf(value);
  if (!facts)
    return 1;
  if (facts->oddSigned == 0)
    return 0;
  return clampDivisor((int64_t(1) << std::min(facts->lowZeros(), 31u)) *
                      facts->oddSigned);
}

std::optional<Interval> tile::rangeOf(Value value) {
  std::optional<Facts> facts = factsOf(value);
  if (!facts || !facts->range.smin().isSignedIntN(64) ||
      !facts->range.smax().isSignedIntN(64))
    return std::nullopt;
  Interval range{facts->range.smin().getSExtValue(),
                 facts->range.smax().getSExtValue()};
  if (range.lowest == INT64_MIN && range.highest == INT64_MAX)
    return std::nullopt;
  return range;
}

Congruence tile::congruenceOf(Value value) {
  std::optional<Facts> facts = factsOf(value);
  if (!facts)
    return {1, 0};
  unsigned known = (facts->bits.Zero | facts->bits.One).countr_one();
  unsigned bits = std::min(known, 31u);
  return {int64_t(1) << bits,
          int64_t(facts->bits.One.getLoBits(bits).getZExtValue())};
}

/// Whether `value` is made of what counts loops or threads.
static bool countsSomething(Value value, int depth) {
  if (loopOf(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<gpu::ThreadIdOp, gpu::BlockIdOp, gpu::ClusterBlockIdOp,
          gpu::LaneIdOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect, affine::AffineDialect>(
             op->getDialect()) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return countsSomething(operand, depth - 1);
         });
}

bool tile::mayPromise(Value value, int64_t divisor) {
  if (countsSomething(value, 6))
    return false;
  Congruence known = congruenceOf(value);
  if (known.residue % std::min(known.modulus, divisor & -divisor) != 0)
    return false;
  std::optional<Interval> range = rangeOf(value);
  if (!range || (range->lowest <= 0 && range->highest >= 0))
    return true;
  return range->lowest > 0 ? range->highest >= divisor
                           : range->lowest <= -divisor;
}

std::string tile::nameOf(Value value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.printAsOperand(stream, OpPrintingFlags());
  return text;
}

static std::string expressionOf(Value value, int depth) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return std::to_string(*constant);
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return nameOf(value);
  auto operand = [&](unsigned index) {
    return expressionOf(op->getOperand(index), depth - 1);
  };
  auto factor = [&](unsigned index) {
    std::string text = operand(index);
    return text.find(' ') == std::string::npos ? text : '(' + text + ')';
  };
  if (isa<arith::MulIOp>(op))
    return factor(0) + " * " + factor(1);
  if (isa<arith::AddIOp>(op))
    return operand(0) + " + " + operand(1);
  if (isa<arith::SubIOp>(op))
    return operand(0) + " - " + factor(1);
  if (isa<arith::ShLIOp>(op))
    return factor(0) + " << " + factor(1);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp>(op))
    return operand(0);
  return nameOf(value);
}

std::string tile::expressionOf(Value value) { return ::expressionOf(value, 6); }
