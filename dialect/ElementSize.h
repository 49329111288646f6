// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TILE_ELEMENT_SIZE_H
#define TILE_ELEMENT_SIZE_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace tile {

/// Bits that an element takes in a buffer: integers and floats of whole bytes,
/// or of 2 or 4 bits, which are packed; i1 (8) and index (64); complex; vectors
/// of a power of two of bits. Nothing for other types.
std::optional<int64_t> elementBits(mlir::Type type);

} // namespace tile

#endif // TILE_ELEMENT_SIZE_H
