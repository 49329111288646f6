// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/CommonRuns.h"

#include "lib/Layout/Cut.h"
#include "lib/Plan/Alignment.h"
#include "lib/Plan/Bounds.h"
#include "lib/Plan/Cost.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace tile;
using llvm::Twine;

/// The coordinate of a linear index in row-major order, as `(1, 0)`.
static std::string coordinateText(const layout::Layout &layout, int64_t index) {
  std::string text = "(";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(layout::coordinateOf(layout, index), stream);
  stream << ')';
  return text;
}

std::string tile::layoutsText(const TracedTile &src, const TracedTile &dst) {
  auto seen = [](const TracedTile &tile) -> Attribute {
    MLIRContext *context = tile.elementType.getContext();
    layout::Layout layout = tile.layout;
    layout.offset = tile.offset.known;
    if (tile.runtimeStrides.empty())
      return LayoutAttr::get(context, layout, tile.offsetInDescriptor);
    SmallVector<int64_t> strides;
    for (const layout::Dimension &modes : layout.dimensions)
      strides.push_back(modes.front().stride);
    for (const RuntimeStride &stride : tile.runtimeStrides)
      strides[stride.dimension] = ShapedType::kDynamic;
    return StridedLayoutAttr::get(
        context, tile.offsetInDescriptor ? ShapedType::kDynamic : layout.offset,
        strides);
  };
  std::string text;
  llvm::raw_string_ostream(text)
      << "the source is " << seen(src) << " and the destination " << seen(dst);
  return text;
}

std::string tile::divergenceText(const TracedTile &src, const TracedTile &dst,
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
  refusal.showsLayouts = true;
  // Where only the run time knows a stride, it shows nothing.
  if (!problem.src.runtimeStrides.empty() ||
      !problem.dst.runtimeStrides.empty())
    return;
  layout::Layout src = problem.src.layout, dst = problem.dst.layout;
  src.offset = problem.src.offset.known;
  dst.offset = problem.dst.offset.known;
  refusal.divergence = layout::findDivergence(
      src, dst, granuleBits / std::gcd(granuleBits, problem.src.elementBits));
  if (refusal.divergence)
    refusal.coordinates = {
        layout::coordinateOf(dst, refusal.divergence->index)};
}

