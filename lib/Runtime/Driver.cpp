// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the driver table and keeps what is known about devices and contexts.

#include "Driver.h"

#include <atomic>
#include <dlfcn.h>

using namespace tile::runtime;

namespace {
/// The CUDA version whose function versions the table's types describe.
constexpr int kCudaVersion = 12000;

using GetProcAddress = CUresult (*)(const char *, void **, int, uint64_t,
                                    int *);

void *findFunction(void *library, GetProcAddress getProcAddress,
                   const char *name, const char *symbol) {
  void *function = nullptr;
  if (getProcAddress &&
      getProcAddress(name, &function, kCudaVersion, 0, nullptr) ==
          CUDA_SUCCESS &&
      function)
    return function;
  return dlsym(library, symbol);
}

std::atomic<bool> shutDownFlag{false};
} // namespace

bool tile::runtime::isShutDown() { return shutDownFlag; }
void tile::runtime::shutDown() { shutDownFlag = true; }

RelaxedCapture::RelaxedCapture(Driver &driver)
    : driver(driver), mode(CU_STREAM_CAPTURE_MODE_RELAXED) {
  if (driver.cuThreadExchangeStreamCaptureMode)
    driver.cuThreadExchangeStreamCaptureMode(&mode);
}

RelaxedCapture::~RelaxedCapture() {
  if (driver.cuThreadExchangeStreamCaptureMode)
    driver.cuThreadExchangeStreamCaptureMode(&mode);
}

bool tile::runtime::losesContext(CUresult result) {
  return result == CUDA_ERROR_ILLEGAL_ADDRESS ||
         result == CUDA_ERROR_LAUNCH_TIMEOUT ||
         result == CUDA_ERROR_CONTEXT_IS_DESTROYED ||
         result == CUDA_ERROR_ASSERT ||
         result == CUDA_ERROR_ECC_UNCORRECTABLE ||
         result == CUDA_ERROR_NVLINK_UNCORRECTABLE ||
         (result >= CUDA_ERROR_HARDWARE_STACK_ERROR &&
          result <= CUDA_ERROR_LAUNCH_FAILED) ||
         result == CUDA_ERROR_TENSOR_MEMORY_LEAK;
}

std::string Driver::load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return why ? why : "unknown reason";
  }
  auto getProcAddress =
      reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
#define TILE_DRIVER_FUNCTION(NAME, SYMBOL, REQUIRED, PARAMETERS)               \
  NAME = reinterpret_cast<decltype(NAME)>(                                     \
      findFunction(library, getProcAddress, #NAME, #SYMBOL));
#include "DriverFunctions.def"
  if (const char *name = missing())
    return std::string(path) + " has no " + name +
           "; the driver is older than CUDA 12";
  return {};
}

bool Driver::set(const std::string &name, void *function) {
#define TILE_DRIVER_FUNCTION(NAME, SYMBOL, REQUIRED, PARAMETERS)               \
  if (name == #NAME) {                                                         \
    NAME = reinterpret_cast<decltype(NAME)>(function);                         \
    return true;                                                               \
  }
#include "DriverFunctions.def"
  return false;
}

const char *Driver::missing() const {
#define TILE_DRIVER_FUNCTION(NAME, SYMBOL, REQUIRED, PARAMETERS)               \
  if (REQUIRED && !NAME)                                                       \
    return #NAME;
#include "DriverFunctions.def"
  return nullptr;
}

std::string Driver::errorName(CUresult result) const {
  const char *name = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return "CUDA error " + std::to_string(result);
  return name;
}

std::string Driver::errorText(CUresult result) const {
  const char *text = nullptr;
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return "no description";
  return text;
}

CUresult Driver::initialize() {
  if (initialized)
    return CUDA_SUCCESS;
  CUresult result = cuInit(0);
  initialized = result == CUDA_SUCCESS;
  return result;
}

CUresult Driver::facts(CUdevice device, DeviceFacts &facts) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto known = devices.find(device); known != devices.end()) {
      facts = known->second;
      return CUDA_SUCCESS;
    }
  }
  char name[256] = "";
  int major = 0, minor = 0, pools = 0;
  CUresult result = cuDeviceGetName(name, sizeof(name) - 1, device);
  auto ask = [&](int &value, int attribute) {
    if (result == CUDA_SUCCESS)
      result = cuDeviceGetAttribute(&value, attribute, device);
  };
  ask(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  ask(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  ask(facts.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  ask(facts.sharedBytesPerBlock,
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  ask(pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  if (result == CUDA_SUCCESS)
    result = cuDeviceTotalMem(&facts.memoryBytes, device);
  if (result != CUDA_SUCCESS)
    return result;
  facts.name = name;
  facts.computeCapability = 10 * major + minor;
  facts.hasMemoryPools = pools && cuMemAllocAsync && cuMemFreeAsync;
  std::lock_guard<std::mutex> lock(mutex);
  devices[device] = facts;
  return CUDA_SUCCESS;
}

CUresult Driver::primaryContext(CUdevice device, CUcontext &context) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (auto known = primaries.find(device); known != primaries.end()) {
      context = known->second;
      return CUDA_SUCCESS;
    }
  }
  CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  if (result != CUDA_SUCCESS)
    return result;
  std::lock_guard<std::mutex> lock(mutex);
  primaries[device] = context;
  return CUDA_SUCCESS;
}

bool Driver::isPrimary(CUcontext context) {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[device, primary] : primaries)
    if (primary == context)
      return true;
  return false;
}

ContextKey Driver::key(CUcontext context) const {
  ContextKey key{context, 0};
  if (cuCtxGetId)
    cuCtxGetId(context, &key.id);
  return key;
}

std::string Driver::lostReason(const ContextKey &context) {
  std::lock_guard<std::mutex> lock(mutex);
  auto loss = lost.find(context);
  return loss == lost.end() ? std::string() : loss->second.reason;
}

void Driver::markLost(const ContextKey &context, const std::string &reason,
                      bool stillRunning) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [loss, isNew] = lost.try_emplace(context, Loss{reason, stillRunning});
  if (!isNew)
    loss->second.stillRunning |= stillRunning;
}

bool Driver::isStillRunning(const ContextKey &context) {
  std::lock_guard<std::mutex> lock(mutex);
  auto loss = lost.find(context);
  return loss != lost.end() && loss->second.stillRunning;
}

void Driver::unloadLater(const ContextKey &context, CUmodule module) {
  std::lock_guard<std::mutex> lock(mutex);
  pendingUnloads.emplace(context, module);
}

std::vector<CUmodule> Driver::takePendingUnloads(const ContextKey &context) {
  std::lock_guard<std::mutex> lock(mutex);
  auto [first, last] = pendingUnloads.equal_range(context);
  std::vector<CUmodule> modules;
  for (auto entry = first; entry != last; ++entry)
    modules.push_back(entry->second);
  pendingUnloads.erase(first, last);
  return modules;
}
