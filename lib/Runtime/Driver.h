// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver table: the one place through which the runtime reaches a device.
// It is filled from libcuda.so.1, from another library with the same symbols,
// or entry by entry by a caller that implements the functions itself.

#ifndef TILE_RUNTIME_DRIVER_H
#define TILE_RUNTIME_DRIVER_H

#include "CudaTypes.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tile::runtime {

/// What does not change about a device, asked once.
struct DeviceFacts {
  std::string name;
  int computeCapability = 0; // 90 for sm_90
  int multiprocessors = 0;
  int sharedBytesPerBlock = 0; // the limit after opting in
  size_t memoryBytes = 0;
  bool hasMemoryPools = false;
};

/// A context and the number that tells it from a later one at its address.
struct ContextKey {
  CUcontext context = nullptr;
  unsigned long long id = 0;
  bool operator<(const ContextKey &other) const {
    return id != other.id ? id < other.id : context < other.context;
  }
  bool operator==(const ContextKey &other) const {
    return id == other.id && context == other.context;
  }
};

/// A driver is never destroyed: modules and contexts refer to it until the
/// process ends.
class Driver {
public:
#define TILE_DRIVER_FUNCTION(NAME, SYMBOL, REQUIRED, PARAMETERS)               \
  CUresult(*NAME) PARAMETERS = nullptr;
#include "DriverFunctions.def"

  /// Fills the table from the library at `path`; empty text on success.
  std::string load(const char *path);
  /// Sets one entry by its name; false if there is no such entry.
  bool set(const std::string &name, void *function);
  /// The name of a required entry that is not set, or nothing.
  const char *missing() const;

  std::string errorName(CUresult result) const;
  std::string errorText(CUresult result) const;

  /// Calls cuInit until it has succeeded once.
  CUresult initialize();
  CUresult facts(CUdevice device, DeviceFacts &facts);
  /// The primary context of `device`, retained until the process ends.
  CUresult primaryContext(CUdevice device, CUcontext &context);
  bool isPrimary(CUcontext context);
  ContextKey key(CUcontext context) const;

  /// Why `context` cannot be used any more, or empty text.
  std::string lostReason(const ContextKey &context);
  void markLost(const ContextKey &context, const std::string &reason,
                bool stillRunning);
  /// True if a kernel may still be running there: nothing may wait for it.
  bool isStillRunning(const ContextKey &context);

  /// Modules whose owner is gone, to be unloaded by the next host call in
  /// their context: the runtime does not know whether it still exists.
  void unloadLater(const ContextKey &context, CUmodule module);
  std::vector<CUmodule> takePendingUnloads(const ContextKey &context);

private:
  struct Loss {
    std::string reason;
    bool stillRunning;
  };
  /// Never held while a driver function runs: one that is a Python callback
  /// waits for the interpreter, which another caller of ours may hold.
  std::mutex mutex;
  std::atomic<bool> initialized{false};
  std::map<CUdevice, DeviceFacts> devices;
  std::map<CUdevice, CUcontext> primaries;
  std::map<ContextKey, Loss> lost;
  std::multimap<ContextKey, CUmodule> pendingUnloads;
};

/// While it lives, this thread may load and unload modules although a stream
/// is being captured into a graph: neither touches a stream.
class RelaxedCapture {
public:
  explicit RelaxedCapture(Driver &driver);
  ~RelaxedCapture();

private:
  Driver &driver;
  int mode;
};

/// True for the results after which a context answers nothing else.
bool losesContext(CUresult result);

/// After shutdown no driver is called any more: the process is ending.
bool isShutDown();
void shutDown();

} // namespace tile::runtime

#endif // TILE_RUNTIME_DRIVER_H
