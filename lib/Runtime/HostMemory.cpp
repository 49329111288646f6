// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host code's own allocations, remembered until they are freed: a memref
// that it returns may be one, or an argument's memory, or a global's. And its
// copies of strided memrefs.

#include "HostCall.h"
#include "MemRefDescriptor.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_set>

using namespace tile::runtime;

namespace {
struct Allocations {
  std::mutex mutex;
  std::unordered_set<void *> live;
};
/// Never destroyed: arrays over results may outlive every other static.
Allocations &allocations() {
  static auto *instance = new Allocations;
  return *instance;
}

struct UnrankedMemRef {
  int64_t rank;
  void *descriptor;
};

/// Copies from dimension `i` on.
void copyFrom(int64_t i, int64_t rank, int64_t elementBytes,
              const MemRefDescriptor &from, const char *source,
              const MemRefDescriptor &to, char *target) {
  if (i == rank) {
    std::memcpy(target, source, elementBytes);
    return;
  }
  for (int64_t n = 0; n < from.size(i); ++n) {
    copyFrom(i + 1, rank, elementBytes, from, source, to, target);
    source += from.stride(i) * elementBytes;
    target += to.stride(i) * elementBytes;
  }
}

void *remember(void *pointer) {
  if (pointer) {
    std::lock_guard<std::mutex> lock(allocations().mutex);
    allocations().live.insert(pointer);
  }
  return pointer;
}
} // namespace

void *tile_runtime_malloc(size_t sizeBytes) {
  return remember(std::malloc(sizeBytes));
}

void *tile_runtime_aligned_alloc(size_t alignment, size_t sizeBytes) {
  return remember(aligned_alloc(alignment, sizeBytes));
}

void tile_runtime_dealloc(void *pointer) {
  if (pointer && tile_runtime_take(pointer))
    std::free(pointer);
  else if (pointer && !isShutDown())
    HostCall::current().refuse(
        "free", "the host program frees memory that it did not allocate, or "
                "not for the first time (memref.dealloc of an argument?)");
}

void tile_runtime_free(void *pointer) { std::free(pointer); }

int tile_runtime_take(void *pointer) {
  std::lock_guard<std::mutex> lock(allocations().mutex);
  return allocations().live.erase(pointer);
}

void memrefCopy(int64_t elementBytes, void *source, void *target) {
  auto [rank, sourceFields] = *static_cast<UnrankedMemRef *>(source);
  void *targetFields = static_cast<UnrankedMemRef *>(target)->descriptor;
  MemRefDescriptor from(rank, sourceFields, elementBytes);
  MemRefDescriptor to(rank, targetFields, elementBytes);
  copyFrom(0, rank, elementBytes, from, from.origin(), to, to.origin());
}
