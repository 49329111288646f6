// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CUDA driver without a device: memory is host memory, kernels do nothing,
// every handle is counted, and any call can be made to fail.

#include "../../../lib/Runtime/CudaTypes.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

namespace {
constexpr int kDevices = 2;
const std::map<int, int> kDeviceAttributes = {
    {16, 132}, {75, 9}, {76, 0}, {97, 232448}, {115, 1}};
const std::map<int, int> kFunctionAttributes = {{0, 1024}, {8, 49152}};

struct State {
  std::recursive_mutex mutex;
  std::vector<std::string> log;
  std::set<void *> streams, events, modules, registered;
  std::map<CUdeviceptr, void *> memory;
  // The call that fails: the `nth` (from 1) of `name`, or of all if empty.
  std::string failName;
  int failNth = 0, failCode = 0, failSeen = 0;
  int synchronizeCode = 0;
  bool hangsAtLaunch = false, isHung = false;
  unsigned long long generation = 1;
  std::map<int, int> deviceAttributes = kDeviceAttributes;
  std::map<int, int> functionAttributes = kFunctionAttributes;
  std::map<int, int> functionSettings;
  int largestCluster = 16;
  CUlaunchConfig launch{};
  CUlaunchAttribute launchAttribute{};
  // The last launch's parameters, of which each has 8 bytes to be read.
  int argumentCount = 0;
  std::vector<uint64_t> arguments;
  int launchDevice = -1;
  // The addresses of device memory: where it ends, where it starts, whose.
  std::map<CUdeviceptr, std::pair<CUdeviceptr, int>> deviceMemory;
  int jitLevel = -1;
  int captureMode = 0, captureModeOfLoad = 0;
};
State &state() {
  static State instance;
  return instance;
}

thread_local std::vector<CUcontext> contexts;

CUcontext context(int device) {
  return reinterpret_cast<CUcontext>(uintptr_t(0x1000 + device));
}

/// Logs the call; the result with which it is to fail, or 0.
int called(const char *name) {
  State &s = state();
  s.log.push_back(name);
  if (!s.failNth || (!s.failName.empty() && s.failName != name))
    return 0;
  ++s.failSeen;
  return s.failSeen == s.failNth ? s.failCode : 0;
}

template <typename Handle> int create(Handle *out, std::set<void *> &all) {
  *out = static_cast<Handle>(std::malloc(1));
  all.insert(*out);
  return 0;
}
int destroy(void *handle, std::set<void *> &all) {
  if (!all.erase(handle))
    return 400;
  std::free(handle);
  return 0;
}
int allocate(CUdeviceptr *out, size_t size) {
  void *memory = std::malloc(size);
  *out = reinterpret_cast<CUdeviceptr>(memory);
  state().memory[*out] = memory;
  return 0;
}
int release(CUdeviceptr address) {
  auto found = state().memory.find(address);
  if (found == state().memory.end())
    return 1;
  std::free(found->second);
  state().memory.erase(found);
  return 0;
}
int ready() { return state().isHung ? CUDA_ERROR_NOT_READY : 0; }
} // namespace

// Clean-up calls also report errors of earlier work, having done their own.
#define RELEASE(NAME, WORK)                                                    \
  std::lock_guard<std::recursive_mutex> lock(state().mutex);                   \
  int code = called(NAME);                                                     \
  int result = WORK;                                                           \
  return code ? code : result

#define ENTRY(NAME)                                                            \
  std::lock_guard<std::recursive_mutex> lock(state().mutex);                   \
  if (int code = called(NAME))                                                 \
  return code

