// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tile;

/// Parses ` issue(warp)`; without it the op is issued by one thread.
static ParseResult parseIssue(OpAsmParser &parser, IssueAttr &issue) {
  Issue value = Issue::Thread;
  if (succeeded(parser.parseOptionalKeyword("issue"))) {
    StringRef name;
    SMLoc loc;
    if (parser.parseLParen() || parser.getCurrentLocation(&loc) ||
        parser.parseKeyword(&name) || parser.parseRParen())
      return failure();
    std::optional<Issue> known = symbolizeIssue(name);
    if (!known)
      return parser.emitError(loc)
             << "issue must be thread, warp or cta, got '" << name << "'";
    value = *known;
  }
  issue = IssueAttr::get(parser.getContext(), value);
  return success();
}

static void printIssue(OpAsmPrinter &printer, Operation *, IssueAttr issue) {
  if (issue.getValue() != Issue::Thread)
    printer << " issue(" << stringifyIssue(issue.getValue()) << ')';
}

/// Parses ` reduce(add)`; without it a store overwrites.
static ParseResult parseReduce(OpAsmParser &parser, ReductionKindAttr &reduce) {
  if (failed(parser.parseOptionalKeyword("reduce")))
    return success();
  StringRef name;
  SMLoc loc;
  if (parser.parseLParen() || parser.getCurrentLocation(&loc) ||
      parser.parseKeyword(&name) || parser.parseRParen())
    return failure();
  std::optional<ReductionKind> known = symbolizeReductionKind(name);
  if (!known)
    return parser.emitError(loc)
           << "reduce must be one of the kinds of gpu.all_reduce, inc or dec, "
              "got '"
           << name << "'";
  reduce = ReductionKindAttr::get(parser.getContext(), *known);
  return success();
}

static void printReduce(OpAsmPrinter &printer, Operation *,
                        ReductionKindAttr reduce) {
  if (reduce)
    printer << " reduce(" << stringifyReductionKind(reduce.getValue()) << ')';
}

#define GET_OP_CLASSES
#include "dialect/TileOps.cpp.inc"

static LogicalResult verifyBuffer(CopyAsyncOp op, StringRef side,
                                  MemRefType type) {
  if (!isWorkgroupMemory(type.getMemorySpace()))
    return op.emitOpError(side) << " must be in workgroup memory, got " << type;
  for (auto [dim, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isDynamic(extent))
      return op.emitOpError(side) << " must have static extents, got '?' in "
                                     "dimension "
                                  << dim << " of " << type;
  return success();
}

static LogicalResult verifyElementType(CopyAsyncOp op, Type type) {
  if (elementBits(type))
    return success();
  InFlightDiagnostic diag =
      op.emitOpError("element type must be an integer, a float, index, complex "
                     "or a vector of these, of whole bytes or of 2 or 4 bits, "
                     "got ");
  diag << type;
  diag.attachNote() << "pack elements of other sizes into i8";
  return diag;
}

LogicalResult CopyAsyncOp::verify() {
  auto src = cast<MemRefType>(getSrc().getType());
  auto dst = cast<MemRefType>(getDst().getType());
  if (failed(verifyBuffer(*this, "source", src)) ||
      failed(verifyBuffer(*this, "destination", dst)))
    return failure();
  if (src.getShape() != dst.getShape())
    return emitOpError("source and destination must have the same shape, got ")
           << src << " and " << dst;
  if (src.getElementType() != dst.getElementType())
    return emitOpError(
               "source and destination must have the same element type, got ")
           << src.getElementType() << " and " << dst.getElementType();
  if (failed(verifyElementType(*this, src.getElementType())))
    return failure();

  nvgpu::MBarrierGroupType group = getBarriers().getType();
  if (!isWorkgroupMemory(group.getMemorySpace()))
    return emitOpError("barrier group must be in workgroup memory, got ")
           << group;
  IntegerAttr constant;
  if (matchPattern(getBarrierIndex(), m_Constant(&constant)) &&
      (constant.getInt() < 0 || constant.getInt() >= group.getNumBarriers()))
    return emitOpError("barrier index must be in 0 to ")
           << group.getNumBarriers() - 1 << ", got " << constant.getInt();
  if (matchPattern(getRank(), m_Constant(&constant)) &&
      (constant.getInt() < 0 || constant.getInt() >= kMaxClusterSize))
    return emitOpError("rank must be in 0 to ")
           << kMaxClusterSize - 1 << ", got " << constant.getInt();
  if (std::optional<StringRef> variant = getVariant();
      variant && !findVariant(*variant))
    return emitOpError("variant must be one of ")
           << llvm::join(getVariantNames(), ", ") << ", got \"" << *variant
           << '"';
  return success();
}
