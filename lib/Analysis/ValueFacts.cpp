// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/ValueFacts.h"

#include "dialect/TileDialect.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;
using Interval = layout::Range;

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

std::optional<std::array<int64_t, 3>> tile::knownExtents(Operation *kernel,
                                                         StringRef name) {
  auto attr = kernel->getAttrOfType<DenseI32ArrayAttr>(name);
  if (!attr || attr.size() > 3 ||
      llvm::any_of(attr.asArrayRef(), [](int32_t size) { return size < 1; }))
    return std::nullopt;
  std::array<int64_t, 3> sizes{1, 1, 1};
  llvm::copy(attr.asArrayRef(), sizes.begin());
  return sizes;
}

namespace {
/// What is read of values, each once for each depth: the operands of affine
/// maps may be the same value many times over.
class Reader {
public:
  int64_t divisorOf(Value value, int depth);
  std::optional<Interval> rangeOf(Value value, int depth);

private:
  int64_t readDivisor(Value value, int depth);
  std::optional<Interval> readRange(Value value, int depth);
  int64_t divisorOfAffine(affine::AffineApplyOp op, int depth);
  std::optional<Interval> rangeOfAffine(affine::AffineApplyOp op, int depth);
  std::optional<Interval> rangeOfLoop(scf::ForOp loop, int depth);

  llvm::DenseMap<std::pair<Value, int>, int64_t> divisors;
  llvm::DenseMap<std::pair<Value, int>, std::optional<Interval>> ranges;
};
} // namespace

/// What an affine expression is made of, seen as values.
template <typename Result>
static Result visitAffine(
    AffineExpr expr, unsigned dims, ValueRange operands,
    llvm::function_ref<Result(Value)> ofValue,
    llvm::function_ref<Result(int64_t)> ofConstant,
    llvm::function_ref<Result(AffineExprKind, Result, Result, AffineExpr)>
        combine) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ofConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return ofValue(operands[dim.getPosition()]);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return ofValue(operands[dims + symbol.getPosition()]);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto part = [&](AffineExpr side) {
    return visitAffine<Result>(side, dims, operands, ofValue, ofConstant,
                               combine);
  };
  return combine(expr.getKind(), part(binary.getLHS()), part(binary.getRHS()),
                 binary.getRHS());
}

int64_t Reader::divisorOfAffine(affine::AffineApplyOp op, int depth) {
  return visitAffine<int64_t>(
      op.getAffineMap().getResult(0), op.getAffineMap().getNumDims(),
      op.getMapOperands(), [&](Value value) { return divisorOf(value, depth); },
      [](int64_t constant) { return magnitude(constant); },
      [](AffineExprKind kind, int64_t lhs, int64_t rhs, AffineExpr rhsExpr) {
        auto constant = dyn_cast<AffineConstantExpr>(rhsExpr);
        int64_t by = constant ? constant.getValue() : 0;
        switch (kind) {
        case AffineExprKind::Mul:
          return multiplyDivisors(lhs, rhs);
        case AffineExprKind::Add:
          return std::gcd(lhs, rhs);
        case AffineExprKind::Mod:
          // x mod n keeps what divides both x and n.
          return by > 0 ? std::gcd(lhs, by) : int64_t(1);
        case AffineExprKind::FloorDiv:
        case AffineExprKind::CeilDiv:
          return by > 0 && lhs % by == 0 ? lhs / by : int64_t(1);
        default:
          return int64_t(1);
        }
      });
}

static scf::ForOp loopOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return {};
  auto loop = dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp());
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

int64_t Reader::divisorOf(Value value, int depth) {
  auto known = divisors.find({value, depth});
  if (known != divisors.end())
    return known->second;
  int64_t divisor = readDivisor(value, depth);
  divisors[{value, depth}] = divisor;
  return divisor;
}

