// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel modules. Host code loads its modules in global constructors, before
// any host call has said where to run; so a module is only remembered there,
// and loaded at its first use in each context. One compiled program runs on
// several devices, and unloading after the driver is gone does nothing.

#ifndef TILE_RUNTIME_KERNELMODULE_H
#define TILE_RUNTIME_KERNELMODULE_H

#include "HostCall.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tile::runtime {

class KernelModule;

/// A kernel as loaded in one context.
struct LoadedKernel {
  CUfunction function = nullptr;
  int maxThreadsPerBlock = 0;
  int staticSharedBytes = 0;
  bool mustHaveCluster = false;
  Dim3 requiredCluster{0, 0, 0}; // zeros: none required
  // Launches go on in several threads.
  std::mutex mutex;
  int allowedDynamicSharedBytes = 0;
  bool isNonPortableAllowed = false;
  /// The last cluster launch that the occupancy query found possible.
  LaunchShape possible;
};

/// What mgpuModuleGetFunction returns: a name in a module.
struct Kernel {
  KernelModule *module;
  std::string name;
};

class KernelModule {
public:
  /// `optLevel` < 0: the image is a binary; else PTX to be compiled.
  KernelModule(std::vector<char> image, int optLevel)
      : image(std::move(image)), optLevel(optLevel) {}
  /// Unloads the module wherever it was loaded.
  ~KernelModule();

  Kernel *kernel(const std::string &name);
  /// The kernel in the context of `call`, or null with the failure recorded.
  LoadedKernel *load(HostCall &call, const Kernel &kernel);

private:
  struct Loaded {
    CUmodule module = nullptr;
    std::map<std::string, LoadedKernel> kernels;
  };
  using Place = std::pair<Driver *, ContextKey>;

  bool loadImage(HostCall &call, Loaded &loaded);
  bool loadKernel(HostCall &call, Loaded &loaded, const std::string &name,
                  LoadedKernel &kernel);

  const std::vector<char> image;
  const int optLevel;
  std::mutex mutex;
  std::map<std::string, Kernel> kernels;
  std::map<Place, Loaded> places;
};

} // namespace tile::runtime

#endif // TILE_RUNTIME_KERNELMODULE_H
