// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variant `bulk`: one `cp.async.bulk.shared::cluster.shared::cta` for each
// chunk, by one thread. PTX wants both addresses aligned to 16 bytes and a size
// that is a positive multiple of 16.
#include "lib/Analysis/Variant.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;
using llvm::Twine;

static constexpr int64_t kBulkBytes = 16;
static constexpr int64_t kBulkBits = 8 * kBulkBytes;
/// An mbarrier counts the bytes of one phase in a signed field; beyond this,
/// PTX defines nothing.
static constexpr int64_t kMaxTransactionBytes = (int64_t(1) << 20) - 1;
/// Chunks of at least a shared-memory line begin on one.
static constexpr int64_t kLineBytes = 128;

static Refusal refuse(const Twine &rule, const Twine &fix = "") {
  return {rule.str(), fix.str()};
}

/// `n bytes`, or bits where they are not whole bytes.
static std::string sizeText(int64_t bits) {
  if (bits % 8 == 0)
    return (Twine(bits / 8) + " bytes").str();
  return (Twine(bits) + " bits").str();
}

/// The coordinate of a linear index in row-major order, as `(1, 0)`.
static std::string coordinateText(const layout::Layout &layout, int64_t index) {
  SmallVector<int64_t> coordinate;
  for (const layout::Dimension &dimension : llvm::reverse(layout.dimensions)) {
    int64_t extent = 1;
    for (layout::Mode mode : dimension)
      extent *= mode.extent;
    coordinate.push_back(index % extent);
    index /= extent;
  }
  std::string text = "(";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(llvm::reverse(coordinate), stream);
  stream << ')';
  return text;
}

static std::optional<Refusal> checkDestination(const CopyProblem &problem) {
  std::optional<layout::Overlap> overlap =
      layout::findOverlap(problem.dst.layout);
  if (!overlap)
    return std::nullopt;
  return refuse(
      "destination must not overlap itself, got " +
          coordinateText(problem.dst.layout, overlap->first) + " and " +
          coordinateText(problem.dst.layout, overlap->second) + " at one place",
      "copy into a buffer that has a place for each element");
}

/// The tile's first and last byte must be inside the buffer. With a run-time
/// offset only its known part can be checked.
static std::optional<Refusal> checkRegion(StringRef side, const Tile &tile) {
  std::optional<layout::Range> range = layout::reach(tile.layout);
  int64_t first = 0, last = 0, shiftBits = 0;
  if (!range || tile.offset.overflowed || tile.shiftBytes.overflowed ||
      llvm::MulOverflow<int64_t>(tile.shiftBytes.known, 8, shiftBits) ||
      llvm::AddOverflow(tile.offset.known, range->lowest, first) ||
      llvm::AddOverflow(tile.offset.known, range->highest, last) ||
      llvm::MulOverflow(first, tile.elementBits, first) ||
      llvm::MulOverflow(last + 1, tile.elementBits, last) ||
      llvm::AddOverflow(first, shiftBits, first) ||
      llvm::AddOverflow(last, shiftBits, last))
    return refuse(side + " must reach fewer than 2^63 bits");
  bool isStatic = tile.offset.isStatic() && tile.shiftBytes.isStatic();
  if (isStatic && first < 0)
    return refuse(side + " must begin inside its buffer, got byte " +
                  Twine(first / 8));
  if (isStatic && tile.bufferBytes && last > 8 * *tile.bufferBytes)
    return refuse(side + " must end inside its buffer of " +
                  Twine(*tile.bufferBytes) + " bytes, got byte " +
                  Twine(llvm::divideCeil(last, 8)));
  return std::nullopt;
}

static std::optional<Refusal> checkBufferAlignment(StringRef side,
                                                   const Tile &tile) {
  auto isMultiple = [](const Offset &bytes) {
    return !bytes.overflowed && bytes.known % kBulkBytes == 0 &&
           runtimeDivisor(bytes) % kBulkBytes == 0;
  };
  if (tile.assumed.alignment % kBulkBytes == 0 &&
      isMultiple(tile.assumed.shiftBytes))
    return std::nullopt;
  if (!tile.canAlign && tile.alignment % kBulkBytes != 0)
    return refuse(
        side + " buffer must be aligned to 16 bytes, got an alignment of " +
            Twine(tile.alignment),
        tile.alignmentFix);
  if (isMultiple(tile.shiftBytes))
    return std::nullopt;
  if (tile.shiftBytes.isStatic())
    return refuse(side +
                      " view must begin at a multiple of 16 bytes, got byte " +
                      Twine(tile.shiftBytes.known),
                  "move the view to a multiple of 16 bytes");
  return refuse(
      side +
          " view must begin at a multiple of 16 bytes, got a "
          "run-time shift that is a multiple of " +
          Twine(runtimeDivisor(tile.shiftBytes)) + " bytes",
      "multiply the shift by a constant that makes it a multiple of 16");
}

