// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Offset.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
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
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    addKnown(*constant, factor);
  else if (factor != 0)
    terms.push_back({cast<Value>(value), factor, 0, {}, {}});
}

void Offset::addKnown(int64_t number, int64_t factor) {
  int64_t product = 0;
  overflowed |= llvm::MulOverflow(number, factor, product) != 0;
  overflowed |= llvm::AddOverflow(known, product, known) != 0;
}

Offset Offset::times(int64_t factor) const {
  Offset result;
  result.overflowed = overflowed;
  result.overflowed |= llvm::MulOverflow(known, factor, result.known) != 0;
  for (const Term &term : terms) {
    int64_t product = 0;
    result.overflowed |= llvm::MulOverflow(term.factor, factor, product) != 0;
    result.terms.push_back(term);
    result.terms.back().factor = product;
  }
  return result;
}

int64_t tile::runtimeDivisor(const Offset &offset) {
  int64_t divisor = 0;
  for (const Offset::Term &term : offset.terms) {
    int64_t own = term.divisor ? term.divisor : divisorOf(term.value);
    divisor = std::gcd(divisor, multiplyDivisors(term.factor, own));
  }
  return divisor;
}

Congruence tile::runtimeCongruence(const Offset &offset) {
  Congruence sum{0, 0};
  for (const Offset::Term &term : offset.terms) {
    Congruence own = term.divisor ? Congruence{term.divisor & -term.divisor, 0}
                                  : congruenceOf(term.value);
    int64_t modulus = multiplyDivisors(own.modulus, term.factor);
    modulus &= -modulus;
    // Both numbers are below 2^31, so that nothing here overflows.
    int64_t factor = (term.factor % modulus + modulus) % modulus;
    sum.residue += own.residue * factor % modulus;
    sum.modulus = std::gcd(sum.modulus, modulus);
    sum.residue %= sum.modulus;
  }
  return sum;
}

std::optional<layout::Range> tile::runtimeRange(const Offset &offset) {
  layout::Range sum{0, 0};
  for (const Offset::Term &term : offset.terms) {
    std::optional<layout::Range> range =
        term.divisor ? term.range : rangeOf(term.value);
    int64_t low = 0, high = 0;
    if (!range || llvm::MulOverflow(range->lowest, term.factor, low) ||
        llvm::MulOverflow(range->highest, term.factor, high) ||
        llvm::AddOverflow(sum.lowest, std::min(low, high), sum.lowest) ||
        llvm::AddOverflow(sum.highest, std::max(low, high), sum.highest))
      return std::nullopt;
  }
  return sum;
}

std::optional<layout::Range> tile::rangeOfOffset(const Offset &offset) {
  std::optional<layout::Range> range = runtimeRange(offset);
  if (!range || offset.overflowed ||
      llvm::AddOverflow(range->lowest, offset.known, range->lowest) ||
      llvm::AddOverflow(range->highest, offset.known, range->highest))
    return std::nullopt;
  return range;
}

std::string tile::runtimeExpression(const Offset &offset) {
  std::string text;
  for (const Offset::Term &term : offset.terms) {
    if (!text.empty())
      text += " + ";
    std::string value = expressionOf(term.value);
    if (term.strideOf) {
      text += "(" + value + ") * the stride of dimension " +
              std::to_string(*term.strideOf);
      continue;
    }
    bool isSum = value.find(' ') != std::string::npos;
    if (term.factor != 1)
      text += std::to_string(term.factor) + " * ";
    text += term.factor != 1 && isSum ? '(' + value + ')' : value;
  }
  return text;
}

std::string tile::offsetExpression(const Offset &offset) {
  std::string text = runtimeExpression(offset);
  if (offset.known != 0)
    text += " + " + std::to_string(offset.known);
  return text;
}

bool tile::sameRuntimePart(const Offset &a, const Offset &b) {
  return llvm::equal(a.terms, b.terms, [](const auto &x, const auto &y) {
    return x.value == y.value && x.factor == y.factor &&
           x.divisor == y.divisor && x.digits == y.digits &&
           x.strideOf == y.strideOf;
  });
}
