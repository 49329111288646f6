// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Plan/StoredElements.h"
#include "lib/Plan/Alignment.h"

#include <numeric>

using namespace mlir;
using namespace tile;

static std::string number(int64_t value) { return std::to_string(value); }

static std::optional<Refusal> checkIndices(StoreAsyncOp op) {
  auto type = cast<MemRefType>(op.getDst().getType());
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    std::optional<int64_t> constant = constantOf(index);
    bool isLast = int64_t(dim) + 1 == type.getRank();
    int64_t count = isLast ? op.getStoredElements() : 1;
    if (!constant || type.isDynamicDim(dim) ||
        (*constant >= 0 && *constant <= type.getDimSize(dim) - count))
      continue;
    return Refusal{
        "destination index of dimension " + number(dim) + " must be in 0 to " +
            number(type.getDimSize(dim) - count) + ", got " + number(*constant),
        ""};
  }
  return std::nullopt;
}

/// Whether `count` elements along the last dimension are contiguous.
static std::optional<Refusal>
checkContiguous(StoreAsyncOp op, const TracedTile &dst, int64_t count) {
  const layout::Dimension &modes = dst.layout.dimensions.back();
  std::string fix = "store single elements, or choose a layout in which " +
                    number(count) + " elements of a row are contiguous";
  if (modes.empty() || modes.back().stride != 1)
    return Refusal{"destination elements must be contiguous along the last "
                   "dimension, got a stride of " +
                       number(modes.empty() ? 0 : modes.back().stride),
                   fix};
  int64_t run = modes.back().extent;
  if (dst.layout.swizzle)
    run = std::gcd(run, dst.layout.swizzle->unit());
  if (modes.size() == 1 && !dst.layout.swizzle)
    return std::nullopt;
  if (run % count != 0)
    return Refusal{"destination elements must be contiguous, got a layout that "
                   "is contiguous in runs of " +
                       number(run),
                   fix};
  Offset index;
  index.add(op.getIndices().back(), 1);
  int64_t divisor = std::gcd(index.known, runtimeDivisor(index));
  if (modes.size() == 1 || divisor % count == 0)
    return std::nullopt;
  return Refusal{"destination index must be a multiple of " + number(count) +
                     " for its elements to be contiguous, got a multiple of " +
                     number(divisor),
                 "multiply the index by " + number(count) +
                     ", or promise its divisor with tile.assume_multiple"};
}

std::optional<Refusal> tile::checkStoredElements(StoreAsyncOp op,
                                                 const TracedTile &dst) {
  if (std::optional<Refusal> refusal = checkIndices(op))
    return refusal;
  int64_t bytes = op.getStoredBytes(), count = op.getStoredElements();
  if (count > 1)
    if (std::optional<Refusal> refusal = checkContiguous(op, dst, count))
      return refusal;
  for (const Origin &origin : dst.origins)
    if (std::optional<Refusal> refusal =
            checkOrigin("destination", origin, bytes))
      return refusal;
  Offset offset = dst.offset;
  for (auto [modes, index] :
       llvm::zip_equal(dst.layout.dimensions, op.getIndices()))
    addIndex(offset, modes, index);
  if (count == 1)
    return std::nullopt;
  int64_t divisor =
      offset.overflowed ? 1 : std::gcd(offset.known, runtimeDivisor(offset));
  if (divisor % count == 0)
    return std::nullopt;
  if (offset.isStatic())
    return Refusal{"destination must begin at a multiple of " + number(bytes) +
                       " bytes, got byte " +
                       number(offset.known * dst.elementBits / 8),
                   "move it to a multiple of " + number(count) + " elements"};
  return Refusal{"destination must begin at a multiple of " + number(bytes) +
                     " bytes, got a run-time offset that is a multiple of " +
                     number(divisor * dst.elementBits / 8),
                 "multiply the index by " + number(count / divisor) +
                     ", or promise its divisor with tile.assume_multiple"};
}
