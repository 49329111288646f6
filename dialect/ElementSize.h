// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_ELEMENT_SIZE_H
#define TILE_ELEMENT_SIZE_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace tile {

/// Bits that an element takes in a buffer: integers, floats, index (64),
/// complex and vectors of these. Elements of less than a byte lie packed.
/// Nothing for other types, and for sizes that are no power of two, which have
/// no packing.
std::optional<int64_t> elementBits(mlir::Type type);

} // namespace tile

#endif // TILE_ELEMENT_SIZE_H
