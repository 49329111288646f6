// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/TileDialect.h"
#include "lib/Layout/Layout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tile;

static FailureOr<SmallVector<int64_t>> parseNumbers(AsmParser &parser) {
  SmallVector<int64_t> numbers;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(numbers.emplace_back());
      }))
    return failure();
  return numbers;
}

static void printNumbers(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << '[';
  llvm::interleaveComma(numbers, printer);
  printer << ']';
}

static FailureOr<SmallVector<int64_t>> parseSteps(AsmParser &parser) {
  SmallVector<int64_t> steps;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        if (succeeded(parser.parseOptionalQuestion())) {
          steps.push_back(ShapedType::kDynamic);
          return ParseResult(success());
        }
        return ParseResult(parser.parseInteger(steps.emplace_back()));
      }))
    return failure();
  return steps;
}

static void printSteps(AsmPrinter &printer, ArrayRef<int64_t> steps) {
  printer << '[';
  llvm::interleaveComma(steps, printer, [&](int64_t step) {
    if (ShapedType::isDynamic(step))
      printer << '?';
    else
      printer << step;
  });
  printer << ']';
}

static FailureOr<std::string> parseName(AsmParser &parser) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  return name;
}

#define GET_ATTRDEF_CLASSES
#include "dialect/TileAttrs.cpp.inc"

void TileDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/TileAttrs.cpp.inc"
      >();
}

/// Whether all chunks begin where a pointer to shared memory can point.
static bool fitsAddresses(CopySideAttr side, ArrayRef<int64_t> loops) {
  SmallVector<int64_t> steps(side.getSteps());
  // What only the run time knows may be anywhere in global memory.
  for (int64_t &step : steps)
    if (ShapedType::isDynamic(step))
      step = 0;
  layout::Layout places = layout::strided(loops, steps);
  places.offset = side.getStart();
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

SmallVector<int64_t> CopyPlanAttr::getPartOffsets() const {
  ArrayRef<int64_t> gather = getSrc().getGather();
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

LogicalResult CopySideAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t start, ArrayRef<int64_t> steps,
                                   ArrayRef<int64_t> swizzle,
                                   ArrayRef<int64_t> gather,
                                   ArrayRef<int64_t> strides) {
  if (!swizzle.empty() &&
      (swizzle.size() != 3 || swizzle[0] < 1 || swizzle[1] < 0 ||
       swizzle[2] < swizzle[0] || swizzle[0] > 62 || swizzle[1] > 62 ||
       swizzle[2] > 62 || swizzle[0] + swizzle[1] + swizzle[2] > 62))
    return emitError() << "plan swizzle must be [bits, base, shift] with bits "
                          "of 1 or more and shift of bits or more";
  int64_t unknown = llvm::count_if(steps, ShapedType::isDynamic);
  if (static_cast<int64_t>(strides.size()) != 2 * unknown)
    return emitError() << "plan strides must have a dimension and a factor for "
                          "each '?' of the steps, got "
                       << strides.size() << " numbers for " << unknown;
  for (size_t i = 0; i < strides.size(); i += 2)
    if (strides[i] < 0)
      return emitError() << "plan strides must name dimensions, got "
                         << strides[i];
  if (unknown && (!swizzle.empty() || !gather.empty()))
    return emitError() << "plan must have no swizzle and no gather on a side "
                          "with strides";
  return success();
}

LogicalResult CopyPlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef variant, int64_t chunk,
                                   int64_t count, ArrayRef<int64_t> loops,
                                   CopySideAttr src, CopySideAttr dst,
                                   int64_t threads, int64_t cycles) {
  if (!findVariant(variant))
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
  for (auto [name, side] : {std::pair("src", src), {"dst", dst}}) {
    if (side.getSteps().size() != loops.size())
      return emitError() << "plan must have one " << name
                         << " step for each loop, got "
                         << side.getSteps().size() << " steps and "
                         << loops.size() << " loops";
    if (!fitsAddresses(side, loops))
      return emitError() << "plan " << name
                         << " must stay within 2^31 bytes of its start";
  }
  if (!src.getGather().empty() && !isGather(src.getGather(), chunk))
    return emitError() << "plan src gather must be [bytes, step], then pairs "
                          "of a count and a step, with bytes and counts that "
                          "divide the chunk of "
                       << chunk;
  if (!dst.getGather().empty())
    return emitError() << "plan dst must have no gather: a copy is written in "
                          "one piece";
  if (threads < 0 || cycles < 0)
    return emitError() << "plan threads and cycles must not be negative, got "
                       << threads << " and " << cycles;
  return success();
}
