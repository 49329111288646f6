// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constraints on operands that several ops have.
#ifndef TILE_DIALECT_VERIFY_OPERANDS_H
#define TILE_DIALECT_VERIFY_OPERANDS_H

#include "dialect/TileDialect.h"

#include "mlir/IR/Matchers.h"

namespace tile {

/// The group is in workgroup memory, and a constant index inside of it.
template <typename Op> mlir::LogicalResult verifyBarrier(Op op) {
  mlir::nvgpu::MBarrierGroupType group = op.getBarriers().getType();
  if (!isWorkgroupMemory(group.getMemorySpace()))
    return op.emitOpError("barrier group must be in workgroup memory, got ")
           << group;
  mlir::IntegerAttr index;
  if (matchPattern(op.getBarrierIndex(), mlir::m_Constant(&index)) &&
      (index.getInt() < 0 ||
       index.getInt() >= static_cast<int64_t>(group.getNumBarriers())))
    return op.emitOpError("barrier index must be in 0 to ")
           << group.getNumBarriers() - 1 << ", got " << index.getInt();
  return mlir::success();
}

/// A constant rank is one that a cluster can have.
template <typename Op> mlir::LogicalResult verifyRank(Op op) {
  mlir::IntegerAttr rank;
  if (matchPattern(op.getRank(), mlir::m_Constant(&rank)) &&
      (rank.getInt() < 0 || rank.getInt() >= kMaxClusterSize))
    return op.emitOpError("rank must be in 0 to ")
           << kMaxClusterSize - 1 << ", got " << rank.getInt();
  return mlir::success();
}

} // namespace tile

#endif // TILE_DIALECT_VERIFY_OPERANDS_H
