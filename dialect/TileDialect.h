// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile dialect: its ops and attributes, and nothing of the stages behind
// verification.
#ifndef TILE_DIALECT_H
#define TILE_DIALECT_H

#include "lib/Layout/Layout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include <string>
#include <vector>

#include "dialect/TileDialect.h.inc"
#include "dialect/TileEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/TileAttrs.h.inc"

namespace tile {

/// From which memory to which other one a copy goes.
enum class Direction : uint8_t {
  /// From workgroup memory to that of a CTA of the cluster.
  Peer = 1,
  /// From global to workgroup memory, and back.
  Load = 2,
  Store = 4
};

} // namespace tile

#define GET_OP_CLASSES
#include "dialect/TileOps.h.inc"

namespace tile {

/// The attribute by which a kernel asks for its fences and cluster barriers: a
/// unit attribute, or a dictionary in which a kernel says what it can do
/// without.
inline constexpr llvm::StringLiteral kInsertSyncName = "tile.insert_sync";
inline constexpr llvm::StringLiteral kWarFencesName = "war_fences";

/// The attributes by which the argument of a kernel promises what divides the
/// strides of a memref, and an offset of `?`, in elements.
inline constexpr llvm::StringLiteral kMultipleOfName = "tile.multiple_of";
inline constexpr llvm::StringLiteral kOffsetMultipleOfName =
    "tile.offset_multiple_of";

/// The ranks that a cluster can have: 0 to 15 (16 CTAs, beyond the portable 8,
/// is the hardware's limit).
constexpr int64_t kMaxClusterSize = 16;

/// Bytes that an mbarrier counts in one phase; beyond this, PTX defines
/// nothing.
constexpr int64_t kMaxPhaseBytes = (int64_t(1) << 20) - 1;

/// The bytes that a copy of the tile `memref` brings, however it lies in
/// memory. Its extents are static, and there are fewer than 2^63 bytes.
int64_t getTileBytes(mlir::Value memref);

/// What every stage may know of a variant of the copy; how it plans is known to
/// the analysis only.
struct VariantTraits {
  /// What `variant = "..."` and a plan call it.
  std::string name;
  /// Whether all threads that execute the op share its copies, so that one
  /// thread cannot be all of them.
  bool isCooperative = false;
  /// Whether it reads or writes shared memory through the async proxy, which
  /// ordinary accesses are ordered with by a proxy fence.
  bool usesAsyncProxy = true;
  /// Whether threads load what is copied, by ordinary accesses.
  bool threadsLoad = true;
  /// Whether it can combine bytes with the destination instead of overwriting
  /// it.
  bool reduces = false;
  /// Which directions it copies in.
  llvm::SmallVector<Direction, 3> directions{Direction::Peer};
  /// The PTX version, times ten, that has its instructions.
  int minPtx = 80;
};

/// The names of all variants, in the order in which they were registered.
std::vector<std::string> getVariantNames();

/// The variant of that name, if there is one.
std::optional<VariantTraits> findVariant(llvm::StringRef name);

/// Makes a variant known to all contexts of the process, or replaces the one of
/// its name. Threads may call it while others look for one.
void registerVariantTraits(VariantTraits traits);

/// Whether `memorySpace` is a CTA's shared memory:
/// `#gpu.address_space<workgroup>`, or the integer 3 that it becomes in NVVM.
bool isWorkgroupMemory(mlir::Attribute memorySpace);

/// Whether `memorySpace` is global memory: none, 1, or
/// `#gpu.address_space<global>`.
bool isGlobalMemory(mlir::Attribute memorySpace);

/// The memory space of `tile.peer` views: the shared memory of the whole
/// cluster, as in NVVM.
constexpr int64_t kClusterMemorySpace = 7;
bool isClusterMemory(mlir::Attribute memorySpace);

} // namespace tile

#endif // TILE_DIALECT_H
