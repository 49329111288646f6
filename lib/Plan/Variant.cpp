// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Variant.h"

#include <mutex>

using namespace tile;

namespace tile {
#define TILE_VARIANT(function) Variant function();
#include "lib/Plan/Variants.def"
#undef TILE_VARIANT
} // namespace tile

namespace {
struct Variants {
  std::mutex mutex;
  std::vector<Variant> all;
};
} // namespace

static Variants &variants() {
  static Variants variants;
  return variants;
}

std::vector<Variant> tile::getVariants() {
  std::lock_guard lock(variants().mutex);
  return variants().all;
}

void tile::registerVariant(Variant variant) {
  registerVariantTraits(variant);
  std::lock_guard lock(variants().mutex);
  for (Variant &known : variants().all)
    if (known.name == variant.name) {
      known = std::move(variant);
      return;
    }
  variants().all.push_back(std::move(variant));
}

void tile::registerVariants() {
#define TILE_VARIANT(function) registerVariant(function());
#include "lib/Plan/Variants.def"
#undef TILE_VARIANT
}