extern "C" {

// What tests do with it.

void fake_reset() {
  State &s = state();
  std::lock_guard<std::recursive_mutex> lock(s.mutex);
  s.log.clear();
  s.failNth = s.failSeen = 0;
  s.hangsAtLaunch = s.isHung = false;
  s.synchronizeCode = 0;
  ++s.generation;
  s.deviceAttributes = kDeviceAttributes;
  s.functionAttributes = kFunctionAttributes;
  s.functionSettings.clear();
  s.largestCluster = 16;
  s.argumentCount = 0;
  s.deviceMemory.clear();
}
/// Lets the next launches keep so many parameters.
void fake_expect_arguments(int count) { state().argumentCount = count; }
int fake_last_device() { return state().launchDevice; }
uint64_t fake_argument(int index) { return state().arguments.at(index); }
uint64_t fake_last_stream() {
  return reinterpret_cast<uint64_t>(state().launch.hStream);
}
void fake_add_device_memory(uint64_t address, uint64_t size, int device) {
  state().deviceMemory[address + size] = {address, device};
}
void fake_fail(const char *name, int nth, int code) {
  State &s = state();
  s.failName = name;
  s.failNth = nth;
  s.failCode = code;
  s.failSeen = 0;
}
void fake_fail_stream_synchronize(int code) { state().synchronizeCode = code; }
void fake_forget() {
  State &s = state();
  s.streams.clear();
  s.events.clear();
  s.modules.clear();
  s.registered.clear();
  s.memory.clear();
}
void fake_hang_at_exit() {
  std::atexit([] {
    while (true)
      pause();
  });
}
void fake_hang(int now) {
  state().hangsAtLaunch = true;
  state().isHung = now;
}
void fake_set_device_attribute(int attribute, int value) {
  state().deviceAttributes[attribute] = value;
}
void fake_set_function_attribute(int attribute, int value) {
  state().functionAttributes[attribute] = value;
}
int fake_function_setting(int attribute) {
  auto found = state().functionSettings.find(attribute);
  return found == state().functionSettings.end() ? -1 : found->second;
}
void fake_set_largest_cluster(int ctas) { state().largestCluster = ctas; }
int fake_live(const char *kind) {
  State &s = state();
  std::string what = kind;
  return what == "streams"    ? s.streams.size()
         : what == "events"   ? s.events.size()
         : what == "modules"  ? s.modules.size()
         : what == "memory"   ? s.memory.size()
         : what == "contexts" ? contexts.size()
                              : s.registered.size();
}
int fake_log(char *out, int size) {
  std::string text;
  for (auto &name : state().log)
    text += name + "\n";
  std::strncpy(out, text.c_str(), size - 1);
  return text.size();
}
void fake_clear_log() { state().log.clear(); }
int fake_capture_mode() { return state().captureMode; }
int fake_capture_mode_of_load() { return state().captureModeOfLoad; }
int fake_jit_level() { return state().jitLevel; }
void fake_push_context(int device) { contexts.push_back(context(device)); }
void fake_pop_context() { contexts.pop_back(); }
int fake_current_device() {
  return contexts.empty() ? -1 : int(uintptr_t(contexts.back()) - 0x1000);
}
void fake_last_launch(unsigned *out) {
  State &s = state();
  unsigned values[] = {s.launch.gridDimX,
                       s.launch.gridDimY,
                       s.launch.gridDimZ,
                       s.launch.blockDimX,
                       s.launch.sharedMemBytes,
                       s.launch.numAttrs,
                       s.launchAttribute.value.clusterDim.x};
  std::memcpy(out, values, sizeof(values));
}

// The driver.

CUresult cuInit(unsigned) {
  ENTRY("cuInit");
  return 0;
}
CUresult cuDriverGetVersion(int *version) {
  ENTRY("cuDriverGetVersion");
  *version = 12080;
  return 0;
}
CUresult cuGetErrorName(CUresult code, const char **name) {
  static std::map<int, std::string> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {218, "CUDA_ERROR_INVALID_PTX"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE"},
      {999, "CUDA_ERROR_UNKNOWN"}};
  auto found = names.find(code);
  if (found == names.end())
    return 1;
  *name = found->second.c_str();
  return 0;
}
CUresult cuGetErrorString(CUresult code, const char **text) {
  *text = code == 700 ? "an illegal memory access was encountered"
                      : "the fake driver was told to fail";
  return 0;
}
CUresult cuDeviceGetCount(int *count) {
  ENTRY("cuDeviceGetCount");
  *count = kDevices;
  return 0;
}
CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  ENTRY("cuDeviceGet");
  if (ordinal < 0 || ordinal >= kDevices)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return 0;
}
CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  ENTRY("cuDeviceGetName");
  std::strncpy(name, "Fake GPU", size);
  return 0;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  ENTRY("cuDeviceGetAttribute");
  *value = state().deviceAttributes[attribute];
  return 0;
}
CUresult cuDeviceTotalMem_v2(size_t *size, CUdevice) {
  ENTRY("cuDeviceTotalMem");
  *size = size_t(1) << 37;
  return 0;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  ENTRY("cuDevicePrimaryCtxRetain");
  *out = context(device);
  return 0;
}
CUresult cuCtxGetCurrent(CUcontext *out) {
  ENTRY("cuCtxGetCurrent");
  *out = contexts.empty() ? nullptr : contexts.back();
  return 0;
}
CUresult cuCtxSetCurrent(CUcontext value) {
  ENTRY("cuCtxSetCurrent");
  if (contexts.empty())
    contexts.push_back(value);
  contexts.back() = value;
  return 0;
}
CUresult cuCtxPushCurrent_v2(CUcontext value) {
  ENTRY("cuCtxPushCurrent");
  contexts.push_back(value);
  return 0;
}
CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  ENTRY("cuCtxPopCurrent");
  if (contexts.empty())
    return 201;
  *out = contexts.back();
  contexts.pop_back();
  return 0;
}
CUresult cuCtxGetDevice(CUdevice *device) {
  ENTRY("cuCtxGetDevice");
  *device = fake_current_device();
  return 0;
}
CUresult cuCtxGetId(CUcontext value, unsigned long long *id) {
  ENTRY("cuCtxGetId");
  *id = state().generation * 10 + uintptr_t(value) - 0x1000;
  return 0;
}
CUresult cuModuleLoadDataEx(CUmodule *module, const void *, unsigned count,
                            int *options, void **values) {
  State &s = state();
  std::lock_guard<std::recursive_mutex> lock(s.mutex);
  int code = called("cuModuleLoadDataEx");
  s.jitLevel = -1;
  s.captureModeOfLoad = s.captureMode;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_OPTIMIZATION_LEVEL)
      s.jitLevel = int(reinterpret_cast<intptr_t>(values[i]));
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER && code)
      std::strcpy(static_cast<char *>(values[i]), "ptxas: line 7 is wrong\n");
  }
  return code ? code : create(module, s.modules);
}
CUresult cuModuleUnload(CUmodule module) {
  RELEASE("cuModuleUnload", destroy(module, state().modules));
}
CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *) {
  ENTRY("cuModuleGetFunction");
  *function = reinterpret_cast<CUfunction>(uintptr_t(0x2000));
  return 0;
}
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction) {
  ENTRY("cuFuncGetAttribute");
  *value = state().functionAttributes[attribute];
  return 0;
}
CUresult cuFuncSetAttribute(CUfunction, int attribute, int value) {
  ENTRY("cuFuncSetAttribute");
  state().functionSettings[attribute] = value;
  return 0;
}
CUresult cuOccupancyMaxPotentialClusterSize(int *size, CUfunction,
                                            const CUlaunchConfig *) {
  ENTRY("cuOccupancyMaxPotentialClusterSize");
  *size = state().largestCluster;
  return 0;
}
CUresult cuOccupancyMaxActiveClusters(int *count, CUfunction,
                                      const CUlaunchConfig *config) {
  ENTRY("cuOccupancyMaxActiveClusters");
  auto &dim = config->attrs[0].value.clusterDim;
  int ctas = dim.x * dim.y * dim.z;
  if (ctas > 16)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  *count = ctas <= state().largestCluster;
  return 0;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction,
                          void **arguments, void **) {
  ENTRY("cuLaunchKernelEx");
  state().isHung |= state().hangsAtLaunch;
  state().launch = *config;
  state().launchAttribute = {};
  if (config->numAttrs)
    state().launchAttribute = config->attrs[0];
  state().launchDevice = fake_current_device();
  state().arguments.clear();
  for (int i = 0; i < state().argumentCount; ++i)
    state().arguments.push_back(*static_cast<uint64_t *>(arguments[i]));
  return 0;
}
CUresult cuPointerGetAttribute(void *value, int attribute,
                               CUdeviceptr address) {
  ENTRY("cuPointerGetAttribute");
  auto found = state().deviceMemory.upper_bound(address);
  if (found == state().deviceMemory.end() || address < found->second.first)
    return 1;
  *static_cast<int *>(value) =
      attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? 2 : found->second.second;
  return 0;
}
CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  ENTRY("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, state().captureMode);
  return 0;
}
CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t size) {
  ENTRY("cuMemAlloc");
  return allocate(out, size);
}
CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream) {
  ENTRY("cuMemAllocAsync");
  return allocate(out, size);
}
CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned) {
  ENTRY("cuMemAllocManaged");
  return allocate(out, size);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  RELEASE("cuMemFree", release(address));
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream) {
  RELEASE("cuMemFreeAsync", release(address));
}
CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t size,
                       CUstream) {
  ENTRY("cuMemcpyAsync");
  std::memcpy(reinterpret_cast<void *>(target),
              reinterpret_cast<void *>(source), size);
  return 0;
}
CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value,
                          size_t count, CUstream) {
  ENTRY("cuMemsetD16Async");
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<unsigned short *>(target)[i] = value;
  return 0;
}
CUresult cuMemsetD32Async(CUdeviceptr target, unsigned value, size_t count,
                          CUstream) {
  ENTRY("cuMemsetD32Async");
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<unsigned *>(target)[i] = value;
  return 0;
}
CUresult cuMemHostRegister_v2(void *pointer, size_t, unsigned) {
  ENTRY("cuMemHostRegister");
  return state().registered.insert(pointer).second
             ? 0
             : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}
