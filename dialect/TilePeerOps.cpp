// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/Reductions.h"
#include "dialect/VerifyOperands.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace tile;

/// The bits of an element that a thread holds in registers and memory holds
/// alike; 0 for others.
static int64_t storedBits(Type type) {
  if (isa<IndexType>(type))
    return 64;
  if (!type.isIntOrFloat())
    return 0;
  int64_t bits = type.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? bits : 0;
}

int64_t StoreAsyncOp::getStoredBytes() {
  Type type = getValue().getType();
  int64_t count = 1;
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.isScalable())
      return 0;
    count = vector.getNumElements();
    type = vector.getElementType();
  }
  return count * storedBits(type) / 8;
}

int64_t StoreAsyncOp::getStoredElements() {
  auto vector = dyn_cast<VectorType>(getValue().getType());
  return vector &&
                 vector != cast<MemRefType>(getDst().getType()).getElementType()
             ? vector.getNumElements()
             : 1;
}

static LogicalResult verifyReduce(StoreAsyncOp op) {
  if (!op.getReduce())
    return success();
  Type type = op.getValue().getType();
  if (reducesInPeer(*op.getReduce(), type))
    return success();
  if (!reducesInPeer(*op.getReduce(), IntegerType::get(op.getContext(), 32)))
    return op.emitOpError("reduce must be add, minsi, maxsi, minui, maxui, "
                          "and, or, xor, inc or dec, got ")
           << stringifyReductionKind(*op.getReduce());
  InFlightDiagnostic diag = op.emitOpError("value must be an i32");
  if (*op.getReduce() == ReductionKind::Add)
    diag << " or an i64";
  diag << " to be reduced by " << stringifyReductionKind(*op.getReduce())
       << ", got " << type;
  diag.attachNote() << "combine values over the cluster with tile.all_reduce, "
                       "or in one place with memref.atomic_rmw on a tile.peer";
  return diag;
}

LogicalResult StoreAsyncOp::verify() {
  auto dst = cast<MemRefType>(getDst().getType());
  // p1
  if (!isWorkgroupMemory(dst.getMemorySpace()))
    return emitOpError("destination must be in workgroup memory, got ") << dst;
  // p2
  Type element = dst.getElementType(), value = getValue().getType();
  auto vector = dyn_cast<VectorType>(value);
  if (value != element &&
      (!vector || vector.getRank() != 1 || vector.getElementType() != element))
    return emitOpError("value must have the element type of the destination, "
                       "or be a vector of it, got ")
           << value << " and " << dst;
  // p3
  if (int64_t bytes = getStoredBytes(); bytes != 4 && bytes != 8 && bytes != 16)
    return emitOpError("value must have 4, 8 or 16 bytes, in elements of 8, "
                       "16, 32 or 64 bits, got ")
           << value;
  // p4
  if (static_cast<int64_t>(getIndices().size()) != dst.getRank())
    return emitOpError("must have one index for each dimension of ")
           << dst << ", got " << getIndices().size();
  if (dst.getRank() == 0 && value != element)
    return emitOpError("destination of a vector must have a dimension, got ")
           << dst;
  // p5, p6 and p7, then p8
  if (failed(verifyBarrier(*this)) || failed(verifyRank(*this)))
    return failure();
  return verifyReduce(*this);
}

LogicalResult PeerOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  // q1
  if (!isWorkgroupMemory(source.getMemorySpace()))
    return emitOpError("source must be in workgroup memory, got ") << source;
  // q2
  Attribute space =
      IntegerAttr::get(IntegerType::get(getContext(), 64), kClusterMemorySpace);
  auto expected = MemRefType::get(source.getShape(), source.getElementType(),
                                  source.getLayout(), space);
  if (getResult().getType() != expected)
    return emitOpError("result must be ")
           << expected << ", got " << getResult().getType();
  // q3
  return verifyRank(*this);
}

Value PeerOp::getViewSource() { return getSource(); }
