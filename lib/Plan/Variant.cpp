// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Variant.h"

#include <mutex>

using namespace tile;

namespace {
struct Variants {
  std::mutex mutex;
  std::vector<Variant> all{
      {"bulk", /*byOneThread=*/true, /*onlyByName=*/false, planBulk},
      {"st_async", /*byOneThread=*/false, /*onlyByName=*/false, planStAsync},
  };
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
  registerVariantName(variant.name);
  std::lock_guard lock(variants().mutex);
  for (Variant &known : variants().all)
    if (known.name == variant.name) {
      known = std::move(variant);
      return;
    }
  variants().all.push_back(std::move(variant));
}
