// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/CommonRuns.h"

#include "lib/Layout/Cut.h"
#include "lib/Plan/Bounds.h"
#include "lib/Plan/Cost.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;
using llvm::Twine;

static Refusal refuse(const Twine &rule, const Twine &fix = "") {
  return {rule.str(), fix.str()};
}

static std::string countText(int64_t count, StringRef unit) {
  return (Twine(count) + " " + unit + (count == 1 ? "" : "s")).str();
}

/// `n bytes`, or bits where they are not whole bytes.
static std::string sizeText(int64_t bits) {
  return bits % 8 == 0 ? countText(bits / 8, "byte") : countText(bits, "bit");
}

namespace {
/// What is asked for and what there is, in one unit: bytes, or bits where what
/// there is are no whole bytes.
struct Amounts {
  std::string asked, got;
  Amounts(int64_t askedBytes, int64_t gotBits)
      : asked(gotBits % 8 == 0 ? sizeText(8 * askedBytes)
                               : (Twine(8 * askedBytes) + " bits").str()),
        got(sizeText(gotBits)) {}
};
} // namespace

/// The coordinate of a linear index in row-major order, as `(1, 0)`.
static std::string coordinateText(const layout::Layout &layout, int64_t index) {
  std::string text = "(";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(layout::coordinateOf(layout, index), stream);
  stream << ')';
  return text;
}

std::string tile::layoutsText(const Tile &src, const Tile &dst) {
  auto seen = [](const Tile &tile) {
    layout::Layout layout = tile.layout;
    layout.offset = tile.offset.known;
    return LayoutAttr::get(tile.elementType.getContext(), layout,
                           tile.offsetInDescriptor);
  };
  std::string text;
  llvm::raw_string_ostream(text)
      << "the source is " << seen(src) << " and the destination " << seen(dst);
  return text;
}

std::string tile::divergenceText(const Tile &src, const Tile &dst,
                                 const layout::Divergence &divergence) {
  int64_t bits = src.elementBits;
  return layoutsText(src, dst) + "; they first diverge at coordinate " +
         coordinateText(dst.layout, divergence.index) + ", which is " +
         sizeText(divergence.src * bits) + " into the source and " +
         sizeText(divergence.dst * bits) + " into the destination";
}

/// The run is too short: where both sides diverge shows it.
static void showDivergence(Refusal &refusal, const CopyProblem &problem,
                           int64_t granuleBits) {
  layout::Layout src = problem.src.layout, dst = problem.dst.layout;
  src.offset = problem.src.offset.known;
  dst.offset = problem.dst.offset.known;
  refusal.showsLayouts = true;
  refusal.divergence = layout::findDivergence(
      src, dst, granuleBits / std::gcd(granuleBits, problem.src.elementBits));
  if (refusal.divergence)
    refusal.coordinates = {
        layout::coordinateOf(dst, refusal.divergence->index)};
}

static std::optional<Refusal> checkDestination(const CopyProblem &problem) {
  std::optional<layout::Overlap> overlap =
      layout::findOverlap(problem.dst.layout);
  if (!overlap)
    return std::nullopt;
  const layout::Layout &layout = problem.dst.layout;
  Refusal refusal =
      refuse("destination must not overlap itself, got " +
                 coordinateText(layout, overlap->first) + " and " +
                 coordinateText(layout, overlap->second) + " at one place",
             "copy into a buffer that has a place for each "
             "element");
  refusal.side = "destination";
  refusal.coordinates = {layout::coordinateOf(layout, overlap->first),
                         layout::coordinateOf(layout, overlap->second)};
  return refusal;
}

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

