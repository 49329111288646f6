// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"
#include "lib/Layout/Layout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tile;

#define GET_ATTRDEF_CLASSES
#include "dialect/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/TileAttrs.cpp.inc"
      >();
}

namespace {
struct PlanSide {
  int64_t start = 0;
  SmallVector<int64_t> steps;
  SmallVector<int64_t> swizzle;
  SmallVector<int64_t> gather;
};
} // namespace

static ParseResult parseNumbers(AsmParser &parser,
                                SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(numbers.emplace_back());
  });
}

/// `key = number`
static ParseResult parseField(AsmParser &parser, StringRef key,
                              int64_t &number) {
  return failure(parser.parseKeyword(key) || parser.parseEqual() ||
                 parser.parseInteger(number));
}

/// `key = {start = 0, steps = [512]}`, perhaps with `, swizzle = [3, 4, 3]` and
/// `, gather = [4, 256]` inside
static ParseResult parseSide(AsmParser &parser, StringRef key, PlanSide &side) {
  if (parser.parseKeyword(key) || parser.parseEqual() || parser.parseLBrace() ||
      parseField(parser, "start", side.start) || parser.parseComma() ||
      parser.parseKeyword("steps") || parser.parseEqual() ||
      parseNumbers(parser, side.steps))
    return failure();
  while (succeeded(parser.parseOptionalComma())) {
    bool isGather = key == "src" && side.gather.empty() &&
                    succeeded(parser.parseOptionalKeyword("gather"));
    if ((!isGather && parser.parseKeyword("swizzle")) || parser.parseEqual() ||
        parseNumbers(parser, isGather ? side.gather : side.swizzle))
      return failure();
  }
  return parser.parseRBrace();
}

Attribute CopyPlanAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef variant;
  int64_t chunk = 0, count = 0, threads = 0, clk = 0;
  SmallVector<int64_t> loops;
  PlanSide src, dst;
  if (parser.parseLess() || parser.parseKeyword(&variant) ||
      parser.parseComma() || parseField(parser, "chunk", chunk) ||
      parser.parseComma() || parseField(parser, "count", count) ||
      parser.parseComma() || parser.parseKeyword("loops") ||
      parser.parseEqual() || parseNumbers(parser, loops) ||
      parser.parseComma() || parseSide(parser, "src", src) ||
      parser.parseComma() || parseSide(parser, "dst", dst))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parseField(parser, "threads", threads) || parser.parseComma() ||
       parseField(parser, "clk", clk)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CopyPlanAttr>(
      loc, parser.getContext(), variant, chunk, count, loops, src.start,
      src.steps, src.swizzle, src.gather, dst.start, dst.steps, dst.swizzle,
      threads, clk);
}

void CopyPlanAttr::print(AsmPrinter &printer) const {
  auto side = [&](StringRef key, int64_t start, ArrayRef<int64_t> steps,
                  ArrayRef<int64_t> swizzle, ArrayRef<int64_t> gather) {
    printer << ", " << key << " = {start = " << start << ", steps = [";
    llvm::interleaveComma(steps, printer);
    if (!swizzle.empty()) {
      printer << "], swizzle = [";
      llvm::interleaveComma(swizzle, printer);
    }
    if (!gather.empty()) {
      printer << "], gather = [";
      llvm::interleaveComma(gather, printer);
    }
    printer << "]}";
  };
  printer << '<' << getVariant() << ", chunk = " << getChunk()
          << ", count = " << getCount() << ", loops = [";
  llvm::interleaveComma(getLoops(), printer);
  printer << ']';
  side("src", getSrcStart(), getSrcSteps(), getSrcSwizzle(), getSrcGather());
  side("dst", getDstStart(), getDstSteps(), getDstSwizzle(), {});
  if (getThreads() != 0)
    printer << ", threads = " << getThreads() << ", clk = " << getClk();
  printer << '>';
}

/// Whether all chunks begin where a pointer to shared memory can point.
static bool fitsAddresses(int64_t start, ArrayRef<int64_t> loops,
                          ArrayRef<int64_t> steps) {
  layout::Layout places = layout::strided(loops, steps);
  places.offset = start;
  std::optional<layout::Range> range = layout::places(places);
  return range && range->lowest >= -layout::kMaxSharedBytes &&
         range->highest < layout::kMaxSharedBytes;
}

