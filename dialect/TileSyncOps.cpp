// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"
#include "dialect/TileDialect.h"
#include "dialect/VerifyOperands.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tile;

LogicalResult ArriveOp::verify() {
  if (failed(verifyBarrier(*this)))
    return failure();
  return verifyRank(*this);
}

/// The bytes of a tile; nothing where they do not fit 64 bits.
static std::optional<int64_t> bytesOf(MemRefType type) {
  int64_t bits = *elementBits(type.getElementType());
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(bits, extent, bits))
      return std::nullopt;
  return llvm::divideCeil(bits, 8);
}

static LogicalResult verifyDestination(ExpectOp op, MemRefType type) {
  if (!isWorkgroupMemory(type.getMemorySpace()))
    return op.emitOpError("destination must be in workgroup memory, got ")
           << type;
  if (!type.hasStaticShape())
    return op.emitOpError("destination must have static extents, got ") << type;
  if (elementBits(type.getElementType()))
    return success();
  return op.emitOpError("element type must be an integer, a float, index, "
                        "complex or a vector of these, of whole bytes or of 2 "
                        "or 4 bits, got ")
         << type.getElementType();
}

LogicalResult ExpectOp::verify() {
  if (failed(verifyBarrier(*this)))
    return failure();
  if (getDestinations().empty())
    return emitOpError("must name at least one destination");
  int64_t total = 0;
  for (Value destination : getDestinations()) {
    auto type = cast<MemRefType>(destination.getType());
    if (failed(verifyDestination(*this, type)))
      return failure();
    std::optional<int64_t> bytes = bytesOf(type);
    if (bytes && !llvm::AddOverflow(total, *bytes, total) &&
        total <= kMaxPhaseBytes)
      continue;
    InFlightDiagnostic diag = emitOpError("must expect at most ")
                              << kMaxPhaseBytes << " bytes in one phase, got ";
    if (bytes)
      diag << total;
    else
      diag << "more than 2^63";
    diag.attachNote()
        << "split the tiles and give each part a phase of its own";
    return diag;
  }
  return success();
}

int64_t ExpectOp::getExpectedBytes() {
  int64_t total = 0;
  for (Value destination : getDestinations())
    total += getTileBytes(destination);
  return total;
}

int64_t tile::getTileBytes(Value memref) {
  return bytesOf(cast<MemRefType>(memref.getType())).value_or(INT64_MAX);
}

LogicalResult WaitOp::verify() {
  if (failed(verifyBarrier(*this)))
    return failure();
  if (std::optional<int64_t> spins = getMaxSpins();
      spins && (*spins < 1 || *spins > INT32_MAX))
    return emitOpError("spins must be in 1 to 2147483647, got ") << *spins;
  return success();
}
