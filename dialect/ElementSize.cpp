// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialect/ElementSize.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

static std::optional<int64_t> anyBits(Type type) {
  if (type.isIndex())
    return 64;
  if (type.isIntOrFloat())
    return type.getIntOrFloatBitWidth();
  std::optional<int64_t> part;
  int64_t count = 0, bits = 0;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    part = anyBits(complex.getElementType());
    count = 2;
  } else if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.isScalable())
      return std::nullopt;
    part = anyBits(vector.getElementType());
    count = vector.getNumElements();
  }
  if (!part || llvm::MulOverflow(*part, count, bits))
    return std::nullopt;
  return bits;
}

std::optional<int64_t> tile::elementBits(Type type) {
  std::optional<int64_t> bits = anyBits(type);
  // Everything upstream stores a bit in a byte of its own; who means packed
  // bits has vectors of them.
  if (!bits || !llvm::isPowerOf2_64(*bits) || *bits == 1)
    return std::nullopt;
  return bits;
}
