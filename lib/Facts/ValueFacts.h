// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is sure about a run-time number: what divides it, what it lies between,
// how it was made.
#ifndef TILE_FACTS_VALUE_FACTS_H
#define TILE_FACTS_VALUE_FACTS_H

#include "lib/Layout/Layout.h"

#include "mlir/IR/Value.h"

#include <string>

namespace tile {

/// A divisor beyond 2^31 proves nothing that is asked, and products of smaller
/// ones fit 64 bits.
constexpr int64_t kLargestDivisor = int64_t(1) << 31;

/// The divisor itself, or of a large one its powers of two, which are what
/// alignment asks for.
int64_t clampDivisor(int64_t divisor);

/// What divides a multiple of `a` times a multiple of `b`, clamped.
int64_t multiplyDivisors(int64_t a, int64_t b);

/// The constant that `value` is, where there is one and it fits 64 bits.
std::optional<int64_t> constantOf(mlir::Value value);

/// A number that divides `value`, read with a sign, in every execution; 0 for
/// the constant 0, which everything divides. Arithmetic that may wrap keeps
/// powers of two only; an index has 64 bits.
int64_t divisorOf(mlir::Value value);

/// The numbers that `value`, read with a sign, lies between in every execution,
/// where something is known.
std::optional<layout::Range> rangeOf(mlir::Value value);

/// What a number leaves when a power of two divides it.
struct Congruence {
  int64_t modulus;
  int64_t residue;
};

/// The largest power of two, up to `kLargestDivisor`, for which the remainder
/// of `value` is the same in every execution.
Congruence congruenceOf(mlir::Value value);

/// Whether nothing in sight shows that `value` is no multiple of `divisor` in
/// some execution: what counts loops or threads takes every value.
bool mayPromise(mlir::Value value, int64_t divisor);

/// The name of `value` in the IR: `%i`.
std::string nameOf(mlir::Value value);

/// How `value` was computed, as far as it is understood: `%j * 64 + %i`.
std::string expressionOf(mlir::Value value);

} // namespace tile

#endif // TILE_FACTS_VALUE_FACTS_H