CUresult cuMemHostUnregister(void *pointer) {
  RELEASE("cuMemHostUnregister", state().registered.erase(pointer) ? 0 : 713);
}
CUresult cuStreamCreate(CUstream *out, unsigned) {
  ENTRY("cuStreamCreate");
  return create(out, state().streams);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  RELEASE("cuStreamDestroy", destroy(stream, state().streams));
}
CUresult cuStreamQuery(CUstream) {
  ENTRY("cuStreamQuery");
  return ready();
}
CUresult cuStreamSynchronize(CUstream) {
  ENTRY("cuStreamSynchronize");
  return state().synchronizeCode;
}
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  ENTRY("cuStreamWaitEvent");
  return 0;
}
CUresult cuEventCreate(CUevent *out, unsigned) {
  ENTRY("cuEventCreate");
  return create(out, state().events);
}
CUresult cuEventDestroy_v2(CUevent event) {
  RELEASE("cuEventDestroy", destroy(event, state().events));
}
CUresult cuEventRecord(CUevent, CUstream) {
  ENTRY("cuEventRecord");
  return 0;
}
CUresult cuEventQuery(CUevent) {
  ENTRY("cuEventQuery");
  return ready();
}
CUresult cuEventSynchronize(CUevent) {
  ENTRY("cuEventSynchronize");
  return 0;
}
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int, uint32_t rank,
                                void *data, const uint64_t *dims,
                                const uint64_t *strides, const uint32_t *box,
                                const uint32_t *, int, int, int, int) {
  ENTRY("cuTensorMapEncodeTiled");
  // What a test can read back, in place of the real encoding.
  map->opaque[0] = rank;
  map->opaque[15] = reinterpret_cast<uintptr_t>(data);
  for (uint32_t i = 0; i < rank; ++i) {
    map->opaque[1 + i] = dims[i];
    map->opaque[6 + i] = box[i];
    if (i + 1 < rank)
      map->opaque[11 + i] = strides[i];
  }
  return 0;
}

} // extern "C"
