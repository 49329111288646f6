// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Why there is no plan, as values and in words.
#ifndef TILE_PLAN_REFUSAL_H
#define TILE_PLAN_REFUSAL_H

#include "lib/Layout/Layout.h"

#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>

namespace tile {

/// A rule that is broken, with the number that breaks it, and what to do about
/// it (may be empty).
struct Refusal {
  std::string rule;
  std::string fix;
  /// The side that breaks it: source, destination, or empty where both do.
  std::string side = {};
  /// What it asks for and what there is, in bits; 0 where no amount is wrong.
  int64_t askedBits = 0;
  int64_t gotBits = 0;
  /// Coordinates in the tile that show it.
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 2> coordinates = {};
  /// Whether the layouts of both sides explain it, and where they diverge.
  bool showsLayouts = false;
  std::optional<layout::Divergence> divergence = {};
};

Refusal refuse(const llvm::Twine &rule, const llvm::Twine &fix = "");

/// `1 byte`, `2 bytes`.
std::string countText(int64_t count, llvm::StringRef unit);

/// `n bytes`, or bits where they are not whole bytes.
std::string sizeText(int64_t bits);

/// What is asked for and what there is, in one unit: bytes, or bits where what
/// there is are no whole bytes.
struct Amounts {
  std::string asked, got;
  Amounts(int64_t askedBytes, int64_t gotBits);
};

} // namespace tile

#endif // TILE_PLAN_REFUSAL_H
