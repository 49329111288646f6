// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel launches. What the driver would refuse with a word, or not at all, is
// checked first, so that the error says which number breaks which limit.

#include "KernelModule.h"

#include <climits>
#include <utility>

using namespace tile::runtime;

namespace {
constexpr const char *kLaunch = "cuLaunchKernelEx";
/// The largest cluster that every device with clusters can run.
constexpr int64_t kPortableCluster = 8;

/// One launch on its way: each step returns false with the failure recorded.
class Launcher {
public:
  Launcher(HostCall &call, LoadedKernel &kernel, const LaunchShape &shape,
           CUstream stream)
      : call(call), kernel(kernel), shape(shape), stream(stream) {}

  bool run(void **arguments, void **extra) {
    std::lock_guard<std::mutex> lock(kernel.mutex);
    return checkBlock() && chooseCluster() && checkGrid() && checkExpected() &&
           allowShared() && allowCluster() && launch(arguments, extra);
  }

private:
  bool refuse(const std::string &why, CUresult result = CUDA_SUCCESS) {
    call.refuse(kLaunch, shape.describe() + " cannot be launched: " + why,
                shape, result);
    return false;
  }

  bool check(CUresult result, const char *name) {
    if (result == CUDA_SUCCESS)
      return true;
    if (losesContext(result))
      return call.check(result, name);
    call.refuse(name,
                shape.describe() + " was refused: " + name + " returned " +
                    call.api().errorName(result) + " (" +
                    call.api().errorText(result) + ")",
                shape, result);
    return false;
  }

  bool checkBlock() {
    for (int64_t extent : shape.block)
      if (extent < 1 || extent > kernel.maxThreadsPerBlock)
        return refuse("block " + toString(shape.block) +
                      " must have between 1 and " +
                      std::to_string(kernel.maxThreadsPerBlock) + " threads");
    if (product(shape.block) > kernel.maxThreadsPerBlock)
      return refuse("its block has " + std::to_string(product(shape.block)) +
                    " threads, the kernel allows " +
                    std::to_string(kernel.maxThreadsPerBlock));
    return true;
  }

  bool chooseCluster() {
    for (int64_t extent : shape.cluster)
      if (extent < 1 || extent > 65535)
        return refuse("a cluster must have at least one CTA in each dimension, "
                      "got " +
                      toString(shape.cluster));
    if (kernel.requiredCluster[0] == 0) {
      if (kernel.mustHaveCluster && !isClusterGiven)
        return refuse("the kernel must be launched with a cluster");
      return true;
    }
    if (isClusterGiven && shape.cluster != kernel.requiredCluster)
      return refuse("the kernel was compiled for a cluster of " +
                    toString(kernel.requiredCluster) +
                    " (.reqnctapercluster), got " + toString(shape.cluster));
    shape.cluster = kernel.requiredCluster;
    return true;
  }

  bool checkGrid() {
    static const int64_t limits[3] = {INT_MAX, 65535, 65535};
    for (int i = 0; i < 3; ++i) {
      if (shape.grid[i] < 1 || shape.grid[i] > limits[i])
        return refuse("grid dimension " + std::string(1, "xyz"[i]) +
                      " must be between 1 and " + std::to_string(limits[i]) +
                      ", got " + std::to_string(shape.grid[i]));
      if (shape.grid[i] % shape.cluster[i])
        return refuse("grid " + toString(shape.grid) +
                      " is not divisible by cluster " +
                      toString(shape.cluster));
    }
    return true;
  }

  bool checkExpected() {
    auto check = [&](const Dim3 &wanted, const Dim3 &got, const char *what,
                     const char *attribute) {
      return !wanted[0] || wanted == got ||
             refuse(std::string("the kernel was compiled for a ") + what +
                    " of " + toString(wanted) + " (" + attribute + "), got " +
                    toString(got));
    };
    if (!expected.brokenPromise.empty())
      return refuse(expected.brokenPromise);
    return check(expected.grid, shape.grid, "grid", "known_grid_size") &&
           check(expected.block, shape.block, "block", "known_block_size");
  }

  bool allowShared() {
    DeviceFacts facts;
    if (!call.check(call.api().facts(call.deviceNumber(), facts),
                    "cuDeviceGetAttribute"))
      return false;
    int64_t limit = facts.sharedBytesPerBlock - kernel.staticSharedBytes;
    if (shape.sharedBytes < 0 || shape.sharedBytes > limit)
      return refuse("it asks for " + std::to_string(shape.sharedBytes) +
                    " bytes of dynamic shared memory, device " +
                    std::to_string(call.deviceNumber()) + " allows " +
                    std::to_string(limit) +
                    (kernel.staticSharedBytes
                         ? " beside " +
                               std::to_string(kernel.staticSharedBytes) +
                               " static bytes"
                         : std::string()));
    if (shape.sharedBytes <= kernel.allowedDynamicSharedBytes)
      return true;
    if (!check(call.api().cuFuncSetAttribute(
                   kernel.function,
                   CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                   shape.sharedBytes),
               "cuFuncSetAttribute"))
      return false;
    kernel.allowedDynamicSharedBytes = shape.sharedBytes;
    return true;
  }

