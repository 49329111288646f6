// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variants from outside of the project: they declare what they need, and their
// plans are made and proved here like any other.
#ifndef TILE_PLAN_DECLARED_VARIANT_H
#define TILE_PLAN_DECLARED_VARIANT_H

#include "lib/Plan/Variant.h"

namespace tile {

/// What a tile costs, in clocks: `base + perCopy * n + perByte * bytes`, where
/// `n` is how many copies one thread issues.
struct DeclaredCost {
  double base = 0;
  double perCopy = 0;
  double perByte = 0;
};

/// `isCooperative` is whether all threads that execute the op share the copies;
/// otherwise one of them issues all.
struct VariantDeclaration : VariantTraits {
  /// What must divide the bytes of each copy and each address, on both sides;
  /// a power of two.
  int64_t granuleBytes = 1;
  /// Copies are cut so that none is longer; a multiple of the granule. 0 where
  /// they may be of any length.
  int64_t maxBytes = 0;
  /// Without it the variant is taken only by name.
  std::optional<DeclaredCost> cost;
};

/// Makes the variant known to the verifier and the analysis, in place of one
/// that was declared by the same name.
void declareVariant(const VariantDeclaration &declaration);

} // namespace tile

#endif // TILE_PLAN_DECLARED_VARIANT_H
