// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Refusal.h"

using namespace tile;
using llvm::Twine;

Refusal tile::refuse(const Twine &rule, const Twine &fix) {
  return {rule.str(), fix.str()};
}

std::string tile::countText(int64_t count, llvm::StringRef unit) {
  return (Twine(count) + " " + unit + (count == 1 ? "" : "s")).str();
}

std::string tile::sizeText(int64_t bits) {
  return bits % 8 == 0 ? countText(bits / 8, "byte") : countText(bits, "bit");
}

Amounts::Amounts(int64_t askedBytes, int64_t gotBits)
    : asked(gotBits % 8 == 0 ? sizeText(8 * askedBytes)
                             : (Twine(8 * askedBytes) + " bits").str()),
      got(sizeText(gotBits)) {}
