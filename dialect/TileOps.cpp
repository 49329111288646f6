// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"
#include "dialect/Reductions.h"
#include "dialect/VerifyOperands.h"

#include "mlir/IR/Builders.h"
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

/// Parses ` cache_hint(evict_first)` or ` cache_hint(%policy)`.
static ParseResult
parseCacheHint(OpAsmParser &parser,
               std::optional<OpAsmParser::UnresolvedOperand> &policy,
               CacheHintAttr &hint) {
  if (failed(parser.parseOptionalKeyword("cache_hint")))
    return success();
  if (parser.parseLParen())
    return failure();
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult given = parser.parseOptionalOperand(operand);
  if (given.has_value()) {
    if (failed(*given))
      return failure();
    policy = operand;
    return parser.parseRParen();
  }
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name) || parser.parseRParen())
    return failure();
  std::optional<CacheHint> known = symbolizeCacheHint(name);
  if (!known)
    return parser.emitError(loc) << "cache_hint must be a value, evict_first, "
                                    "evict_last or evict_normal, got '"
                                 << name << "'";
  hint = CacheHintAttr::get(parser.getContext(), *known);
  return success();
}

static void printCacheHint(OpAsmPrinter &printer, Operation *, Value policy,
                           CacheHintAttr hint) {
  if (policy)
    printer << " cache_hint(" << policy << ')';
  else if (hint)
    printer << " cache_hint(" << stringifyCacheHint(hint.getValue()) << ')';
}

#define GET_OP_CLASSES
#include "dialect/TileOps.cpp.inc"

static LogicalResult verifyBuffer(CopyAsyncOp op, StringRef side,
                                  MemRefType type) {
  if (!isWorkgroupMemory(type.getMemorySpace()) &&
      !isGlobalMemory(type.getMemorySpace())) {
    InFlightDiagnostic diag = op.emitOpError(side)
                              << " must be in workgroup or global memory, got "
                              << type;
    if (isClusterMemory(type.getMemorySpace()))
      diag.attachNote() << "name the CTA's own buffer and cta(%rank): the copy "
                           "maps it";
    return diag;
  }
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

/// Who receives the tile, and what completes.
static LogicalResult verifyReceivers(CopyAsyncOp op) {
  bool fromGlobal =
      isGlobalMemory(cast<MemRefType>(op.getSrc().getType()).getMemorySpace());
  bool toGlobal =
      isGlobalMemory(cast<MemRefType>(op.getDst().getType()).getMemorySpace());
  // c11
  if (fromGlobal && toGlobal) {
    InFlightDiagnostic diag =
        op.emitOpError("must have a side in workgroup memory, got ");
    diag << op.getSrc().getType() << " and " << op.getDst().getType();
    diag.attachNote() << "copy through a workgroup buffer: the hardware copies "
                         "nothing from global to global memory";
    return diag;
  }
  // c12
  if (op.getRank() && op.getMask())
    return op.emitOpError("must have cta(%rank) or ctas(%mask), got both");
  if (!fromGlobal && !toGlobal && !op.hasReceivers()) {
    InFlightDiagnostic diag = op.emitOpError(
        "must say which CTA receives a tile from workgroup memory");
    diag.attachNote() << "write cta(%rank) or ctas(%mask); within a CTA, copy "
                         "with loads and stores";
    return diag;
  }
  // c13
  if (!toGlobal && !op.getBarriers()) {
    InFlightDiagnostic diag = op.emitOpError(
        "must name the barrier that completes a copy into workgroup memory");
    diag.attachNote() << "write mbarrier(%barriers[%index])";
    return diag;
  }
  if (bool(op.getBarriers()) != bool(op.getBarrierIndex()))
    return op.emitOpError("must have a barrier group and an index, got one of "
                          "them");
  // c14
  if (toGlobal && op.hasReceivers())
    return op.emitOpError("destination must be in workgroup memory for a CTA "
                          "to receive it, got ")
           << op.getDst().getType();
  if (toGlobal && op.getBarriers()) {
    InFlightDiagnostic diag =
        op.emitOpError("must have no barrier to global memory");
    diag.attachNote() << "it completes in a bulk group: execute "
                         "nvvm.cp.async.bulk.commit.group, then wait_group";
    return diag;
  }
  return success();
}

/// c15
static LogicalResult verifyReduce(CopyAsyncOp op) {
  if (!op.getReduce())
    return success();
  ReductionKind kind = *op.getReduce();
  Type type = cast<MemRefType>(op.getSrc().getType()).getElementType();
  switch (op.getDirection()) {
  case Direction::Load: {
    InFlightDiagnostic diag = op.emitOpError(
        "source must be in workgroup memory to be reduced, got ");
    diag << op.getSrc().getType();
    diag.attachNote() << "load it into a buffer of its own, and combine there";
    return diag;
  }
  case Direction::Store: {
    if (reducesInGlobal(kind, type))
      return success();
    InFlightDiagnostic diag = op.emitOpError("cannot reduce ");
    diag << type << " by " << stringifyReductionKind(kind)
         << " in global memory";
    diag.attachNote() << "the hardware has add of i32, i64, f16, bf16, f32 and "
                         "f64; min and max of i32 and i64, and as minnumf and "
                         "maxnumf of f16 and bf16; and, or, xor of i32 and "
                         "i64; inc and dec of i32; use memref.atomic_rmw for "
                         "others";
    return diag;
  }
  case Direction::Peer: {
    if (reducesInPeer(kind, type))
      return success();
    InFlightDiagnostic diag = op.emitOpError("cannot reduce ");
    diag << type << " by " << stringifyReductionKind(kind) << " into a peer";
    diag.attachNote() << "the hardware has add of i32 and i64, and min, max, "
                         "and, or, xor, inc and dec of i32; combine others "
                         "over the cluster with tile.all_reduce, or in one "
                         "place with memref.atomic_rmw on a tile.peer";
    return diag;
  }
  }
  return success();
}

/// c16
static LogicalResult verifyCacheHint(CopyAsyncOp op) {
  if (op.getCachePolicy() && op.getCacheHint())
    return op.emitOpError("must have one cache hint, got a policy and ")
           << stringifyCacheHint(*op.getCacheHint());
  if ((op.getCachePolicy() || op.getCacheHint()) &&
      op.getDirection() == Direction::Peer)
    return op.emitOpError("must have a side in global memory for a cache hint, "
                          "got ")
           << op.getSrc().getType() << " and " << op.getDst().getType();
  return success();
}

Direction CopyAsyncOp::getDirection() {
  auto isGlobal = [](Value side) {
    return isGlobalMemory(cast<MemRefType>(side.getType()).getMemorySpace());
  };
  return isGlobal(getSrc())   ? Direction::Load
         : isGlobal(getDst()) ? Direction::Store
                              : Direction::Peer;
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
  if (failed(verifyElementType(*this, src.getElementType())) ||
      failed(verifyReceivers(*this)))
    return failure();
  if (getBarriers() && failed(verifyBarrier(*this)))
    return failure();
  if (getRank() && failed(verifyRank(*this)))
    return failure();
  if (failed(verifyReduce(*this)) || failed(verifyCacheHint(*this)))
    return failure();
  if (std::optional<StringRef> variant = getVariant();
      variant && !findVariant(*variant))
    return emitOpError("variant must be one of ")
           << llvm::join(getVariantNames(), ", ") << ", got \"" << *variant
           << '"';
  return success();
}