int64_t Reader::readDivisor(Value value, int depth) {
  if (std::optional<int64_t> constant = constantOf(value))
    return magnitude(*constant);
  if (depth == 0)
    return 1;
  if (scf::ForOp loop = loopOf(value))
    return std::gcd(divisorOf(loop.getLowerBound(), depth - 1),
                    divisorOf(loop.getStep(), depth - 1));
  Operation *op = value.getDefiningOp();
  if (!op)
    return 1;
  auto operand = [&](unsigned index) {
    return divisorOf(op->getOperand(index), depth - 1);
  };
  if (isa<arith::MulIOp>(op))
    return multiplyDivisors(operand(0), operand(1));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(operand(0), operand(1));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return std::gcd(divisorOf(select.getTrueValue(), depth - 1),
                    divisorOf(select.getFalseValue(), depth - 1));
  if (isa<arith::ShLIOp>(op))
    if (std::optional<int64_t> by = constantOf(op->getOperand(1));
        by && *by >= 0 && *by < 31)
      return clampDivisor(operand(0) << *by);
  // What is less than zero is 2^n more to whoever takes it for unsigned, of
  // which odd numbers do not divide that.
  auto unsignedOperand = [&](unsigned index) {
    std::optional<Interval> range = rangeOf(op->getOperand(index), depth - 1);
    int64_t divisor = operand(index);
    return range && range->lowest >= 0 ? divisor : divisor & -divisor;
  };
  if (isa<arith::RemSIOp>(op))
    return std::gcd(operand(0), operand(1));
  if (isa<arith::RemUIOp>(op))
    return std::gcd(unsignedOperand(0), unsignedOperand(1));
  if (isa<arith::DivUIOp, arith::DivSIOp>(op)) {
    int64_t by = constantOf(op->getOperand(1)).value_or(0);
    int64_t from = isa<arith::DivUIOp>(op) ? unsignedOperand(0) : operand(0);
    return by > 0 && from % by == 0 ? from / by : 1;
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp>(op))
    return operand(0);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op))
    return unsignedOperand(0);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return divisorOfAffine(apply, depth - 1);
  if (auto assume = dyn_cast<AssumeMultipleOp>(op)) {
    int64_t inner = operand(0), own = magnitude(assume.getDivisor());
    return inner == 0 ? 0 : clampDivisor(std::lcm(inner, own));
  }
  return 1;
}

int64_t tile::divisorOf(Value value) {
  return Reader().divisorOf(value, kDepth);
}

static std::optional<Interval> add(std::optional<Interval> a,
                                   std::optional<Interval> b) {
  Interval sum{};
  if (!a || !b || llvm::AddOverflow(a->lowest, b->lowest, sum.lowest) ||
      llvm::AddOverflow(a->highest, b->highest, sum.highest))
    return std::nullopt;
  return sum;
}

static std::optional<Interval> multiply(std::optional<Interval> a,
                                        std::optional<Interval> b) {
  if (!a || !b)
    return std::nullopt;
  Interval result{INT64_MAX, INT64_MIN};
  for (int64_t x : {a->lowest, a->highest})
    for (int64_t y : {b->lowest, b->highest}) {
      int64_t product = 0;
      if (llvm::MulOverflow(x, y, product))
        return std::nullopt;
      result.lowest = std::min(result.lowest, product);
      result.highest = std::max(result.highest, product);
    }
  return result;
}

/// Division by a positive constant, of numbers that are not negative: there all
/// kinds of it agree.
static std::optional<Interval> divide(std::optional<Interval> a, int64_t by) {
  if (!a || a->lowest < 0 || by < 1)
    return std::nullopt;
  return Interval{a->lowest / by, a->highest / by};
}

static std::optional<Interval> modulo(std::optional<Interval> a, int64_t by) {
  if (by < 1)
    return std::nullopt;
  if (a && a->lowest >= 0 && a->highest < by)
    return a;
  return Interval{0, by - 1};
}

std::optional<Interval> Reader::rangeOfAffine(affine::AffineApplyOp op,
                                              int depth) {
  using Maybe = std::optional<Interval>;
  return visitAffine<Maybe>(
      op.getAffineMap().getResult(0), op.getAffineMap().getNumDims(),
      op.getMapOperands(), [&](Value value) { return rangeOf(value, depth); },
      [](int64_t constant) { return Maybe(Interval{constant, constant}); },
      [](AffineExprKind kind, Maybe lhs, Maybe rhs, AffineExpr rhsExpr) {
        auto constant = dyn_cast<AffineConstantExpr>(rhsExpr);
        int64_t by = constant ? constant.getValue() : 0;
        switch (kind) {
        case AffineExprKind::Mul:
          return multiply(lhs, rhs);
        case AffineExprKind::Add:
          return add(lhs, rhs);
        case AffineExprKind::Mod:
          return modulo(lhs, by);
        case AffineExprKind::FloorDiv:
          return divide(lhs, by);
        default:
          return Maybe();
        }
      });
}

