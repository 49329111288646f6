// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"

#include "lib/Layout/Layout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

std::optional<int64_t> tile::elementBits(Type type) {
  if (type.isIndex())
    return 64;
  if (type.isIntOrFloat()) {
    // Everything upstream stores a bit in a byte of its own; who means packed
    // bits has vectors of them.
    int64_t bits = type.getIntOrFloatBitWidth();
    bool isPacked = bits == 2 || bits == 4;
    return isPacked || (bits % 8 == 0 && bits != 0) ? std::optional(bits)
                                                    : std::nullopt;
  }
  if (auto complex = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> part = elementBits(complex.getElementType());
    return part && *part >= 8 ? std::optional(2 * *part) : std::nullopt;
  }
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.isScalable())
    return std::nullopt;
  Type element = vector.getElementType();
  int64_t part = element.isIndex() ? 64 : 0, bits = 0;
  if (element.isIntOrFloat())
    part = element.getIntOrFloatBitWidth();
  // Vectors of other sizes are padded in memory.
  std::optional<int64_t> count = layout::product(vector.getShape());
  if (!count || llvm::MulOverflow(part, *count, bits) || bits < 8 ||
      !llvm::isPowerOf2_64(bits))
    return std::nullopt;
  return bits;
}
