// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One host call: what it runs on, what it has acquired, and its first failure.

#ifndef TILE_RUNTIME_HOSTCALL_H
#define TILE_RUNTIME_HOSTCALL_H

#include "Driver.h"
#include "Failure.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace tile::runtime {

class HostCall {
public:
  /// A bracketed call owns what it acquires until it ends; the one outside all
  /// brackets owns nothing.
  HostCall(Driver *driver, const TileRuntimeOptions &options, bool isBracket);
  HostCall(const HostCall &) = delete;

  /// The innermost bracket of this thread, else the call outside brackets.
  static HostCall &current();

  /// Makes the chosen context current; `leave` restores what was.
  void enter();
  void leave();
  /// Waits for what this call started and releases what it still owns.
  void finish();

  bool ok() const { return failure.kind == TILE_RUNTIME_OK; }
  Driver &api() const { return *driver; }
  const ContextKey &contextKey() const { return context; }
  CUdevice deviceNumber() const { return device; }

  /// True if `result` is a success; else records the first failure.
  bool check(CUresult result, const char *call,
             const std::string &subject = {});
  /// Records that the runtime refuses `call`, with the whole sentence.
  void refuse(const char *call, const std::string &message,
              const LaunchShape &launch = {}, CUresult result = CUDA_SUCCESS);

  /// Blocks until `stream` or `event` has completed or the time is up.
  bool waitForStream(CUstream stream);
  bool waitForEvent(CUevent event);
  /// Whether this call has launched something there since it last waited.
  bool isRunning(CUstream stream) const;
  /// Waits for every stream that this call uses.
  bool waitForAll();
  /// To be called before what may wait for running kernels without a limit:
  /// where there is a limit, waits for them here.
  bool settle();
  bool hasTimeout() const { return options.timeoutSeconds > 0; }
  /// The same before a copy to `target`, which may also wait for kernels of
  /// this call where the caller could not interrupt it.
  bool settleCopy(CUdeviceptr target, CUstream stream);

  /// The stream that host code means: the caller's, where it gave one.
  CUstream stream(CUstream requested) const {
    return !requested && options.hasStream ? givenStream() : requested;
  }
  bool isGivenStream(CUstream stream) const {
    return options.hasStream && stream == givenStream();
  }
  CUstream givenStream() const { return static_cast<CUstream>(options.stream); }
  bool hasGivenStream() const { return options.hasStream; }

  void setDevice(int ordinal);
  void launched(CUstream stream, const LaunchShape &launch);

  enum class MemoryKind { Device, Pool, Managed, TensorMap };

  /// What the call has acquired and not yet released, each in its context.
  struct Owned {
    std::map<CUstream, CUcontext> streams;
    std::map<CUevent, CUcontext> events;
    std::map<CUdeviceptr, std::pair<MemoryKind, CUcontext>> memory;
    /// Host memory: registered by this call, or (null context) before it.
    std::map<void *, CUcontext> hostMemory;
    /// What stands in for managed memory that could not be had: host code may
    /// read and write it.
    std::vector<std::unique_ptr<char[]>> standIns;
  };
  Owned owned;
  /// The sizes that the next launch must have; zeros: any.
  struct Expected {
    Dim3 grid{0, 0, 0};
    Dim3 block{0, 0, 0};
    /// How an argument of it breaks what the kernel promises; empty if none
    /// does.
    std::string brokenPromise;
  } expected;
  const bool isBracket;
  HostCall *outer = nullptr;
  Failure failure;

private:
  bool chooseContext();
  bool enterDevice(CUdevice chosen, CUcontext chosenContext);
  std::string blamedKernels(CUstream stream, LaunchShape &launch) const;
  bool isPolling() const { return hasTimeout() || options.isInterrupted; }
  void recordTimeout(const char *call, CUstream stream);
  template <typename Query> CUresult poll(Query query);
  void releaseOwned();

  Driver *driver;
  TileRuntimeOptions options;
  ContextKey context;
  CUdevice device = 0;
  int entered = 0;
  bool wasInterrupted = false;
  /// The last launch of each kernel on each stream since it was waited for.
  std::vector<std::pair<CUstream, LaunchShape>> running;
};

/// Every mgpu* function begins with one: it says whether to go on.
class EntryPoint {
public:
  EntryPoint();
  ~EntryPoint();
  explicit operator bool() const { return call && call->ok(); }
  HostCall *operator->() const { return call; }
  HostCall &operator*() const { return *call; }

private:
  HostCall *call = nullptr;
};

/// The driver of calls outside brackets; null with the reason in `why`.
Driver *defaultDriver(std::string &why);

void pushBracket(Driver *driver, const TileRuntimeOptions &options);
TileRuntimeFailureKind popBracket(TileRuntimeFailure *failure);
TileRuntimeFailureKind takeLastError(TileRuntimeFailure *failure);

/// Keeps the failure of a call for this thread's next question.
TileRuntimeFailureKind keepFailure(Failure &&failure);
TileRuntimeFailureKind exportKeptFailure(TileRuntimeFailure *failure);

} // namespace tile::runtime

#endif // TILE_RUNTIME_HOSTCALL_H