/// The extent of the block or the cluster in one dimension, where the kernel
/// says it.
static std::optional<Interval>
rangeOfId(Operation *op, StringRef sizes, gpu::Dimension dimension,
          std::optional<llvm::APInt> upperBound) {
  int64_t extent = 0;
  if (auto func = op->getParentOfType<gpu::GPUFuncOp>())
    if (auto known = knownExtents(func, sizes))
      extent = (*known)[static_cast<unsigned>(dimension)];
  if (upperBound)
    extent = upperBound->getSExtValue();
  if (extent < 1)
    return std::nullopt;
  return Interval{0, extent - 1};
}

std::optional<Interval> Reader::rangeOfLoop(scf::ForOp loop, int depth) {
  std::optional<Interval> lower = rangeOf(loop.getLowerBound(), depth);
  std::optional<Interval> upper = rangeOf(loop.getUpperBound(), depth);
  std::optional<int64_t> step = constantOf(loop.getStep());
  if (!lower || !upper || upper->highest <= lower->lowest)
    return std::nullopt;
  int64_t last = upper->highest - 1, distance = 0;
  if (step && *step > 0 && lower->lowest == lower->highest &&
      !llvm::SubOverflow(last, lower->lowest, distance))
    last -= distance % *step;
  return Interval{lower->lowest, last};
}

/// Whether the type of `value` has the numbers; the index type counts as 64
/// bits.
static bool holds(Value value, Interval range) {
  auto type = dyn_cast<IntegerType>(value.getType());
  return !type || type.getWidth() >= 64 ||
         (llvm::isIntN(type.getWidth(), range.lowest) &&
          llvm::isIntN(type.getWidth(), range.highest));
}

std::optional<Interval> Reader::rangeOf(Value value, int depth) {
  auto known = ranges.find({value, depth});
  if (known != ranges.end())
    return known->second;
  std::optional<Interval> range = readRange(value, depth);
  if (range && !holds(value, *range))
    range = std::nullopt;
  ranges[{value, depth}] = range;
  return range;
}

std::optional<Interval> Reader::readRange(Value value, int depth) {
  if (std::optional<int64_t> constant = constantOf(value))
    return Interval{*constant, *constant};
  if (depth == 0)
    return std::nullopt;
  if (scf::ForOp loop = loopOf(value))
    return rangeOfLoop(loop, depth - 1);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto operand = [&](unsigned index) {
    return rangeOf(op->getOperand(index), depth - 1);
  };
  auto constantOperand = [&]() -> int64_t {
    return constantOf(op->getOperand(1)).value_or(0);
  };
  if (isa<arith::MulIOp>(op))
    return multiply(operand(0), operand(1));
  if (isa<arith::AddIOp>(op))
    return add(operand(0), operand(1));
  if (isa<arith::SubIOp>(op))
    return add(operand(0), multiply(operand(1), Interval{-1, -1}));
  if (isa<arith::ShLIOp>(op)) {
    int64_t by = constantOf(op->getOperand(1)).value_or(-1);
    if (by < 0 || by > 30)
      return std::nullopt;
    int64_t factor = int64_t(1) << by;
    return multiply(operand(0), Interval{factor, factor});
  }
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return divide(operand(0), constantOperand());
  if (isa<arith::RemUIOp>(op))
    return modulo(operand(0), constantOperand());
  if (isa<arith::IndexCastOp, arith::ExtSIOp, AssumeMultipleOp>(op))
    return operand(0);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op)) {
    std::optional<Interval> range = operand(0);
    return range && range->lowest >= 0 ? range : std::nullopt;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return rangeOfAffine(apply, depth - 1);
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return rangeOfId(op, "known_block_size", id.getDimension(),
                     id.getUpperBound());
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return rangeOfId(op, "known_grid_size", id.getDimension(),
                     id.getUpperBound());
  if (auto id = dyn_cast<gpu::ClusterBlockIdOp>(op))
    return rangeOfId(op, "known_cluster_size", id.getDimension(),
                     id.getUpperBound());
  if (auto id = dyn_cast<gpu::LaneIdOp>(op))
    return Interval{0, 31};
  return std::nullopt;
}

std::optional<Interval> tile::rangeOf(Value value) {
  return Reader().rangeOf(value, kDepth);
}

static std::string nameOf(Value value) {
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