static std::optional<Refusal> checkDestination(const layout::Layout &layout) {
  std::optional<layout::Overlap> overlap = layout::findOverlap(layout);
  if (!overlap)
    return std::nullopt;
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

namespace {
/// The loops over a dimension of which one side knows a stride at run time
/// only: for each mode of the other side, how far that one goes each time, and
/// by how many of the strides this one.
struct RuntimeLoop {
  int64_t extent;
  int64_t srcStep, dstStep;
  /// Null on the side that knows its step.
  const RuntimeStride *src = nullptr, *dst = nullptr;
};
} // namespace

/// Takes the dimensions of which a side knows its stride at run time only out
/// of both layouts: no run goes on from one coordinate of them to the next.
static SmallVector<RuntimeLoop> takeRuntimeLoops(const CopyProblem &problem,
                                                 layout::Layout &src,
                                                 layout::Layout &dst) {
  SmallVector<RuntimeLoop> loops;
  for (unsigned dim = 0; dim < src.dimensions.size(); ++dim) {
    auto strideOf = [&](const TracedTile &tile) {
      auto found =
          llvm::find_if(tile.runtimeStrides, [&](const RuntimeStride &stride) {
            return stride.dimension == dim;
          });
      return found == tile.runtimeStrides.end() ? nullptr : &*found;
    };
    const RuntimeStride *ofSrc = strideOf(problem.src),
                        *ofDst = strideOf(problem.dst);
    if (!ofSrc && !ofDst)
      continue;
    assert(!(ofSrc && ofDst) && "one side is in workgroup memory");
    const layout::Dimension &modes =
        ofSrc ? dst.dimensions[dim] : src.dimensions[dim];
    int64_t inner = layout::extentOf(modes);
    for (layout::Mode mode : modes) {
      inner /= mode.extent;
      if (mode.extent != 1)
        loops.push_back({mode.extent, ofSrc ? inner : mode.stride,
                         ofDst ? inner : mode.stride, ofSrc, ofDst});
    }
    src.dimensions[dim] = dst.dimensions[dim] = {{1, 0}};
  }
  return loops;
}

/// What the loops add to one side is a run-time part of its offset, to what is
/// cut into runs inside of them.
static void addLoops(Congruence &rest, ArrayRef<RuntimeLoop> loops,
                     int64_t RuntimeLoop::*step,
                     const RuntimeStride *RuntimeLoop::*unknown) {
  for (const RuntimeLoop &loop : loops) {
    int64_t divisor = loop.*step;
    if (const RuntimeStride *stride = loop.*unknown)
      divisor = multiplyDivisors(divisor, stride->divisor);
    rest.modulus = std::gcd(rest.modulus, clampDivisor(divisor & -divisor));
  }
  if (rest.modulus != 0)
    rest.residue %= rest.modulus;
}

/// A stride that only the run time knows must be proved to be a multiple.
static std::optional<Refusal>
checkRuntimeStrides(StringRef side, const TracedTile &tile, int64_t granule) {
  int64_t bits = tile.elementBits;
  for (const RuntimeStride &stride : tile.runtimeStrides) {
    if (stride.divisor * bits % (8 * granule) == 0)
      continue;
    int64_t elements = 8 * granule / std::gcd(8 * granule, bits);
    Amounts amounts(granule, stride.divisor * bits);
    std::string fix = stride.fix;
    if (size_t number = fix.find("{0}"); number != std::string::npos)
      fix.replace(number, 3, std::to_string(elements));
    return refuse(side + " stride of dimension " + Twine(stride.dimension) +
                      ", which only the run time knows, must be a multiple "
                      "of " +
                      amounts.asked + ", got a multiple of " + amounts.got,
                  fix);
  }
  return std::nullopt;
}

std::variant<CopyPlan, Refusal> tile::planCommonRuns(const CopyProblem &problem,
                                                     int64_t granule) {
  int64_t granuleBits = 8 * granule;
  const TracedTile &src = problem.src;
  const TracedTile &dst = problem.dst;
  std::optional<int64_t> elements = layout::size(dst.layout);
  if (elements == 0)
    return CopyPlan{};
  int64_t bits = src.elementBits;
  std::optional<int64_t> totalBits;
  if (elements)
    totalBits = llvm::checkedMul(*elements, bits);
  if (!totalBits || *totalBits > 8 * kMaxPhaseBytes)
    return refuse("tile must have at most " + Twine(kMaxPhaseBytes) +
                      " bytes, which is " +
                      (problem.direction == Direction::Store
                           ? "more than shared memory has"
                           : "what one phase of an mbarrier counts") +
                      ", got " +
                      (totalBits   ? sizeText(*totalBits)
                       : !elements ? "more than 2^63 elements"
                                   : std::to_string(*elements) +
                                         " elements of " + sizeText(bits)),
                  "split the tile and give each part a phase of its own");
  for (auto [side, tile] :
       {std::pair<StringRef, const TracedTile &>("source", src),
        {"destination", dst}})
    if (!layout::reach(tile.layout))
      return refuse(side + " must reach fewer than 2^63 bits");

  layout::Layout srcInside = src.layout, dstInside = dst.layout;
  SmallVector<RuntimeLoop> outside =
      takeRuntimeLoops(problem, srcInside, dstInside);
  layout::Refinement refined = layout::refine(srcInside, dstInside);
  if (refined.nonNesting)
    return refuse(
        "mode boundaries of dimension " + Twine(refined.nonNesting->dimension) +
            " must nest, got extents of " +
            Twine(refined.nonNesting->srcExtent) + " in the source and " +
            Twine(refined.nonNesting->dstExtent) + " in the destination",
        "give both layouts modes that divide each other");
  for (auto [side, tile] :
       {std::pair<StringRef, const TracedTile &>("source", src),
        {"destination", dst}})
    if (std::optional<Refusal> refusal = checkRegion(side, tile))
      return *refusal;
  if (std::optional<Refusal> refusal =
          checkDestination(dst.runtimeStrides.empty() ? dst.layout : dstInside))
    return *refusal;

  std::optional<layout::Runs> runs = layout::longestCommonRuns(refined.modes);
  if (!runs)
    return refuse("tile must reach fewer than 2^63 elements");
  Congruence srcRest = runtimeCongruence(src.offset);
  Congruence dstRest = runtimeCongruence(dst.offset);
  Congruence srcPhase = srcRest, dstPhase = dstRest;
  addLoops(srcPhase, outside, &RuntimeLoop::srcStep, &RuntimeLoop::src);
  addLoops(dstPhase, outside, &RuntimeLoop::dstStep, &RuntimeLoop::dst);
  layout::Phases phases{{src.layout.swizzle,
                         src.offset.known + srcPhase.residue, srcPhase.modulus},
                        {dst.layout.swizzle,
                         dst.offset.known + dstPhase.residue, dstPhase.modulus},
                        outside.empty() &&
                            sameRuntimePart(src.offset, dst.offset),
                        !src.offsetInDescriptor && !dst.offsetInDescriptor};
  auto checkLength = [&]() -> std::optional<Refusal> {
    int64_t runBits = runs->length * bits;
    if (runBits % granuleBits == 0)
      return std::nullopt;
    Amounts amounts(granule, runBits);
    Refusal refusal =
        refuse("the longest run common to both layouts is " + amounts.got +
                   ", it must be a multiple of " + amounts.asked,
               outside.empty()
                   ? "choose layouts that agree on runs of a multiple of " +
                         amounts.asked
                   : "choose layouts that agree on runs of a multiple of " +
                         amounts.asked +
                         " in the dimensions whose strides are constants");
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
  for (auto [side, tile] :
       {std::pair<StringRef, const TracedTile &>("source", src),
        {"destination", dst}})
    if (std::optional<Refusal> refusal =
            checkRuntimeOffset(side, tile, granule))
      return *refusal;
  for (auto [side, tile] :
       {std::pair<StringRef, const TracedTile &>("source", src),
        {"destination", dst}})
    if (std::optional<Refusal> refusal =
            checkRuntimeStrides(side, tile, granule))
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
  for (auto [side, tile, shift] :
       {std::tuple<StringRef, const TracedTile &, int64_t>("source", src,
                                                           runs->srcShift),
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
  // A step that only the run time knows was checked by what divides it.
  for (const RuntimeLoop &loop : outside) {
    plan.loops.push_back(loop.extent);
    plan.count *= loop.extent;
    srcSteps.push_back(loop.src ? 0 : loop.srcStep);
    dstSteps.push_back(loop.dst ? 0 : loop.dstStep);
  }
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
  for (auto [side, tile] :
       {std::pair<StringRef, const TracedTile &>("source", src),
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
  for (auto [number, loop] : llvm::enumerate(outside)) {
    PlanSide &side = loop.src ? plan.src : plan.dst;
    int64_t factor = loop.src ? loop.srcStep : loop.dstStep;
    side.steps[number] = ShapedType::kDynamic;
    side.strides.append(
        {(loop.src ? loop.src : loop.dst)->dimension, factor * bits / 8});
  }
  plan.src.swizzle = swizzleInBytes(runs->srcSwizzle, bits);
  plan.dst.swizzle = swizzleInBytes(runs->dstSwizzle, bits);
  // Runs that begin off a line take more packets on the link.
  bool isLong = plan.chunkBytes * plan.count >= kLineBytes;
  plan.alignment = std::max(granule, isLong ? kLineBytes : 1);
  return plan;
}
