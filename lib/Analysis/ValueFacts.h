// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is sure about a run-time number: what divides it, what it lies between,
// how it was made.
#ifndef TILE_ANALYSIS_VALUE_FACTS_H
#define TILE_ANALYSIS_VALUE_FACTS_H

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

/// A number that divides `value` in every execution; 0 for the constant 0,
/// which everything divides. Arithmetic on offsets is taken not to wrap, as
/// everywhere in addressing.
int64_t divisorOf(mlir::Value value);

/// The numbers that `value` lies between in every execution, where something is
/// known.
std::optional<layout::Range> rangeOf(mlir::Value value);

/// How `value` was computed, as far as it is understood: `%j * 64 + %i`.
std::string expressionOf(mlir::Value value);

} // namespace tile

#endif // TILE_ANALYSIS_VALUE_FACTS_H
