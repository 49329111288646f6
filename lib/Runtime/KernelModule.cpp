// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads modules where they are used, and unloads them where that is safe.

#include "KernelModule.h"

#include <algorithm>
#include <cstring>

using namespace tile::runtime;

KernelModule::~KernelModule() {
  if (isShutDown())
    return;
  for (auto &[place, loaded] : places) {
    auto &[driver, context] = place;
    if (!loaded.module || driver->isStillRunning(context))
      continue;
    // A context that somebody else made may be gone by now; the primary ones
    // are retained. After the driver's own exit these calls return an error.
    if (!driver->isPrimary(context.context)) {
      driver->unloadLater(context, loaded.module);
      continue;
    }
    if (driver->cuCtxPushCurrent(context.context) != CUDA_SUCCESS)
      continue;
    {
      RelaxedCapture relaxed(*driver);
      driver->cuModuleUnload(loaded.module);
    }
    CUcontext popped;
    driver->cuCtxPopCurrent(&popped);
  }
}

Kernel *KernelModule::kernel(const std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  return &kernels.try_emplace(name, Kernel{this, name}).first->second;
}

LoadedKernel *KernelModule::load(HostCall &call, const Kernel &kernel) {
  std::lock_guard<std::mutex> lock(mutex);
  Loaded &loaded = places[{&call.api(), call.contextKey()}];
  if (auto known = loaded.kernels.find(kernel.name);
      known != loaded.kernels.end())
    return &known->second;
  if (!call.settle())
    return nullptr;
  RelaxedCapture relaxed(call.api());
  if (!loaded.module && !loadImage(call, loaded))
    return nullptr;
  auto entry = loaded.kernels.try_emplace(kernel.name).first;
  if (!loadKernel(call, loaded, kernel.name, entry->second)) {
    loaded.kernels.erase(entry);
    return nullptr;
  }
  return &entry->second;
}

bool KernelModule::loadImage(HostCall &call, Loaded &loaded) {
  char log[4096] = "";
  std::vector<int> options{CU_JIT_ERROR_LOG_BUFFER,
                           CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::vector<void *> values{log, reinterpret_cast<void *>(sizeof(log) - 1)};
  if (optLevel >= 0) {
    options.push_back(CU_JIT_OPTIMIZATION_LEVEL);
    values.push_back(reinterpret_cast<void *>(intptr_t(std::min(optLevel, 4))));
  }
  CUresult result = call.api().cuModuleLoadDataEx(
      &loaded.module, image.data(), options.size(), options.data(),
      values.data());
  if (result != CUDA_SUCCESS)
    loaded.module = nullptr;
  log[sizeof(log) - 1] = 0;
  std::string text = log;
  text.erase(text.find_last_not_of(" \n\t") + 1);
  return call.check(result, "cuModuleLoadDataEx", text);
}

bool KernelModule::loadKernel(HostCall &call, Loaded &loaded,
                              const std::string &name, LoadedKernel &kernel) {
  Driver &api = call.api();
  if (!call.check(api.cuModuleGetFunction(&kernel.function, loaded.module,
                                          name.c_str()),
                  "cuModuleGetFunction", "kernel '" + name + "'"))
    return false;
  auto ask = [&](int &value, int attribute) {
    return call.check(
        api.cuFuncGetAttribute(&value, attribute, kernel.function),
        "cuFuncGetAttribute", "kernel '" + name + "'");
  };
  int mustBeSet = 0, nonPortable = 0, width = 0, height = 0, depth = 0;
  if (!ask(kernel.maxThreadsPerBlock,
           CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
      !ask(kernel.staticSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) ||
      !ask(kernel.allowedDynamicSharedBytes,
           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) ||
      !ask(mustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) ||
      !ask(width, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) ||
      !ask(height, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + 1) ||
      !ask(depth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + 2) ||
      !ask(nonPortable, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED))
    return false;
  kernel.mustHaveCluster = mustBeSet;
  kernel.isNonPortableAllowed = nonPortable;
  kernel.requiredCluster = {width, height, depth};
  return true;
}

void *tile_runtime_kernel(void *module, const char *name) {
  return static_cast<KernelModule *>(module)->kernel(name);
}

extern "C" {

TILE_RUNTIME_EXPORT void *mgpuModuleLoad(void *data, size_t sizeBytes) {
  const char *bytes = static_cast<const char *>(data);
  return new KernelModule(std::vector<char>(bytes, bytes + sizeBytes),
                          /*optLevel=*/-1);
}

/// The text ends with a zero byte; host code passes no size.
TILE_RUNTIME_EXPORT void *mgpuModuleLoadJIT(void *data, int optLevel) {
  const char *text = static_cast<const char *>(data);
  return new KernelModule(std::vector<char>(text, text + std::strlen(text) + 1),
                          std::max(optLevel, 0));
}

TILE_RUNTIME_EXPORT void mgpuModuleUnload(void *module) {
  delete static_cast<KernelModule *>(module);
}

TILE_RUNTIME_EXPORT void *mgpuModuleGetFunction(void *module,
                                                const char *name) {
  EntryPoint call;
  if (!call || !module)
    return nullptr;
  Kernel *kernel = static_cast<KernelModule *>(module)->kernel(name);
  return kernel->module->load(*call, *kernel) ? kernel : nullptr;
}

} // extern "C"
