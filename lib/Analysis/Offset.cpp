// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Offset.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;

void Offset::add(const Offset &other) {
  overflowed |= other.overflowed;
  overflowed |= llvm::AddOverflow(known, other.known, known) != 0;
  llvm::append_range(terms, other.terms);
}

void Offset::add(OpFoldResult value, int64_t factor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    int64_t product = 0;
    overflowed |= llvm::MulOverflow(*constant, factor, product) != 0;
    overflowed |= llvm::AddOverflow(known, product, known) != 0;
  } else if (factor != 0) {
    terms.push_back({cast<Value>(value), factor});
  }
}

Offset Offset::times(int64_t factor) const {
  Offset result;
  result.overflowed = overflowed;
  result.overflowed |= llvm::MulOverflow(known, factor, result.known) != 0;
  for (Term term : terms) {
    int64_t product = 0;
    result.overflowed |= llvm::MulOverflow(term.factor, factor, product) != 0;
    result.terms.push_back({term.value, product});
  }
  return result;
}

/// A divisor beyond 2^32 proves nothing that is asked, and products of smaller
/// ones fit 64 bits.
static constexpr int64_t kLargestDivisor = int64_t(1) << 31;

static int64_t clampDivisor(int64_t divisor) {
  // Powers of two are what alignment asks for; of a large divisor, only they
  // are kept.
  if (divisor <= kLargestDivisor)
    return divisor;
  return std::min<int64_t>(kLargestDivisor, divisor & -divisor);
}

/// A number that divides `value`; 0 for the constant 0, which everything
/// divides.
static int64_t divisorOf(Value value, int depth) {
  IntegerAttr constant;
  if (matchPattern(value, m_Constant(&constant))) {
    int64_t number = constant.getInt();
    return number == INT64_MIN ? kLargestDivisor
                               : clampDivisor(std::abs(number));
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return 1;
  auto operand = [&](unsigned index) {
    return divisorOf(op->getOperand(index), depth - 1);
  };
  // Wrapping keeps divisibility by powers of two only; `index` and the integers
  // that become offsets are taken not to wrap, as everywhere in addressing.
  if (isa<arith::MulIOp>(op))
    return clampDivisor(operand(0) * operand(1));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(operand(0), operand(1));
  if (isa<arith::ShLIOp>(op) &&
      matchPattern(op->getOperand(1), m_Constant(&constant)) &&
      constant.getValue().ult(31))
    return clampDivisor(operand(0) << constant.getInt());
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
          arith::ExtUIOp>(op))
    return operand(0);
  return 1;
}

int64_t tile::runtimeDivisor(const Offset &offset) {
  int64_t divisor = 0;
  for (Offset::Term term : offset.terms) {
    int64_t factor =
        term.factor == INT64_MIN ? kLargestDivisor : std::abs(term.factor);
    divisor = std::gcd(divisor, clampDivisor(clampDivisor(factor) *
                                             divisorOf(term.value, 16)));
  }
  return divisor;
}
