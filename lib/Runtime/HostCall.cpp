// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens and closes host calls, records their first failure, waits for the
// device with a time limit, and releases what a host call leaves behind.

#include "HostCall.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace tile::runtime;

namespace {
constexpr int kOldestComputeCapability = 90;
constexpr auto kBetweenQuestions = std::chrono::milliseconds(20);

thread_local HostCall *innermost = nullptr;
/// The failure of the last bracket closed, whose texts the caller may read.
thread_local Failure lastBracketFailure;
thread_local Failure lastOutsideFailure;

HostCall &outsideCall() {
  static const TileRuntimeOptions options{-1, 0, nullptr, 0, nullptr};
  thread_local HostCall call(nullptr, options, /*isBracket=*/false);
  return call;
}

/// A kernel that never ends can block the driver's own clean-up when the
/// process exits. This handler runs before the driver's (it is registered
/// later), after Python has finalized, and ends the process with the status
/// that it was going to have.
void leaveWithoutDriverCleanup() {
#ifdef __GLIBC__
  static std::once_flag once;
  std::call_once(once, [] {
    on_exit(
        [](int status, void *) {
          std::fflush(nullptr);
          _exit(status);
        },
        nullptr);
  });
#endif
}

std::string shortNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}
} // namespace

HostCall::HostCall(Driver *driver, const TileRuntimeOptions &options,
                   bool isBracket)
    : isBracket(isBracket), driver(driver), options(options) {}

HostCall &HostCall::current() { return innermost ? *innermost : outsideCall(); }

EntryPoint::EntryPoint() {
  if (isShutDown())
    return;
  call = &HostCall::current();
  if (!call->isBracket && call->ok())
    call->enter();
}

EntryPoint::~EntryPoint() {
  if (call && !call->isBracket)
    call->leave();
}

void HostCall::refuse(const char *call, const std::string &message,
                      const LaunchShape &launch, CUresult result) {
  if (!ok())
    return;
  failure.kind = TILE_RUNTIME_LAUNCH_FAILED;
  failure.code = result;
  failure.call = call;
  if (driver && result != CUDA_SUCCESS) {
    failure.errorName = driver->errorName(result);
    failure.errorText = driver->errorText(result);
  }
  failure.message = message;
  failure.launch = launch;
}

bool HostCall::check(CUresult result, const char *call,
                     const std::string &subject) {
  if (result == CUDA_SUCCESS)
    return true;
  std::string error =
      driver->errorName(result) + " (" + driver->errorText(result) + ")";
  if (!losesContext(result)) {
    refuse(call,
           std::string(call) + " failed with " + error +
               (subject.empty() ? "" : ": " + subject),
           {}, result);
    return false;
  }
  LaunchShape launch;
  std::string kernels = blamedKernels(nullptr, launch);
  std::string lost =
      "the CUDA context of device " + std::to_string(device) + " is lost";
  std::string what, where;
  if (kernels.empty()) {
    what = std::string(call) + " failed with " + error;
    where = ", which an earlier kernel of this process caused";
  } else {
    what = kernels + " failed with " + error;
    where = std::string(", reported by ") + call;
  }
  driver->markLost(context, lost + " since " + what, /*stillRunning=*/false);
  if (!ok())
    return false;
  refuse(call, what + where + "; " + lost, launch, result);
  failure.kind = TILE_RUNTIME_CONTEXT_LOST;
  return false;
}

std::string HostCall::blamedKernels(CUstream stream,
                                    LaunchShape &launch) const {
  std::vector<const LaunchShape *> suspects;
  for (auto &[where, shape] : running)
    if (!stream || where == stream)
      suspects.push_back(&shape);
  if (suspects.empty())
    for (auto &[where, shape] : running)
      suspects.push_back(&shape);
  if (suspects.empty())
    return {};
  launch = *suspects.back();
  if (suspects.size() == 1)
    return launch.describe();
  std::string text = "one of the kernels";
  for (size_t i = 0; i < suspects.size(); ++i)
    text += (i ? ", '" : " '") + suspects[i]->kernel + "'";
  return text;
}