  CUlaunchConfig config(CUlaunchAttribute &cluster) const {
    cluster = {};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {unsigned(shape.cluster[0]),
                                unsigned(shape.cluster[1]),
                                unsigned(shape.cluster[2])};
    CUlaunchConfig config{};
    config.gridDimX = shape.grid[0];
    config.gridDimY = shape.grid[1];
    config.gridDimZ = shape.grid[2];
    config.blockDimX = shape.block[0];
    config.blockDimY = shape.block[1];
    config.blockDimZ = shape.block[2];
    config.sharedMemBytes = shape.sharedBytes;
    config.hStream = stream;
    if (isClusterGiven || product(shape.cluster) > 1) {
      config.attrs = &cluster;
      config.numAttrs = 1;
    }
    return config;
  }

  /// Asks the device whether one such cluster fits it at all.
  bool allowCluster() {
    int64_t ctas = product(shape.cluster);
    if (ctas == 1)
      return true;
    const LaunchShape &known = kernel.possible;
    if (known.cluster == shape.cluster && known.block == shape.block &&
        known.sharedBytes == shape.sharedBytes)
      return true;
    if (ctas > kPortableCluster && !kernel.isNonPortableAllowed) {
      if (!check(call.api().cuFuncSetAttribute(
                     kernel.function,
                     CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                 "cuFuncSetAttribute"))
        return false;
      kernel.isNonPortableAllowed = true;
    }
    CUlaunchAttribute cluster;
    CUlaunchConfig asked = config(cluster);
    int count = 0;
    CUresult result = call.api().cuOccupancyMaxActiveClusters(
        &count, kernel.function, &asked);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_CLUSTER_SIZE)
      return check(result, "cuOccupancyMaxActiveClusters");
    // The driver counts clusters of 17 as if they could be launched, so beyond
    // the portable size its limit decides.
    int largest = ctas > kPortableCluster || count == 0 ? largestCluster() : 0;
    if (result == CUDA_SUCCESS && count > 0 &&
        (largest == 0 || ctas <= largest)) {
      kernel.possible = shape;
      return true;
    }
    return refuse("a cluster of " + std::to_string(ctas) +
                      " CTAs does not fit device " +
                      std::to_string(call.deviceNumber()) +
                      (largest ? ", the largest for this kernel, block and "
                                 "shared memory is " +
                                     std::to_string(largest)
                               : std::string()),
                  CUDA_ERROR_INVALID_CLUSTER_SIZE);
  }

  /// CTAs of the largest cluster that the device can launch; 0 if it does not
  /// say.
  int largestCluster() {
    CUlaunchAttribute unused;
    CUlaunchConfig asked = config(unused);
    asked.attrs = nullptr;
    asked.numAttrs = 0;
    int largest = 0;
    CUresult result = call.api().cuOccupancyMaxPotentialClusterSize(
        &largest, kernel.function, &asked);
    return result == CUDA_SUCCESS ? largest : 0;
  }

  bool launch(void **arguments, void **extra) {
    CUlaunchAttribute cluster;
    CUlaunchConfig asked = config(cluster);
    // A device that runs launches at once reports the kernel's own errors
    // here, so it has to be known as the kernel at fault. Without host code
    // others may have been launched, of which this call knows nothing.
    if (!isDirect)
      call.launched(stream, shape);
    return check(
        call.api().cuLaunchKernelEx(&asked, kernel.function, arguments, extra),
        kLaunch);
  }

public:
  bool isClusterGiven = false;
  bool isDirect = false;
  HostCall::Expected expected;

private:
  HostCall &call;
  LoadedKernel &kernel;
  LaunchShape shape;
  CUstream stream;
};

void launchKernel(void *function, const Dim3 *cluster, const Dim3 &grid,
                  const Dim3 &block, int32_t sharedBytes, CUstream stream,
                  void **arguments, void **extra) {
  EntryPoint call;
  if (!call || !function)
    return;
  HostCall::Expected expected = std::exchange(call->expected, {});
  auto *kernel = static_cast<Kernel *>(function);
  LoadedKernel *loaded = kernel->module->load(*call, *kernel);
  if (!loaded)
    return;
  LaunchShape shape;
  shape.kernel = kernel->name;
  shape.grid = grid;
  shape.block = block;
  shape.sharedBytes = sharedBytes;
  if (cluster)
    shape.cluster = *cluster;
  Launcher launcher(*call, *loaded, shape, call->stream(stream));
  launcher.isClusterGiven = cluster != nullptr;
  launcher.expected = expected;
  launcher.run(arguments, extra);
}

/// Calls `work` with a call that has entered its context, and keeps the first
/// failure. It owns nothing, so it waits for nothing.
template <typename Work>
int direct(TileRuntimeDriver *driver, int32_t device, CUstream stream,
           Work work) {
  if (isShutDown())
    return TILE_RUNTIME_OK;
  TileRuntimeOptions options{device, /*hasStream=*/1, stream, 0, nullptr};
  HostCall call(reinterpret_cast<Driver *>(driver), options,
                /*isBracket=*/true);
  call.enter();
  if (call.ok())
    work(call);
  call.leave();
  return call.ok() ? TILE_RUNTIME_OK : keepFailure(std::move(call.failure));
}
} // namespace