/// Whether a copy of `chunk` bytes can be gathered so.
static bool isGather(ArrayRef<int64_t> gather, int64_t chunk) {
  if (gather.size() % 2 != 0 || gather[0] < 1 || chunk < 1 ||
      chunk % gather[0] != 0)
    return false;
  int64_t parts = chunk / gather[0];
  for (size_t i = 2; i < gather.size(); i += 2) {
    if (gather[i] < 2 || parts % gather[i] != 0)
      return false;
    parts /= gather[i];
  }
  return true;
}

SmallVector<int64_t> CopyPlanAttr::getSrcPartOffsets() const {
  ArrayRef<int64_t> gather = getSrcGather();
  if (gather.empty())
    return {0};
  SmallVector<int64_t> offsets;
  for (int64_t part = 0; part < getChunk() / gather[0]; ++part) {
    int64_t offset = 0, rest = part;
    for (size_t i = 2; i < gather.size(); i += 2) {
      offset += rest % gather[i] * gather[i - 1];
      rest /= gather[i];
    }
    offsets.push_back(offset + rest * gather.back());
  }
  return offsets;
}

LogicalResult CopyPlanAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringRef variant,
    int64_t chunk, int64_t count, ArrayRef<int64_t> loops, int64_t srcStart,
    ArrayRef<int64_t> srcSteps, ArrayRef<int64_t> srcSwizzle,
    ArrayRef<int64_t> srcGather, int64_t dstStart, ArrayRef<int64_t> dstSteps,
    ArrayRef<int64_t> dstSwizzle, int64_t threads, int64_t clk) {
  if (!llvm::is_contained(getVariantNames(), variant))
    return emitError() << "plan variant must be one of "
                       << llvm::join(getVariantNames(), ", ") << ", got '"
                       << variant << "'";
  if (chunk < 0 || count < 0)
    return emitError() << "plan chunk and count must not be negative, got "
                       << chunk << " and " << count;
  int64_t points = 1, total = 0;
  for (int64_t extent : loops)
    if (extent < 2 || llvm::MulOverflow(points, extent, points))
      return emitError() << "plan loops must be extents of 2 or more whose "
                            "product fits 64 bits, got "
                         << extent;
  if (count != 0 && count != points)
    return emitError() << "plan count must be the product of its loops, "
                       << points << ", got " << count;
  if (llvm::MulOverflow(chunk, count, total))
    return emitError() << "plan must copy fewer than 2^63 bytes, got chunk "
                       << chunk << " and count " << count;
  for (auto [name, steps] : {std::pair("src", srcSteps), {"dst", dstSteps}})
    if (steps.size() != loops.size())
      return emitError() << "plan must have one " << name
                         << " step for each loop, got " << steps.size()
                         << " steps and " << loops.size() << " loops";
  for (auto [name, start, steps] :
       {std::tuple("src", srcStart, srcSteps), {"dst", dstStart, dstSteps}})
    if (!fitsAddresses(start, loops, steps))
      return emitError() << "plan " << name
                         << " must stay within 2^31 bytes of its start";
  for (auto [name, swizzle] :
       {std::pair("src", srcSwizzle), {"dst", dstSwizzle}})
    if (!swizzle.empty() &&
        (swizzle.size() != 3 || swizzle[0] < 1 || swizzle[1] < 0 ||
         swizzle[2] < swizzle[0] || swizzle[0] > 62 || swizzle[1] > 62 ||
         swizzle[2] > 62 || swizzle[0] + swizzle[1] + swizzle[2] > 62))
      return emitError() << "plan " << name
                         << " swizzle must be [bits, base, shift] with bits of "
                            "1 or more and shift of bits or more";
  if (!srcGather.empty() && !isGather(srcGather, chunk))
    return emitError() << "plan src gather must be [bytes, step], then pairs "
                          "of a count and a step, with bytes and counts that "
                          "divide the chunk of "
                       << chunk;
  if (threads < 0 || clk < 0)
    return emitError() << "plan threads and clk must not be negative, got "
                       << threads << " and " << clk;
  return success();
}