void HostCall::launched(CUstream stream, const LaunchShape &launch) {
  for (auto &[where, shape] : running)
    if (where == stream && shape.kernel == launch.kernel) {
      shape = launch;
      return;
    }
  running.emplace_back(stream, launch);
}

void HostCall::enter() {
  if (!driver) {
    std::string why;
    driver = defaultDriver(why);
    if (!driver) {
      refuse("dlopen", "no CUDA driver: " + why);
      failure.kind = TILE_RUNTIME_DEVICE_UNAVAILABLE;
      return;
    }
  }
  if (!chooseContext())
    return;
  std::string lost = driver->lostReason(context);
  if (!lost.empty()) {
    refuse("cuCtxPushCurrent", lost);
    failure.kind = TILE_RUNTIME_CONTEXT_LOST;
    return;
  }
  for (CUmodule module : driver->takePendingUnloads(context)) {
    RelaxedCapture relaxed(*driver);
    driver->cuModuleUnload(module);
  }
}

bool HostCall::chooseContext() {
  auto unavailable = [&](CUresult result, const char *call) {
    if (check(result, call))
      return false;
    failure.kind = TILE_RUNTIME_DEVICE_UNAVAILABLE;
    return true;
  };
  if (unavailable(driver->initialize(), "cuInit"))
    return false;
  CUcontext chosenContext = nullptr;
  CUdevice chosen = 0;
  if (!check(driver->cuCtxGetCurrent(&chosenContext), "cuCtxGetCurrent"))
    return false;
  if (chosenContext &&
      !check(driver->cuCtxGetDevice(&chosen), "cuCtxGetDevice"))
    return false;
  bool isWanted = options.device < 0 || options.device == chosen;
  if (!chosenContext || !isWanted) {
    if (unavailable(driver->cuDeviceGet(&chosen, std::max(options.device, 0)),
                    "cuDeviceGet"))
      return false;
    chosenContext = nullptr;
  }
  DeviceFacts facts;
  if (!check(driver->facts(chosen, facts), "cuDeviceGetAttribute"))
    return false;
  if (facts.computeCapability < kOldestComputeCapability) {
    refuse("cuDeviceGetAttribute", "GPU " + std::to_string(chosen) + " (" +
                                       facts.name + ", sm_" +
                                       std::to_string(facts.computeCapability) +
                                       ") is older than sm_90");
    failure.kind = TILE_RUNTIME_DEVICE_UNAVAILABLE;
    return false;
  }
  if (!chosenContext && !check(driver->primaryContext(chosen, chosenContext),
                               "cuDevicePrimaryCtxRetain"))
    return false;
  if (!check(driver->cuCtxPushCurrent(chosenContext), "cuCtxPushCurrent"))
    return false;
  ++entered;
  device = chosen;
  context = driver->key(chosenContext);
  return true;
}

void HostCall::leave() {
  if (!entered)
    return;
  --entered;
  CUcontext popped;
  driver->cuCtxPopCurrent(&popped);
}

void HostCall::setDevice(int ordinal) {
  if (!isBracket) {
    options.device = ordinal;
    return;
  }
  CUdevice chosen = 0;
  CUcontext chosenContext = nullptr;
  if (!check(driver->cuDeviceGet(&chosen, ordinal), "cuDeviceGet",
             "device " + std::to_string(ordinal)))
    return;
  if (chosen == device)
    return;
  if (!check(driver->primaryContext(chosen, chosenContext),
             "cuDevicePrimaryCtxRetain") ||
      !check(driver->cuCtxSetCurrent(chosenContext), "cuCtxSetCurrent"))
    return;
  device = chosen;
  context = driver->key(chosenContext);
  std::string lost = driver->lostReason(context);
  if (!lost.empty())
    refuse("cuCtxSetCurrent", lost);
}

