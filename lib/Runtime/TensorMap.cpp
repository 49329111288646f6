// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps (TMA descriptors), encoded on the host and copied to the device.

#include "HostCall.h"
#include "MemRefDescriptor.h"

using namespace tile::runtime;

namespace {
constexpr int64_t kMaxRank = 5;
/// By CUtensorMapDataType.
constexpr int kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

bool encode(HostCall &call, CUtensorMap *map, int dataType, uint32_t rank,
            void *data, const uint64_t *dims, const uint64_t *strides,
            const uint32_t *box, const uint32_t *elementStrides, int interleave,
            int swizzle, int l2Promotion, int oobFill) {
  if (!call.api().cuTensorMapEncodeTiled) {
    call.refuse("cuTensorMapEncodeTiled", "this device has no tensor maps");
    return false;
  }
  std::string subject = "rank " + std::to_string(rank) + ", box";
  for (uint32_t i = 0; i < rank; ++i)
    subject += (i ? "x" : " ") + std::to_string(box[rank - 1 - i]);
  return call.check(call.api().cuTensorMapEncodeTiled(
                        map, dataType, rank, data, dims, strides, box,
                        elementStrides, interleave, swizzle, l2Promotion,
                        oobFill),
                    "cuTensorMapEncodeTiled", subject);
}
} // namespace

extern "C" {

TILE_RUNTIME_EXPORT void
mgpuTensorMapEncodeTiled(CUtensorMap *map, int dataType, uint32_t rank,
                         void *data, const uint64_t *dims,
                         const uint64_t *strides, const uint32_t *box,
                         const uint32_t *elementStrides, int interleave,
                         int swizzle, int l2Promotion, int oobFill) {
  EntryPoint call;
  if (call)
    encode(*call, map, dataType, rank, data, dims, strides, box, elementStrides,
           interleave, swizzle, l2Promotion, oobFill);
}

/// Returns the device address of a map of the memref `descriptor`, which lives
/// until the host call ends. Dimensions go from the fastest to the slowest.
TILE_RUNTIME_EXPORT void *
mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor, int dataType,
                               int interleave, int swizzle, int l2Promotion,
                               int oobFill, int64_t *inputBox) {
  EntryPoint call;
  if (!call)
    return nullptr;
  bool isKnownType = dataType >= 0 && dataType < int(std::size(kElementBytes));
  if (rank < 1 || rank > kMaxRank || !isKnownType) {
    call->refuse("cuTensorMapEncodeTiled",
                 "a tensor map must have a rank of 1 to 5 and a known data "
                 "type, got rank " +
                     std::to_string(rank) + " and data type " +
                     std::to_string(dataType));
    return nullptr;
  }
  MemRefDescriptor memref(rank, descriptor, kElementBytes[dataType]);
  if (memref.size(rank - 1) > 1 && memref.stride(rank - 1) != 1) {
    call->refuse("cuTensorMapEncodeTiled",
                 "a tensor map must have stride 1 in the last dimension, got " +
                     std::to_string(memref.stride(rank - 1)));
    return nullptr;
  }
  uint64_t dims[kMaxRank] = {}, strides[kMaxRank] = {};
  uint32_t box[kMaxRank] = {}, elementStrides[kMaxRank] = {};
  for (int64_t i = 0; i < rank; ++i) {
    dims[i] = memref.size(rank - 1 - i);
    box[i] = inputBox[rank - 1 - i];
    elementStrides[i] = 1;
    if (i)
      strides[i - 1] = memref.stride(rank - 1 - i) * kElementBytes[dataType];
  }
  CUtensorMap map{};
  if (!encode(*call, &map, dataType, rank, memref.origin(), dims, strides, box,
              elementStrides, interleave, swizzle, l2Promotion, oobFill))
    return nullptr;
  CUdeviceptr onDevice = 0;
  if (!call->check(call->api().cuMemAlloc(&onDevice, sizeof(map)), "cuMemAlloc",
                   "a tensor map"))
    return nullptr;
  if (call->isBracket)
    call->owned.memory[onDevice] = {HostCall::MemoryKind::TensorMap,
                                    call->contextKey().context};
  CUstream stream = call->stream(nullptr);
  if (!call->check(call->api().cuMemcpyAsync(
                       onDevice, reinterpret_cast<CUdeviceptr>(&map),
                       sizeof(map), stream),
                   "cuMemcpyAsync", "a tensor map") ||
      !call->waitForStream(stream))
    return nullptr;
  return reinterpret_cast<void *>(onDevice);
}

} // extern "C"
