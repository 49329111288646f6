// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface: drivers, devices and brackets.

#include "TileRuntime.h"

#include "HostCall.h"

#include <cstring>

using namespace tile::runtime;

namespace {
Driver *unwrap(TileRuntimeDriver *driver) {
  return reinterpret_cast<Driver *>(driver);
}
TileRuntimeDriver *wrap(Driver *driver) {
  return reinterpret_cast<TileRuntimeDriver *>(driver);
}
/// For the few texts that the interface says live for ever.
const char *immortal(const std::string &text) { return strdup(text.c_str()); }
} // namespace

TileRuntimeDriver *tile_runtime_driver_load(const char *path,
                                            const char **why) {
  std::string reason;
  Driver *driver = nullptr;
  if (!path) {
    driver = defaultDriver(reason);
  } else {
    driver = new Driver;
    reason = driver->load(path);
    if (!reason.empty()) {
      delete driver;
      driver = nullptr;
    }
  }
  *why = driver ? "" : immortal(reason);
  return wrap(driver);
}

TileRuntimeDriver *tile_runtime_driver_create() { return wrap(new Driver); }

int tile_runtime_driver_set(TileRuntimeDriver *driver, const char *name,
                            void *function) {
  return unwrap(driver)->set(name, function);
}

const char *tile_runtime_driver_missing(TileRuntimeDriver *driver) {
  return unwrap(driver)->missing();
}

int tile_runtime_device_count(TileRuntimeDriver *driver, int *version) {
  Driver &api = *unwrap(driver);
  int count = 0;
  *version = 0;
  CUresult result = api.initialize();
  if (result == CUDA_SUCCESS)
    result = api.cuDeviceGetCount(&count);
  if (result == CUDA_SUCCESS)
    result = api.cuDriverGetVersion(version);
  return result == CUDA_SUCCESS ? count : -result;
}

int tile_runtime_device_facts(TileRuntimeDriver *driver, int device,
                              TileRuntimeDeviceFacts *out) {
  Driver &api = *unwrap(driver);
  CUdevice handle = 0;
  DeviceFacts facts;
  CUresult result = api.initialize();
  if (result == CUDA_SUCCESS)
    result = api.cuDeviceGet(&handle, device);
  if (result == CUDA_SUCCESS)
    result = api.facts(handle, facts);
  if (result != CUDA_SUCCESS)
    return result;
  std::strncpy(out->name, facts.name.c_str(), sizeof(out->name) - 1);
  out->name[sizeof(out->name) - 1] = 0;
  out->computeCapability = facts.computeCapability;
  out->multiprocessors = facts.multiprocessors;
  out->sharedBytesPerBlock = facts.sharedBytesPerBlock;
  out->memoryBytes = facts.memoryBytes;
  return CUDA_SUCCESS;
}

void tile_runtime_describe(TileRuntimeDriver *driver, int code,
                           const char **name, const char **text) {
  *name = immortal(unwrap(driver)->errorName(code));
  *text = immortal(unwrap(driver)->errorText(code));
}

void tile_runtime_begin(TileRuntimeDriver *driver,
                        const TileRuntimeOptions *options) {
  pushBracket(unwrap(driver), *options);
}

int tile_runtime_end(TileRuntimeFailure *failure) {
  return popBracket(failure);
}

int tile_runtime_last_error(TileRuntimeFailure *failure) {
  return takeLastError(failure);
}

int tile_runtime_failure(TileRuntimeFailure *failure) {
  return exportKeptFailure(failure);
}

int tile_runtime_pointer(TileRuntimeDriver *driver, uint64_t address,
                         int *device) {
  Driver &api = *unwrap(driver);
  *device = -1;
  unsigned memoryType = CU_MEMORYTYPE_HOST;
  int ordinal = -1;
  if (!api.cuPointerGetAttribute)
    return CUDA_SUCCESS;
  CUresult result = api.initialize();
  // Memory that the driver never heard of is an invalid value.
  if (result != CUDA_SUCCESS ||
      api.cuPointerGetAttribute(&memoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                address) != CUDA_SUCCESS ||
      memoryType == CU_MEMORYTYPE_HOST)
    return result;
  result = api.cuPointerGetAttribute(
      &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  *device = result == CUDA_SUCCESS ? ordinal : -1;
  return result;
}

void tile_runtime_shut_down() { shutDown(); }
