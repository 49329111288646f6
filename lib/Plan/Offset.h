// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An offset as far as it is known: a number, and run-time values times numbers.
#ifndef TILE_PLAN_OFFSET_H
#define TILE_PLAN_OFFSET_H

#include "lib/Facts/ValueFacts.h"
#include "lib/Layout/Layout.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

namespace tile {

/// `known + sum of value * factor` over the terms.
struct Offset {
  struct Term {
    mlir::Value value;
    int64_t factor;
    /// Where not the value itself is multiplied but what a nested mode makes of
    /// its digits: what divides that, and what it lies between. 0 for the value
    /// itself.
    int64_t divisor = 0;
    std::optional<layout::Range> range;
    /// Tells apart what different modes make of one value.
    llvm::SmallVector<int64_t, 6> digits = {};
    /// Where the value is multiplied by a stride that only the run time knows:
    /// the dimension that has it.
    std::optional<unsigned> strideOf = std::nullopt;
  };
  int64_t known = 0;
  llvm::SmallVector<Term, 2> terms;
  /// Whether the arithmetic left 64 bits; the offset then says nothing.
  bool overflowed = false;

  bool isStatic() const { return terms.empty() && !overflowed; }
  void add(const Offset &other);
  void add(mlir::OpFoldResult value, int64_t factor);
  void addKnown(int64_t number, int64_t factor);
  Offset times(int64_t factor) const;
};

/// A number that surely divides the run-time part of `offset` in every
/// execution; 0 if there is no run-time part, and at least 1 otherwise.
int64_t runtimeDivisor(const Offset &offset);

/// What the run-time part of `offset` leaves in every execution when a power of
/// two divides it; a modulus of 0 if there is no run-time part.
Congruence runtimeCongruence(const Offset &offset);

/// What the run-time part of `offset` lies between, where that is known.
std::optional<layout::Range> runtimeRange(const Offset &offset);

/// What `offset` lies between, where that is known.
std::optional<layout::Range> rangeOfOffset(const Offset &offset);

/// The run-time part of `offset`, as far as it is understood, for people.
std::string runtimeExpression(const Offset &offset);

/// The same with the known part.
std::string offsetExpression(const Offset &offset);

/// Whether the run-time parts are surely the same number.
bool sameRuntimePart(const Offset &a, const Offset &b);

} // namespace tile

#endif // TILE_PLAN_OFFSET_H
