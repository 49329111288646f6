// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Analysis/Variant.h"

llvm::ArrayRef<tile::Variant> tile::getVariants() {
  static constexpr Variant variants[] = {
      {"bulk", /*byOneThread=*/true, planBulk},
      {"st_async", /*byOneThread=*/false, planStAsync},
  };
  return variants;
}
