// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ranked memref as host code passes it, of any rank and element type.

#ifndef TILE_RUNTIME_MEMREFDESCRIPTOR_H
#define TILE_RUNTIME_MEMREFDESCRIPTOR_H

#include <cstdint>

namespace tile::runtime {

class MemRefDescriptor {
public:
  MemRefDescriptor(int64_t rank, void *descriptor, int64_t elementBytes)
      : rank(rank), elementBytes(elementBytes),
        fields(static_cast<Fields *>(descriptor)) {
    for (int64_t i = 0; i < rank; ++i) {
      isEmpty |= size(i) == 0;
      int64_t reach = (size(i) - 1) * stride(i);
      (reach < 0 ? lowest : highest) += reach;
    }
  }

  int64_t size(int64_t i) const { return fields->sizesAndStrides[i]; }
  int64_t stride(int64_t i) const { return fields->sizesAndStrides[rank + i]; }

  /// The element with index 0 in each dimension.
  char *origin() const {
    return fields->aligned + fields->offset * elementBytes;
  }
  /// The lowest address that an element occupies.
  char *firstByte() const { return origin() + lowest * elementBytes; }
  /// From there to the end of the highest element.
  uint64_t spanBytes() const {
    return isEmpty ? 0 : (highest - lowest + 1) * elementBytes;
  }

private:
  struct Fields {
    char *allocated;
    char *aligned;
    int64_t offset;
    int64_t sizesAndStrides[1]; // 2 * rank of them
  };

  int64_t rank;
  int64_t elementBytes;
  Fields *fields;
  bool isEmpty = false;
  int64_t lowest = 0;
  int64_t highest = 0;
};

} // namespace tile::runtime

#endif // TILE_RUNTIME_MEMREFDESCRIPTOR_H
