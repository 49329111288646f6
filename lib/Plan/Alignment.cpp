// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/Alignment.h"

#include "lib/Facts/ValueFacts.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;
using llvm::Twine;

std::optional<Refusal> tile::checkOrigin(StringRef side, const Origin &origin,
                                         int64_t granule) {
  auto isMultiple = [&](const Offset &bytes) {
    return !bytes.overflowed && bytes.known % granule == 0 &&
           runtimeDivisor(bytes) % granule == 0;
  };
  if (origin.assumed.alignment % granule == 0 &&
      isMultiple(origin.assumed.shiftBytes))
    return std::nullopt;
  if (!origin.canAlign && origin.alignment % granule != 0) {
    std::string fix = origin.alignmentFix;
    if (size_t number = fix.find("{0}"); number != std::string::npos)
      fix.replace(number, 3, std::to_string(std::max<int64_t>(granule, 16)));
    return refuse(side + " buffer must be aligned to " + Twine(granule) +
                      " bytes, got an alignment of " +
                      countText(origin.alignment, "byte"),
                  fix);
  }
  const Offset &shift = origin.shiftBytes;
  if (isMultiple(shift))
    return std::nullopt;
  if (shift.isStatic())
    return refuse(side + " view must begin at a multiple of " + Twine(granule) +
                      " bytes, got byte " + Twine(shift.known),
                  "move the view to a multiple of " + Twine(granule) +
                      " bytes");
  return refuse(
      side + " view must begin at a multiple of " + Twine(granule) +
          " bytes, got a run-time shift that is a multiple of " +
          countText(std::gcd(shift.known, runtimeDivisor(shift)), "byte"),
      "multiply the shift by a constant that makes it a multiple of " +
          Twine(granule));
}

std::optional<Refusal> tile::checkBufferAlignment(StringRef side,
                                                  const TracedTile &tile,
                                                  int64_t granule) {
  for (const Origin &origin : tile.origins)
    if (std::optional<Refusal> refusal = checkOrigin(side, origin, granule))
      return refusal;
  return std::nullopt;
}

/// What makes a run-time offset, of which nothing shows that it cannot be one,
/// a multiple of `elements`.
static std::string fixOfOffset(const Offset &offset, int64_t elements) {
  std::string fix = "make the offset a multiple of " +
                    std::to_string(elements) +
                    " elements by a multiplication in sight";
  std::string promises;
  for (const Offset::Term &term : offset.terms) {
    if (term.strideOf) {
      if (term.divisor % elements == 0)
        continue;
      return "promise what divides the stride of dimension " +
             std::to_string(*term.strideOf) +
             " by tile.multiple_of on the kernel's argument";
    }
    if (isa<MemRefType>(term.value.getType()))
      return "give the memref's type a constant offset";
    int64_t factor = std::gcd(term.factor, elements);
    int64_t own = elements / factor;
    if (term.divisor ? term.divisor % own == 0
                     : divisorOf(term.value) % own == 0)
      continue;
    if (term.divisor || !mayPromise(term.value, own))
      return fix;
    promises += promises.empty() ? ", or promise it with " : " and ";
    promises += "tile.assume_multiple " + nameOf(term.value) + ", " +
                std::to_string(own);
  }
  return fix + promises;
}

std::optional<Refusal> tile::checkRuntimeOffset(StringRef side,
                                                const TracedTile &tile,
                                                int64_t granule) {
  int64_t bits = tile.elementBits;
  Congruence rest = runtimeCongruence(tile.offset);
  if (rest.modulus == 0)
    return std::nullopt;
  int64_t elements = 8 * granule / std::gcd(8 * granule, bits);
  bool isKnown = rest.modulus % elements == 0;
  // Whatever the run-time part is, the tile begins so far past a multiple of
  // this.
  int64_t modulus = std::min(rest.modulus, elements);
  int64_t past = (tile.offset.known % modulus + rest.residue) % modulus;
  past = (past + modulus) % modulus;
  if (past != 0 && !(isKnown && rest.residue == 0)) {
    Amounts amounts(granule, past * bits);
    return refuse(side + " must start at a multiple of " + amounts.asked +
                      ", got a run-time offset that is always " + amounts.got +
                      " past a multiple of " + sizeText(modulus * bits) + ": " +
                      offsetExpression(tile.offset),
                  "make the offset a multiple of " + Twine(elements) +
                      " elements");
  }
  if (isKnown)
    return std::nullopt;
  Amounts amounts(granule, runtimeDivisor(tile.offset) * bits);
  return refuse(side + " must start at a multiple of " + amounts.asked +
                    ", got a run-time offset that is a multiple of " +
                    amounts.got + ": " + runtimeExpression(tile.offset),
                fixOfOffset(tile.offset, elements));
}

std::optional<Refusal> tile::checkStarts(StringRef side, const TracedTile &tile,
                                         int64_t start, ArrayRef<int64_t> steps,
                                         int64_t granule) {
  int64_t bits = tile.elementBits;
  int64_t startBits = 0;
  if (llvm::MulOverflow(start, bits, startBits))
    return refuse(side + " must start below 2^63 bits");
  if (startBits % (8 * granule) != 0) {
    Amounts amounts(granule, startBits);
    return refuse(side + " must start at a multiple of " + amounts.asked +
                      ", got " + amounts.got,
                  "move the tile so that it starts at a multiple of " +
                      amounts.asked);
  }
  for (int64_t step : steps) {
    int64_t stepBits = 0;
    if (llvm::MulOverflow(step, bits, stepBits))
      return refuse(side + " must reach fewer than 2^63 bits");
    if (stepBits % (8 * granule) == 0)
      continue;
    Amounts amounts(granule, stepBits);
    return refuse(
        side + " chunks must lie multiples of " + amounts.asked +
            " apart, got " + amounts.got + ": the second one starts at " +
            sizeText(startBits + stepBits),
        "pad the pitch of the buffer to a multiple of " + amounts.asked);
  }
  return std::nullopt;
}

std::optional<Refusal> tile::checkSwizzled(StringRef side, int64_t alignment,
                                           int64_t bits, int64_t granule) {
  if (alignment * bits % (8 * granule) == 0)
    return std::nullopt;
  Amounts amounts(granule, alignment * bits);
  return refuse(side + " chunks must begin at multiples of " + amounts.asked +
                    ", got multiples of " + amounts.got + " after its swizzle",
                "start the tile at a multiple of " + amounts.asked +
                    ", and pad pitches to one");
}

bool tile::startsAtMultiple(const TracedTile &tile, int64_t startBytes,
                            int64_t granule) {
  Congruence rest = runtimeCongruence(tile.offset);
  int64_t bits = tile.elementBits;
  return rest.modulus * bits % (8 * granule) == 0 &&
         (8 * startBytes + rest.residue * bits) % (8 * granule) == 0 &&
         !checkBufferAlignment("", tile, granule);
}