/// Every chunk must begin at a multiple of 16 bytes: the first, and with it the
/// steps of the loops.
static std::optional<Refusal> checkStarts(StringRef side, const Tile &tile,
                                          int64_t start,
                                          ArrayRef<int64_t> steps) {
  int64_t bits = tile.elementBits;
  int64_t startBits = 0;
  if (llvm::MulOverflow(start, bits, startBits))
    return refuse(side + " must start below 2^63 bits");
  if (startBits % kBulkBits != 0)
    return refuse(side + " must start at a multiple of 16 bytes, got " +
                      sizeText(startBits),
                  "move the tile so that it starts at a multiple of 16 bytes");
  int64_t divisor = runtimeDivisor(tile.offset) * bits;
  if (divisor % kBulkBits != 0)
    return refuse(side +
                      " must start at a multiple of 16 bytes, got a run-time "
                      "offset that is a multiple of " +
                      sizeText(divisor),
                  "make the offset a multiple of " +
                      Twine(kBulkBits / std::gcd(kBulkBits, bits)) +
                      " elements by a multiplication in sight");
  for (int64_t step : steps) {
    int64_t stepBits = 0;
    if (llvm::MulOverflow(step, bits, stepBits))
      return refuse(side + " must reach fewer than 2^63 bits");
    if (stepBits % kBulkBits != 0)
      return refuse(side +
                        " chunks must lie multiples of 16 bytes apart, got " +
                        sizeText(stepBits) + ": the second one starts at " +
                        sizeText(startBits + stepBits),
                    "pad the pitch of the buffer to a multiple of 16 bytes");
  }
  return std::nullopt;
}

std::variant<CopyPlan, Refusal> tile::planBulk(const CopyProblem &problem) {
  if (problem.issue != Issue::Thread)
    return refuse("issue(" + stringifyIssue(problem.issue) +
                      ") is not supported yet",
                  "let one thread execute the op and drop issue(...)");
  const Tile &src = problem.src;
  const Tile &dst = problem.dst;
  std::optional<int64_t> elements = layout::size(dst.layout);
  if (elements == 0)
    return CopyPlan{};
  int64_t bits = src.elementBits, totalBits = 0;
  if (!elements || llvm::MulOverflow(*elements, bits, totalBits) ||
      totalBits > 8 * kMaxTransactionBytes)
    return refuse(
        "tile must have at most 1048575 bytes, which is what one phase "
        "of an mbarrier counts, got " +
            (elements ? sizeText(totalBits) : "more than 2^63 elements"),
        "split the tile and give each part a phase of its own");

  layout::Refinement refined = layout::refine(src.layout, dst.layout);
  if (refined.misfit)
    return refuse("mode boundaries of dimension " +
                      Twine(refined.misfit->dimension) +
                      " must nest, got extents of " +
                      Twine(refined.misfit->srcExtent) + " in the source and " +
                      Twine(refined.misfit->dstExtent) + " in the destination",
                  "give both layouts modes that divide each other");
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (std::optional<Refusal> refusal = checkRegion(side, tile))
      return *refusal;
  if (std::optional<Refusal> refusal = checkDestination(problem))
    return *refusal;

  std::optional<layout::Runs> runs = layout::gatherRuns(refined.modes);
  if (!runs)
    return refuse("tile must reach fewer than 2^63 elements");
  int64_t runBits = runs->length * bits;
  if (runBits % kBulkBits != 0)
    return refuse(
        "the longest run common to both layouts is " + sizeText(runBits) +
            ", it must be a multiple of 16",
        "choose layouts that agree on runs of a multiple of 16 bytes");

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
  if (std::optional<Refusal> refusal =
          checkStarts("source", src, srcStart, srcSteps))
    return *refusal;
  if (std::optional<Refusal> refusal =
          checkStarts("destination", dst, dstStart, dstSteps))
    return *refusal;
  for (auto [side, tile] : {std::pair<StringRef, const Tile &>("source", src),
                            {"destination", dst}})
    if (std::optional<Refusal> refusal = checkBufferAlignment(side, tile))
      return *refusal;

  plan.chunkBytes = runBits / 8;
  plan.srcStart = srcStart * bits / 8;
  plan.dstStart = dstStart * bits / 8;
  for (auto [srcStep, dstStep] : llvm::zip_equal(srcSteps, dstSteps)) {
    plan.srcSteps.push_back(srcStep * bits / 8);
    plan.dstSteps.push_back(dstStep * bits / 8);
  }
  plan.alignment = plan.chunkBytes >= kLineBytes ? kLineBytes : kBulkBytes;
  return plan;
}
