// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which shared memory a value may name: the declarations behind views, casts,
// selections, and the arguments of loops and blocks.
#ifndef TILE_FACTS_ORIGINS_H
#define TILE_FACTS_ORIGINS_H

#include "mlir/IR/Value.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tile {

/// All that a buffer, a pointer or a barrier group may name in shared memory.
struct Origins {
  /// Values that declare memory of their own: attributions, allocations,
  /// globals by name, `gpu.dynamic_shared_memory`, `nvgpu.mbarrier.create`.
  llvm::SmallVector<mlir::Value> known;
  /// Whether it may be anything else in shared memory as well.
  bool hasUnknown = false;

  bool empty() const { return known.empty() && !hasUnknown; }
  void add(const Origins &other);
};

/// Nothing, where `value` surely names no shared memory.
Origins originsOf(mlir::Value value);

/// Whether two declarations are of one memory: the same global, the dynamic
/// shared memory, or the same value.
bool declareSameMemory(mlir::Value a, mlir::Value b);

/// The values of which `value` is one, where a selection, a branch or a loop
/// hands it on; nothing where it is made otherwise.
std::optional<llvm::SmallVector<mlir::Value>> incomingOf(mlir::Value value);

/// The buffer behind the views that `memref` is made of.
mlir::Value bufferBehind(mlir::Value memref);

} // namespace tile

#endif // TILE_FACTS_ORIGINS_H