int tile_runtime_launch(TileRuntimeDriver *driver,
                        const TileRuntimeLaunch *launch, int32_t device,
                        void *stream, const void *arguments) {
  auto where = static_cast<CUstream>(stream);
  return direct(driver, device, where, [&](HostCall &call) {
    auto *kernel = static_cast<Kernel *>(launch->kernel);
    LoadedKernel *loaded = kernel->module->load(call, *kernel);
    if (!loaded)
      return;
    LaunchShape shape;
    shape.kernel = kernel->name;
    for (int i = 0; i < 3; ++i) {
      shape.grid[i] = launch->grid[i];
      shape.block[i] = launch->block[i];
      shape.cluster[i] = launch->hasCluster ? launch->cluster[i] : 1;
    }
    shape.sharedBytes = launch->sharedBytes;
    // The driver reads the values and writes nothing.
    auto *bytes = static_cast<char *>(const_cast<void *>(arguments));
    std::vector<void *> pointers(launch->argumentCount);
    for (int32_t i = 0; i < launch->argumentCount; ++i)
      pointers[i] = bytes + launch->argumentOffsets[i];
    Launcher launcher(call, *loaded, shape, where);
    launcher.isClusterGiven = launch->hasCluster;
    launcher.isDirect = true;
    launcher.run(pointers.data(), nullptr);
  });
}

int tile_runtime_load(TileRuntimeDriver *driver, void *kernel, int32_t device) {
  return direct(driver, device, nullptr, [&](HostCall &call) {
    auto *wanted = static_cast<Kernel *>(kernel);
    wanted->module->load(call, *wanted);
  });
}

int tile_runtime_order(TileRuntimeDriver *driver, int32_t device, void *before,
                       void *after) {
  return direct(driver, device, nullptr, [&](HostCall &call) {
    Driver &api = call.api();
    CUevent event = nullptr;
    if (!call.check(api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
                    "cuEventCreate"))
      return;
    if (call.check(api.cuEventRecord(event, static_cast<CUstream>(before)),
                   "cuEventRecord"))
      call.check(api.cuStreamWaitEvent(static_cast<CUstream>(after), event, 0),
                 "cuStreamWaitEvent");
    // The driver keeps what is recorded until the waits are over.
    call.check(api.cuEventDestroy(event), "cuEventDestroy");
  });
}

extern "C" {

/// What the kernel of the next launch was compiled for; zeros: any size.
TILE_RUNTIME_EXPORT void mgpuExpectLaunch(int64_t gridX, int64_t gridY,
                                          int64_t gridZ, int64_t blockX,
                                          int64_t blockY, int64_t blockZ) {
  EntryPoint call;
  if (!call)
    return;
  call->expected.grid = {gridX, gridY, gridZ};
  call->expected.block = {blockX, blockY, blockZ};
}

TILE_RUNTIME_EXPORT void mgpuExpectMultiple(int64_t argument, int64_t part,
                                            int64_t value, int64_t multiple) {
  EntryPoint call;
  if (!call || value % multiple == 0 || !call->expected.brokenPromise.empty())
    return;
  constexpr int64_t base = -2, offset = -1;
  std::string number = std::to_string(multiple);
  std::string text = "argument " + std::to_string(argument);
  if (part == base)
    text += " must begin at a multiple of " + number +
            " bytes (llvm.align), got an address that is " +
            std::to_string(value & (multiple - 1)) + " past one";
  else if (part == offset)
    text += " must have an offset that is a multiple of " + number +
            " elements (tile.offset_multiple_of), got " + std::to_string(value);
  else
    text += " must have a stride in dimension " + std::to_string(part) +
            " that is a multiple of " + number +
            " elements (tile.multiple_of), got " + std::to_string(value);
  call->expected.brokenPromise = text;
}

TILE_RUNTIME_EXPORT void
mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY, intptr_t gridZ,
                 intptr_t blockX, intptr_t blockY, intptr_t blockZ,
                 int32_t sharedBytes, CUstream stream, void **arguments,
                 void **extra, size_t /*argumentCount*/) {
  launchKernel(function, nullptr, {gridX, gridY, gridZ},
               {blockX, blockY, blockZ}, sharedBytes, stream, arguments, extra);
}

TILE_RUNTIME_EXPORT void mgpuLaunchClusterKernel(
    void *function, intptr_t clusterX, intptr_t clusterY, intptr_t clusterZ,
    intptr_t gridX, intptr_t gridY, intptr_t gridZ, intptr_t blockX,
    intptr_t blockY, intptr_t blockZ, int32_t sharedBytes, CUstream stream,
    void **arguments, void **extra, size_t /*argumentCount*/) {
  Dim3 cluster{clusterX, clusterY, clusterZ};
  launchKernel(function, &cluster, {gridX, gridY, gridZ},
               {blockX, blockY, blockZ}, sharedBytes, stream, arguments, extra);
}

} // extern "C"