static std::optional<Refusal>
checkBufferAlignment(StringRef side, const Tile &tile, int64_t granule) {
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

/// The part of the offset that is known at run time only must keep chunks at
/// multiples of the granule.
static std::optional<Refusal>
checkRuntimeOffset(StringRef side, const Tile &tile, int64_t granule) {
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

/// Every chunk must begin at a multiple of the granule: the first, and with it
/// the steps of the loops. `start` counts what the run-time offset always is
/// past its modulus, too.
static std::optional<Refusal> checkStarts(StringRef side, const Tile &tile,
                                          int64_t start,
                                          ArrayRef<int64_t> steps,
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

/// With a swizzle, steps do not tell where chunks begin; how far all of them
/// are aligned was found when they were cut.
static std::optional<Refusal> checkSwizzled(StringRef side, int64_t alignment,
                                            int64_t bits, int64_t granule) {
  if (alignment * bits % (8 * granule) == 0)
    return std::nullopt;
  Amounts amounts(granule, alignment * bits);
  return refuse(side + " chunks must begin at multiples of " + amounts.asked +
                    ", got multiples of " + amounts.got + " after its swizzle",
                "start the tile at a multiple of " + amounts.asked +
                    ", and pad pitches to one");
}

/// The swizzle in bits of bytes. Chunks are whole bytes, so that it
/// moves nothing smaller.
static SmallVector<int64_t>
swizzleInBytes(const std::optional<layout::Swizzle> &swizzle, int64_t bits) {
  if (!swizzle)
    return {};
  int64_t base = swizzle->base + llvm::Log2_64(bits) - 3;
  assert(base >= 0 && "a swizzle of parts of bytes moves no chunk");
  return {swizzle->bits, base, swizzle->shift};
}

std::variant<CopyPlan, Refusal> tile::planCommonRuns(const CopyProblem &problem,
                                                     int64_t granule) {
  int64_t granuleBits = 8 * granule;
  const Tile &src = problem.src;
  const Tile &dst = problem.dst;
  std::optional<int64_t> elements = layout::size(dst.layout);
  if (elements == 0)
    return CopyPlan{};
  int64_t bits = src.elementBits;
  std::optional<int64_t> totalBits;
  if (elements)
    totalBits = llvm::checkedMul(*elements, bits);
  if (!totalBits || *totalBits > 8 * kMaxPhaseBytes)
    return refuse(
        "tile must have at most " + Twine(kMaxPhaseBytes) +
            " bytes, which is what one phase of an mbarrier counts, got " +
            (totalBits   ? sizeText(*totalBits)
             : !elements ? "more than 2^63 elements"
                         : std::to_string(*elements) + " elements of " +
                               sizeText(bits)),
        "split the tile and give each part a phase of its own");
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (!layout::reach(tile.layout))
      return refuse(side + " must reach fewer than 2^63 bits");

  layout::Refinement refined = layout::refine(src.layout, dst.layout);
  if (refined.nonNesting)
    return refuse(
        "mode boundaries of dimension " + Twine(refined.nonNesting->dimension) +
            " must nest, got extents of " +
            Twine(refined.nonNesting->srcExtent) + " in the source and " +
            Twine(refined.nonNesting->dstExtent) + " in the destination",
        "give both layouts modes that divide each other");
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (std::optional<Refusal> refusal = checkRegion(side, tile))
      return *refusal;
  if (std::optional<Refusal> refusal = checkDestination(problem))
    return *refusal;

  std::optional<layout::Runs> runs = layout::longestCommonRuns(refined.modes);
  if (!runs)
    return refuse("tile must reach fewer than 2^63 elements");
  Congruence srcRest = runtimeCongruence(src.offset);
  Congruence dstRest = runtimeCongruence(dst.offset);
  layout::Phases phases{
      {src.layout.swizzle, src.offset.known + srcRest.residue, srcRest.modulus},
      {dst.layout.swizzle, dst.offset.known + dstRest.residue, dstRest.modulus},
      sameRuntimePart(src.offset, dst.offset),
      !src.offsetInDescriptor && !dst.offsetInDescriptor};
  auto checkLength = [&]() -> std::optional<Refusal> {
    int64_t runBits = runs->length * bits;
    if (runBits % granuleBits == 0)
      return std::nullopt;
    Amounts amounts(granule, runBits);
    Refusal refusal = refuse(
        "the longest run common to both layouts is " + amounts.got +
            ", it must be a multiple of " + amounts.asked,
        "choose layouts that agree on runs of a multiple of " + amounts.asked);
    refusal.askedBits = granuleBits;
    refusal.gotBits = runBits;
    showDivergence(refusal, problem, granuleBits);
    return refusal;
  };
  // What no other offset mends is the better reason. Only swizzles of which all
  // is known may lay short runs side by side.
  if (!phases.anySwizzle() || !phases.mayShift)
    if (std::optional<Refusal> refusal = checkLength())
      return *refusal;
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (std::optional<Refusal> refusal =
            checkRuntimeOffset(side, tile, granule))
      return *refusal;
  layout::Alignment alignment;
  if (phases.anySwizzle() && !llvm::isPowerOf2_64(bits))
    return refuse("swizzled elements must have a power of two of bits, got " +
                      Twine(bits),
                  "pad the elements, or drop the swizzle");
  if (phases.anySwizzle())
    alignment = layout::cutRuns(*runs, phases,
                                granuleBits / std::gcd(granuleBits, bits));
  if (std::optional<Refusal> refusal = checkLength())
    return *refusal;

  // The plan's start is then not what the address is made from, so it cannot
  // carry the shift.
  for (auto [side, tile, shift] : {std::tuple<StringRef, const Tile &, int64_t>(
                                       "source", src, runs->srcShift),
                                   {"destination", dst, runs->dstShift}})
    if (tile.offsetInDescriptor && shift != 0)
      return refuse(
          side + " must have a constant offset in its type where the "
                 "destination runs backwards, got '?'",
          "give both sides a constant offset, or strides that are not "
          "negative");

  CopyPlan plan;
  SmallVector<int64_t> srcSteps, dstSteps;
  plan.count = 1;
  for (layout::PairedMode loop : runs->loops) {
    plan.loops.push_back(loop.extent);
    plan.count *= loop.extent;
    srcSteps.push_back(loop.src);
    dstSteps.push_back(loop.dst);
  }
  // The regions are inside 63 bits, and so are the starts that turned loops
  // move to.
  int64_t srcStart = src.offset.known + runs->srcShift;
  int64_t dstStart = dst.offset.known + runs->dstShift;
  if (phases.anySwizzle()) {
    if (std::optional<Refusal> refusal =
            checkSwizzled("source", alignment.src, bits, granule))
      return *refusal;
    if (std::optional<Refusal> refusal =
            checkSwizzled("destination", alignment.dst, bits, granule))
      return *refusal;
  } else {
    if (std::optional<Refusal> refusal = checkStarts(
            "source", src, srcStart + srcRest.residue, srcSteps, granule))
      return *refusal;
    if (std::optional<Refusal> refusal = checkStarts(
            "destination", dst, dstStart + dstRest.residue, dstSteps, granule))
      return *refusal;
  }
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (std::optional<Refusal> refusal =
            checkBufferAlignment(side, tile, granule))
      return *refusal;

  plan.chunkBytes = runs->length * bits / 8;
  plan.src.start = srcStart * bits / 8;
  plan.dst.start = dstStart * bits / 8;
  for (auto [srcStep, dstStep] : llvm::zip_equal(srcSteps, dstSteps)) {
    plan.src.steps.push_back(srcStep * bits / 8);
    plan.dst.steps.push_back(dstStep * bits / 8);
  }
  plan.src.swizzle = swizzleInBytes(runs->srcSwizzle, bits);
  plan.dst.swizzle = swizzleInBytes(runs->dstSwizzle, bits);
  // Runs that begin off a line take more packets on the link.
  bool isLong = plan.chunkBytes * plan.count >= kLineBytes;
  plan.alignment = std::max(granule, isLong ? kLineBytes : 1);
  return plan;
}

bool tile::startsAtMultiple(const Tile &tile, int64_t startBytes,
                            int64_t granule) {
  Congruence rest = runtimeCongruence(tile.offset);
  int64_t bits = tile.elementBits;
  return rest.modulus * bits % (8 * granule) == 0 &&
         (8 * startBytes + rest.residue * bits) % (8 * granule) == 0 &&
         !checkBufferAlignment("", tile, granule);
}
