// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory, copies, fills, and host memory that the device may use.

#include "HostCall.h"
#include "MemRefDescriptor.h"

#include <new>

using namespace tile::runtime;

namespace {
using MemoryKind = HostCall::MemoryKind;

std::string bytes(uint64_t count) { return std::to_string(count) + " bytes"; }

/// Host code reads and writes memory that it shares with the device, whatever
/// became of the call: it gets ordinary memory where there is no other.
void *standIn(HostCall &call, uint64_t sizeBytes) {
  char *memory = new (std::nothrow) char[sizeBytes]();
  if (memory)
    call.owned.standIns.emplace_back(memory);
  return memory;
}

CUdeviceptr address(void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

void *allocate(HostCall &call, uint64_t sizeBytes, CUstream stream,
               bool isHostShared) {
  Driver &api = call.api();
  DeviceFacts facts;
  CUdeviceptr memory = 0;
  MemoryKind kind = MemoryKind::Device;
  if (!call.check(api.facts(call.deviceNumber(), facts),
                  "cuDeviceGetAttribute"))
    return nullptr;
  bool isPool = call.isBracket && stream && facts.hasMemoryPools;
  if ((isHostShared || !isPool) && !call.settle())
    return nullptr;
  if (isHostShared) {
    kind = MemoryKind::Managed;
    if (!call.check(
            api.cuMemAllocManaged(&memory, sizeBytes, CU_MEM_ATTACH_GLOBAL),
            "cuMemAllocManaged", bytes(sizeBytes)))
      return nullptr;
  } else if (isPool) {
    // Neither this nor its counterpart waits for other work on the device.
    kind = MemoryKind::Pool;
    if (!call.check(api.cuMemAllocAsync(&memory, sizeBytes, stream),
                    "cuMemAllocAsync", bytes(sizeBytes)))
      return nullptr;
  } else if (!call.check(api.cuMemAlloc(&memory, sizeBytes), "cuMemAlloc",
                         bytes(sizeBytes))) {
    return nullptr;
  }
  if (call.isBracket)
    call.owned.memory[memory] = {kind, call.contextKey().context};
  return reinterpret_cast<void *>(memory);
}

template <typename Fill> void memset(void *target, CUstream stream, Fill fill) {
  EntryPoint call;
  if (call)
    fill(*call, address(target), call->stream(stream));
}

void hostRegister(HostCall &call, void *pointer, uint64_t sizeBytes) {
  if (!sizeBytes || !call.settle())
    return;
  CUresult result = call.api().cuMemHostRegister(pointer, sizeBytes, 0);
  bool isForeign = result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  if (!isForeign && !call.check(result, "cuMemHostRegister", bytes(sizeBytes)))
    return;
  if (call.isBracket)
    call.owned.hostMemory.try_emplace(
        pointer, isForeign ? nullptr : call.contextKey().context);
}

void hostUnregister(HostCall &call, void *pointer) {
  auto known = call.owned.hostMemory.find(pointer);
  if (call.isBracket) {
    if (known == call.owned.hostMemory.end() || !call.waitForAll())
      return;
    bool isForeign = !known->second;
    call.owned.hostMemory.erase(known);
    if (isForeign)
      return;
  }
  call.check(call.api().cuMemHostUnregister(pointer), "cuMemHostUnregister");
}
} // namespace

extern "C" {

TILE_RUNTIME_EXPORT void *mgpuMemAlloc(uint64_t sizeBytes, CUstream stream,
                                       bool isHostShared) {
  EntryPoint call;
  if (!sizeBytes)
    return nullptr;
  void *memory = nullptr;
  if (call)
    memory = allocate(*call, sizeBytes, call->stream(stream), isHostShared);
  if (!memory && isHostShared)
    memory = standIn(HostCall::current(), sizeBytes);
  return memory;
}

TILE_RUNTIME_EXPORT void mgpuMemFree(void *pointer, CUstream requested) {
  EntryPoint call;
  if (!call || !pointer)
    return;
  CUstream stream = call->stream(requested);
  auto &memory = call->owned.memory;
  auto known = memory.find(address(pointer));
  bool isPool =
      known != memory.end() && known->second.first == MemoryKind::Pool;
  if (isPool && stream) {
    memory.erase(known);
    call->check(call->api().cuMemFreeAsync(address(pointer), stream),
                "cuMemFreeAsync");
    return;
  }
  // cuMemFree waits for the device, without a time limit.
  if (call->isBracket && !call->waitForAll())
    return;
  memory.erase(address(pointer));
  call->check(call->api().cuMemFree(address(pointer)), "cuMemFree");
}

TILE_RUNTIME_EXPORT void mgpuMemcpy(void *target, void *source,
                                    size_t sizeBytes, CUstream requested) {
  EntryPoint call;
  if (!call || !sizeBytes)
    return;
  CUstream stream = call->stream(requested);
  // A copy from or to pageable memory waits for the stream, without a limit.
  if (!call->settleCopy(address(target), stream))
    return;
  if (call->check(call->api().cuMemcpyAsync(address(target), address(source),
                                            sizeBytes, stream),
                  "cuMemcpyAsync", bytes(sizeBytes)) &&
      !stream && !call->hasGivenStream())
    call->waitForStream(stream);
}

/// Extents of a copy that only the run time knows: a copy between different
/// ones would leave the smaller.
TILE_RUNTIME_EXPORT void mgpuExpectExtents(int64_t dimension, int64_t target,
                                           int64_t source) {
  EntryPoint call;
  if (call && target != source)
    call->refuse("cuMemcpyAsync",
                 "gpu.memcpy must have the same extents on both sides, got " +
                     std::to_string(target) + " to copy to and " +
                     std::to_string(source) + " to copy from in dimension " +
                     std::to_string(dimension));
}

TILE_RUNTIME_EXPORT void mgpuMemset32(void *target, unsigned value,
                                      size_t count, CUstream requested) {
  memset(target, requested,
         [&](HostCall &call, CUdeviceptr where, CUstream stream) {
           if (count)
             call.check(
                 call.api().cuMemsetD32Async(where, value, count, stream),
                 "cuMemsetD32Async", bytes(4 * count));
         });
}

TILE_RUNTIME_EXPORT void mgpuMemset16(void *target, unsigned short value,
                                      size_t count, CUstream requested) {
  memset(target, requested,
         [&](HostCall &call, CUdeviceptr where, CUstream stream) {
           if (count)
             call.check(
                 call.api().cuMemsetD16Async(where, value, count, stream),
                 "cuMemsetD16Async", bytes(2 * count));
         });
}

TILE_RUNTIME_EXPORT void mgpuMemHostRegister(void *pointer,
                                             uint64_t sizeBytes) {
  EntryPoint call;
  if (call)
    hostRegister(*call, pointer, sizeBytes);
}

TILE_RUNTIME_EXPORT void mgpuMemHostUnregister(void *pointer) {
  EntryPoint call;
  if (call)
    hostUnregister(*call, pointer);
}

TILE_RUNTIME_EXPORT void mgpuMemHostRegisterMemRef(int64_t rank,
                                                   void *descriptor,
                                                   int64_t elementBytes) {
  EntryPoint call;
  if (!call)
    return;
  MemRefDescriptor memref(rank, descriptor, elementBytes);
  hostRegister(*call, memref.firstByte(), memref.spanBytes());
}

TILE_RUNTIME_EXPORT void mgpuMemHostUnregisterMemRef(int64_t rank,
                                                     void *descriptor,
                                                     int64_t elementBytes) {
  EntryPoint call;
  if (!call)
    return;
  MemRefDescriptor memref(rank, descriptor, elementBytes);
  if (memref.spanBytes())
    hostUnregister(*call, memref.firstByte());
}

} // extern "C"
