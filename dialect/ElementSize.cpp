// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"

#include "lib/Layout/Layout.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

std::optional<int64_t> tile::elementBits(Type type) {
  if (type.isIndex())
    return 64;
  // A bool is a byte, as it is to all who pass arrays of them; who means packed
  // bits has vectors of them.
  if (type.isInteger(1))
    return 8;
  if (type.isIntOrFloat()) {
    int64_t bits = type.getIntOrFloatBitWidth();
    // Other widths than powers of two, i24 for one, are padded to the next.
    return llvm::isPowerOf2_64(bits) ? std::optional(bits) : std::nullopt;
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
  // Vectors of other sizes are padded in memory, and of more dimensions it is
  // their rows.
  std::optional<int64_t> count = layout::product(vector.getShape());
  int64_t row = 0, width = vector.getRank() ? vector.getShape().back() : 1;
  if (!count || llvm::MulOverflow(part, width, row) || row < 8 ||
      !llvm::isPowerOf2_64(row) || llvm::MulOverflow(part, *count, bits) ||
      !llvm::isPowerOf2_64(bits))
    return std::nullopt;
  return bits;
}