template <typename Query> CUresult HostCall::poll(Query query) {
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto deadline = start + std::chrono::duration<double>(options.timeoutSeconds);
  auto nextQuestion = start + kBetweenQuestions;
  for (auto pause = std::chrono::microseconds(1);;) {
    CUresult result = query();
    auto now = Clock::now();
    if (result != CUDA_ERROR_NOT_READY || (hasTimeout() && now > deadline))
      return result;
    if (options.isInterrupted && now > nextQuestion) {
      nextQuestion = now + kBetweenQuestions;
      wasInterrupted = options.isInterrupted();
      if (wasInterrupted)
        return result;
    }
    // Short kernels are met by spinning, long ones cost no processor.
    if (now - start < std::chrono::microseconds(100))
      continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
}

void HostCall::recordTimeout(const char *call, CUstream stream) {
  LaunchShape launch;
  std::string kernels = blamedKernels(stream, launch);
  if (kernels.empty())
    kernels = "work that was on the stream before";
  std::string what =
      kernels + (wasInterrupted
                     ? " had not ended when it was interrupted"
                     : " did not end within " +
                           shortNumber(options.timeoutSeconds) + " s");
  std::string lost =
      "the CUDA context of device " + std::to_string(device) + " is lost";
  driver->markLost(context, lost + " since " + what, /*stillRunning=*/true);
  leaveWithoutDriverCleanup();
  if (!ok())
    return;
  refuse(call, what + "; " + lost, launch);
  failure.kind =
      wasInterrupted ? TILE_RUNTIME_INTERRUPTED : TILE_RUNTIME_KERNEL_TIMEOUT;
}

bool HostCall::waitForStream(CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  const char *call = "cuStreamQuery";
  if (isPolling())
    result = poll([&] { return driver->cuStreamQuery(stream); });
  if (result == CUDA_ERROR_NOT_READY) {
    recordTimeout(call, stream);
    return false;
  }
  // What is over by now needs no waiting, and errors are reported once more.
  if (!hasTimeout()) {
    result = driver->cuStreamSynchronize(stream);
    call = "cuStreamSynchronize";
  }
  if (!check(result, call))
    return false;
  running.erase(
      std::remove_if(running.begin(), running.end(),
                     [&](auto &launch) { return launch.first == stream; }),
      running.end());
  return true;
}

bool HostCall::waitForEvent(CUevent event) {
  CUresult result = CUDA_SUCCESS;
  const char *call = "cuEventQuery";
  if (isPolling())
    result = poll([&] { return driver->cuEventQuery(event); });
  if (result == CUDA_ERROR_NOT_READY) {
    recordTimeout(call, nullptr);
    return false;
  }
  if (!hasTimeout()) {
    result = driver->cuEventSynchronize(event);
    call = "cuEventSynchronize";
  }
  return check(result, call);
}

bool HostCall::isRunning(CUstream stream) const {
  return std::any_of(running.begin(), running.end(),
                     [&](auto &launch) { return launch.first == stream; });
}

bool HostCall::settleCopy(CUdeviceptr target, CUstream stream) {
  if (hasTimeout())
    return waitForStream(stream);
  if (!options.isInterrupted || !isRunning(stream) ||
      !driver->cuPointerGetAttribute)
    return true;
  // The driver copies to memory that it does not know when the stream is there,
  // and returns after that. What goes wrong until then the copy reports.
  int memoryType = 0;
  if (driver->cuPointerGetAttribute(&memoryType,
                                    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                    target) == CUDA_SUCCESS ||
      poll([&] { return driver->cuStreamQuery(stream); }) !=
          CUDA_ERROR_NOT_READY)
    return true;
  recordTimeout("cuStreamQuery", stream);
  return false;
}

bool HostCall::waitForAll() {
  std::vector<CUstream> streams;
  for (auto &[stream, owner] : owned.streams)
    streams.push_back(stream);
  if (hasGivenStream())
    streams.push_back(givenStream());
  bool allEnded = true;
  for (CUstream stream : streams)
    allEnded &= waitForStream(stream);
  return allEnded;
}

bool HostCall::settle() {
  return !isBracket || !hasTimeout() || running.empty() || waitForAll();
}

void HostCall::finish() {
  if (isShutDown() || !entered)
    return;
  // Errors of kernels arrive at the latest here. What is queued on the
  // caller's own stream is the caller's to wait for, unless it uses something
  // that ends with this call.
  bool isBorrowing = !owned.hostMemory.empty();
  for (auto &[pointer, memory] : owned.memory)
    isBorrowing |= memory.first == MemoryKind::TensorMap;
  bool hasWork = ok() || !driver->isStillRunning(context);
  if (hasWork && (isBorrowing || !ok()))
    waitForAll();
  else if (hasWork)
    for (auto &entry : std::map<CUstream, CUcontext>(owned.streams))
      waitForStream(entry.first);
  if (!driver->isStillRunning(context))
    releaseOwned();
  leave();
}

/// What fails to be released is not tried again: the driver's clean-up calls
/// also report errors of earlier work, and have then released all the same.
void HostCall::releaseOwned() {
  auto in = [&](CUcontext owner) {
    if (owner == context.context)
      return;
    check(driver->cuCtxSetCurrent(owner), "cuCtxSetCurrent");
    context = driver->key(owner);
  };
  for (auto &[event, owner] : owned.events) {
    in(owner);
    check(driver->cuEventDestroy(event), "cuEventDestroy");
  }
  for (auto &[pointer, owner] : owned.hostMemory)
    if (owner) {
      in(owner);
      check(driver->cuMemHostUnregister(pointer), "cuMemHostUnregister");
    }
  for (auto &[stream, owner] : owned.streams) {
    in(owner);
    check(driver->cuStreamDestroy(stream), "cuStreamDestroy");
  }
  for (auto &[pointer, memory] : owned.memory)
    if (!ok() || memory.first == MemoryKind::TensorMap) {
      in(memory.second);
      check(driver->cuMemFree(pointer), "cuMemFree");
    }
  owned = Owned();
}

Driver *tile::runtime::defaultDriver(std::string &why) {
  static std::mutex mutex;
  static Driver *loaded = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (!loaded) {
    auto driver = std::make_unique<Driver>();
    why = driver->load("libcuda.so.1");
    if (why.empty())
      loaded = driver.release();
  }
  return loaded;
}

void tile::runtime::pushBracket(Driver *driver,
                                const TileRuntimeOptions &options) {
  auto *call = new HostCall(driver, options, /*isBracket=*/true);
  call->outer = innermost;
  innermost = call;
  if (!isShutDown())
    call->enter();
}

TileRuntimeFailureKind tile::runtime::popBracket(TileRuntimeFailure *failure) {
  std::unique_ptr<HostCall> call(innermost);
  if (!call) {
    *failure = {};
    return TILE_RUNTIME_OK;
  }
  call->finish();
  innermost = call->outer;
  keepFailure(std::move(call->failure));
  return exportKeptFailure(failure);
}

TileRuntimeFailureKind tile::runtime::keepFailure(Failure &&failure) {
  lastBracketFailure = std::move(failure);
  return lastBracketFailure.kind;
}

TileRuntimeFailureKind
tile::runtime::exportKeptFailure(TileRuntimeFailure *failure) {
  lastBracketFailure.exportTo(*failure);
  return lastBracketFailure.kind;
}

TileRuntimeFailureKind
tile::runtime::takeLastError(TileRuntimeFailure *failure) {
  HostCall &call = outsideCall();
  lastOutsideFailure = std::move(call.failure);
  call.failure = Failure();
  call.owned.standIns.clear();
  lastOutsideFailure.exportTo(*failure);
  return lastOutsideFailure.kind;
}
